package quota

import "net/netip"

// networkBits is how much of an IPv6 address counts: a host has a whole /64 to choose from.
const networkBits = 64

// ipOf returns the address of a peer, which is "host:port" or a host alone; the zero Addr where it is none.
func ipOf(peer string) netip.Addr {
	if both, err := netip.ParseAddrPort(peer); err == nil {
		return both.Addr()
	}
	ip, _ := netip.ParseAddr(peer)
	return ip
}

// Local reports whether a peer's address, as Address takes it, is this machine's own.
func Local(peer string) bool { return ipOf(peer).Unmap().IsLoopback() }

// Address is the key of a peer's address, "host:port" or a host alone: its IPv4 address, or the /64 of its IPv6
// address; what is no address is its own key.
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
