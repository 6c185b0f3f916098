// Package address handles addresses that people write: HOST:PORT for servers, and URLs of HTTP servers. Both types
// keep the text as it was given. Printing a value hides the user, the password and the query, so that it may be part
// of a message, a log line or a file. Only a conversion to string reveals them.
//
// Checks return errors of the form `"TEXT": what is wrong; what to write`. A caller puts the setting or flag before
// it:
//
//	fmt.Errorf("http.listen %w", err)
package address

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// HostPort is HOST:PORT as it was written.
type HostPort string

// String returns the text without a possible user and password.
func (a HostPort) String() string { return hide(string(a)) }

// MarshalText returns the same text as String.
func (a HostPort) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Set implements pflag.Value. It accepts any text; Listen and Server check it.
func (a *HostPort) Set(text string) error {
	*a = HostPort(text)
	return nil
}

// Type implements pflag.Value.
func (a *HostPort) Type() string { return "string" }

// Listen checks an address to listen on. The host may be empty (every interface), and the port may be 0 (chosen by the
// system). The error recommends example.
func (a HostPort) Listen(example string) error { return a.check(example, false) }

// Server checks the address of a server to connect to. It must have a host and a port from 1 to 65535. The error
// recommends example.
func (a HostPort) Server(example string) error { return a.check(example, true) }

func (a HostPort) check(example string, server bool) error {
	problem := a.problem(server)
	if problem == "" {
		return nil
	}
	return fmt.Errorf("%q: %s; use HOST:PORT, for example %s", a.String(), problem, example)
}

func (a HostPort) problem(server bool) string {
	text := string(a)
	switch {
	case text == "":
		return "missing host and port"
	case strings.Contains(text, "@"):
		return "an address must not have a user or password"
	case strings.Contains(text, "://"):
		return "an address must not have a scheme"
	case strings.ContainsAny(text, ",;"):
		return "more than one address"
	case strings.Contains(text, "/"):
		return "an address must not have a path"
	}
	host, port, err := net.SplitHostPort(text)
	_, notNumber := strconv.ParseUint(text, 10, 64)
	switch {
	case err != nil && notNumber == nil:
		return "missing host"
	case err != nil && netip.Addr.Is6(parsed(strings.Trim(text, "[]"))) && !strings.HasPrefix(text, "["):
		return "missing port; write an IPv6 address in brackets"
	case err != nil && strings.Count(text, ":") > 1 && !strings.Contains(text, "]"):
		return "more than one colon"
	case err != nil:
		return "missing port"
	case host == "" && server:
		return "missing host"
	}
	if problem := portProblem(port, server); problem != "" {
		return problem
	}
	if host == "" {
		return ""
	}
	return hostProblem(host)
}

func parsed(host string) netip.Addr {
	ip, _ := netip.ParseAddr(host)
	return ip
}

// Split returns the host and port of an address. Both are empty if the address is invalid.
func (a HostPort) Split() (host, port string) {
	host, port, _ = net.SplitHostPort(string(a))
	return host, port
}

// IsLoopback reports whether only this machine can reach the address.
func (a HostPort) IsLoopback() bool {
	host, _ := a.Split()
	return IsLoopback(host)
}

// IsLoopback reports whether a host name or IP address is that of the loopback interface.
func IsLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || parsed(host).Unmap().IsLoopback()
}

// Overlaps reports whether two servers could not listen on both addresses: the ports are equal, and the hosts are
// equal or one of them means every interface.
func (a HostPort) Overlaps(other HostPort) bool {
	host, port := a.Split()
	otherHost, otherPort := other.Split()
	n, err := strconv.ParseUint(port, 10, 16)
	m, otherErr := strconv.ParseUint(otherPort, 10, 16)
	if err != nil || otherErr != nil || n != m || n == 0 {
		return false
	}
	local := strings.EqualFold(host, "localhost") && IsLoopback(otherHost) ||
		strings.EqualFold(otherHost, "localhost") && IsLoopback(host)
	return strings.EqualFold(host, otherHost) || local || everyInterface(host) || everyInterface(otherHost) ||
		parsed(host).IsValid() && parsed(host).Unmap() == parsed(otherHost).Unmap()
}

func everyInterface(host string) bool { return host == "" || parsed(host).IsUnspecified() }

func portProblem(port string, server bool) string {
	n, err := strconv.ParseUint(port, 10, 16)
	switch {
	case port == "":
		return "missing port"
	case err != nil && !strings.ContainsFunc(port, func(r rune) bool { return r < '0' || r > '9' }):
		return "port " + port + " is above 65535"
	case err != nil:
		return fmt.Sprintf("port %q is not a number", port)
	case n == 0 && server:
		return "port 0 is not valid for a server"
	}
	return ""
}

var allDigits = regexp.MustCompile(`(?:^|\.)[0-9]+\.?$`)

// hostProblem returns what is wrong with an IP address or host name, or "". A name consists of letters of any
// language, digits, "-" and "_", separated by dots.
func hostProblem(host string) string {
	if parsed(host).IsValid() {
		return ""
	}
	switch {
	case len(host) > 253:
		return "the host name is longer than 253 bytes"
	case strings.Contains(host, ":"):
		return fmt.Sprintf("%q is not an IPv6 address", host)
	case allDigits.MatchString(host):
		return fmt.Sprintf("%q is not an IPv4 address", host)
	}
	for _, label := range strings.Split(strings.TrimSuffix(host, "."), ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.ContainsFunc(label, noPartOfAName) {
			return fmt.Sprintf("%q is not a host name", host)
		}
	}
	return ""
}

func noPartOfAName(r rune) bool {
	return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}
