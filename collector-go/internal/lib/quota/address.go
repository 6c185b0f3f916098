package quota

import "net/netip"

// networkBits is the length of the IPv6 prefix that counts as one client, because a host can use any address of its
// /64.
const networkBits = 64

// ipOf returns the IP address of a peer, which is "host:port" or a host. It returns the zero Addr if the host is not
// an IP address.
func ipOf(peer string) netip.Addr {
	if both, err := netip.ParseAddrPort(peer); err == nil {
		return both.Addr()
	}
	ip, _ := netip.ParseAddr(peer)
	return ip
}

// Local reports whether a peer's address is a loopback address.
func Local(peer string) bool { return ipOf(peer).Unmap().IsLoopback() }

// Address returns the key for a peer, which is "host:port" or a host. The key is the IPv4 address or the /64 network
// of the IPv6 address. A peer without an IP address is its own key.
func Address(peer string) string {
	ip := ipOf(peer).Unmap().WithZone("")
	switch {
	case !ip.IsValid():
		return peer
	case ip.Is4():
		return ip.String()
	}
	network, err := ip.Prefix(networkBits)
	if err != nil {
		return ip.String()
	}
	return network.String()
}
