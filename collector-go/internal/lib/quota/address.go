package quota

import "net/netip"

// networkBits is how much of an IPv6 address counts: a host has a whole /64 to choose from.
const networkBits = 64

// Local reports whether a peer's address, as Address takes it, is this machine's own.
func Local(peer string) bool {
	ip, err := netip.ParseAddr(peer)
	if both, withPort := netip.ParseAddrPort(peer); withPort == nil {
		ip, err = both.Addr(), nil
	}
	return err == nil && ip.Unmap().IsLoopback()
}

// Address is the key of a peer's address, "host:port" or a host alone: its IPv4 address, or the /64 of its IPv6
// address; what is no address is its own key.
func Address(peer string) string {
	ip, err := netip.ParseAddr(peer)
	if both, withPort := netip.ParseAddrPort(peer); withPort == nil {
		ip, err = both.Addr(), nil
	}
	if err != nil {
		return peer
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.Prefix(networkBits)
	if err != nil {
		return ip.String()
	}
	return network.String()
}
