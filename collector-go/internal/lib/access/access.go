// Package access decides who may do what on a port. A caller is identified by a token, a client certificate, or a user
// name with a password. A port may also be open to everybody. gRPC and HTTP use the same guard, so that the rules are
// the same on both ports (decision 13 in docs/decisions).
//
// The package owns the files that list callers and their scopes. It reloads them while the collector runs, so that a
// revoked token loses access within seconds. If a file becomes invalid, the port closes instead of using the old list.
// Every refusal is counted, and a limited number is logged.
//
// The package must not know gRPC or HTTP routes, nor what a port serves, except that callers read, or write for a
// topology. Start with Guard, then read grants.go about the files.
package access

import (
	"crypto/tls"
	"fmt"
	"time"
)

// Scope is a permission of a caller.
type Scope string

// Read allows a caller to see everything. Write allows it to send samples and to set annotations.
const (
	Read  Scope = "read"
	Write Scope = "write"
	none  Scope = "none" // only in a file: the caller may do nothing
)

// Requirement is the permission that an action requires. Topology is the topology that is written to, or "" as long as
// it is unknown.
type Requirement struct {
	Scope    Scope
	Topology string
	// All is set for actions that affect every topology, such as a reload. Callers that may write only for some
	// topologies are refused.
	All bool
}

// Peer is everything that identifies a caller before the guard has decided.
type Peer struct {
	Address       string               // HOST:PORT
	TLS           *tls.ConnectionState // nil: plain text
	Authorization []string             // the headers with this name
}

// Caller is a caller that the guard accepted.
type Caller struct {
	// Name is "token 1a2b3c4d" (the first digits of the hash), "certificate NAME", "user NAME" or "address 10.0.0.1".
	// Quotas are per name.
	Name string
	// Until is when the caller's certificate expires; zero if there is none.
	Until time.Time
}

// Reason is why a caller was refused. It is a label value of the metric that counts refusals.
type Reason string

// The reasons. Those of a handshake occur before the caller makes a request.
const (
	Missing     Reason = "missing"      // no credentials
	Unknown     Reason = "unknown"      // unknown token, user or password
	BadScope    Reason = "scope"        // known caller, but without the required scope
	BadTopology Reason = "topology"     // known caller, but only for other topologies
	Certificate Reason = "certificate"  // not issued by the configured authority, or no longer valid
	Closed      Reason = "closed"       // the files with the permissions are invalid
	Busy        Reason = "busy"         // too many passwords from this address are waiting to be checked
	TooFast     Reason = "rate"         // rate_limit of the web configuration file
	CrossSite   Reason = "cross_site"   // a browser's request on behalf of another site's page
	ForeignHost Reason = "foreign_host" // a host name that is not the collector's
	NoSlots     Reason = "places"       // the share of connections, streams or requests is used up

	HandshakeVersion     Reason = "tls_version"     // below TLS 1.2
	HandshakeCertificate Reason = "tls_certificate" // missing, from another authority, or expired
	HandshakeClient      Reason = "tls_client"      // the client does not trust the collector's certificate
	HandshakePlain       Reason = "tls_plain_text"  // no TLS at all
	HandshakeCut         Reason = "tls_cut"         // the connection ended or was too slow
	HandshakeHTTP1       Reason = "tls_http1"       // a client without HTTP/2, such as a browser, at the gRPC port
	HandshakeOther       Reason = "tls_other"
)

// reasons lists all reasons, so that each has its series from the start.
var reasons = []Reason{Missing, Unknown, BadScope, BadTopology, Certificate, Closed, Busy, TooFast, CrossSite,
	ForeignHost, NoSlots, HandshakeVersion, HandshakeCertificate, HandshakeClient, HandshakePlain, HandshakeCut,
	HandshakeHTTP1, HandshakeOther}

// Refusal is the error for a refused caller. Its text is sent to the caller.
type Refusal struct {
	Reason Reason
	Detail string
}

func (r *Refusal) Error() string { return r.Detail }

func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{reason, fmt.Sprintf(format, args...)}
}

// Unauthenticated reports whether other credentials could help. If not, repeating the request with the same
// credentials is useless.
func (r *Refusal) Unauthenticated() bool {
	return r.Reason == Missing || r.Reason == Unknown || r.Reason == Certificate
}
