// Package access decides who may do what on a port. A caller is known by a token, a client certificate, or a user with
// a password; a port may also be open to everybody. gRPC and HTTP use the same guard, so a rule cannot hold on one port
// and not on the other (decision 13 in docs/decisions).
//
// It owns the files that list callers and their scopes. It reads them again while the collector runs, so a revoked
// token loses access within seconds; when a file becomes invalid, the port closes instead of using the old list. It
// counts and logs every refusal.
//
// It must not know gRPC or HTTP routes, nor what lies behind a port, except that callers read, or write for a topology.
// Start with Guard, then grants.go for the files.
package access

import (
	"crypto/tls"
	"fmt"
	"time"
)

// Scope is what a caller may do.
type Scope string

// Read is to see everything; Write is to send samples and to set annotations.
const (
	Read  Scope = "read"
	Write Scope = "write"
	none  Scope = "none" // in a file: this one may do nothing
)

// Requirement is the permission that an action requires. Topology is the one that is written to; it is "" while that
// is not known yet.
type Requirement struct {
	Scope    Scope
	Topology string
	// All is for what concerns every topology, as a reload does: who may write only for some may not.
	All bool
}

// Peer is everything that identifies a caller before the guard has decided.
type Peer struct {
	Address       string               // HOST:PORT
	TLS           *tls.ConnectionState // nil: plain text
	Authorization []string             // the headers of that name
}

// Caller is a caller that the guard accepted.
type Caller struct {
	// Name is "token 1a2b3c4d" (the hash's first digits), "certificate NAME", "user NAME" or "address 10.0.0.1": whose
	// share of places counts.
	Name string
	// Until is when the caller's certificate ends; zero where there is none.
	Until time.Time
}

// Reason is why a caller was refused. It is a label value of the metric that counts refusals.
type Reason string

// The reasons. Those of a handshake are before anything was asked for.
const (
	Missing     Reason = "missing"      // neither a token nor anything else was shown
	Unknown     Reason = "unknown"      // a token or password that is not known
	BadScope    Reason = "scope"        // known, and may not do this
	BadTopology Reason = "topology"     // known, and for other topologies
	Certificate Reason = "certificate"  // not, or no longer, of our authority
	Closed      Reason = "closed"       // the files that say who may are broken
	Busy        Reason = "busy"         // too many passwords of that address wait to be looked at
	TooFast     Reason = "rate"         // rate_limit of the web configuration file
	CrossSite   Reason = "cross_site"   // a browser asks for another site's page
	ForeignHost Reason = "foreign_host" // a name that is not the collector's
	NoSlots     Reason = "places"       // the share of connections, streams or requests is taken

	HandshakeVersion     Reason = "tls_version"     // below TLS 1.2
	HandshakeCertificate Reason = "tls_certificate" // none, of another authority, or expired
	HandshakeClient      Reason = "tls_client"      // the client does not trust the collector's certificate
	HandshakePlain       Reason = "tls_plain_text"  // no TLS at all
	HandshakeCut         Reason = "tls_cut"         // ended, or too slow
	HandshakeOther       Reason = "tls_other"
)

// reasons are all of them, so that each has its series from the start.
var reasons = []Reason{Missing, Unknown, BadScope, BadTopology, Certificate, Closed, Busy, TooFast, CrossSite,
	ForeignHost, NoSlots, HandshakeVersion, HandshakeCertificate, HandshakeClient, HandshakePlain, HandshakeCut,
	HandshakeOther}

// Refusal is the error for a refused caller. Its text is sent to the caller.
type Refusal struct {
	Reason Reason
	Detail string
}

func (r *Refusal) Error() string { return r.Detail }

func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{reason, fmt.Sprintf(format, args...)}
}

// Unauthenticated reports whether the caller is to show something else; otherwise showing it again changes nothing.
func (r *Refusal) Unauthenticated() bool {
	return r.Reason == Missing || r.Reason == Unknown || r.Reason == Certificate
}
