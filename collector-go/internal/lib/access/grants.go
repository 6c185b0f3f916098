package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// grants are the entries of a token file, one per line:
//
//	WHO SCOPES [TOPOLOGY ...]
//
// WHO is the SHA-256 of a token in hex, cert:NAME or user:NAME. SCOPES is read, write, both separated by a comma, or
// none. docs/security.md describes the details. The file contains no token: `printf %s "$TOKEN" | sha256sum` computes
// a hash.
type grants struct {
	tokens       []tokenGrant
	certificates map[string]grant // by name; "*" matches all
	users        map[string]grant
}

// tokenGrant is the hash of a token with the permissions of its holder. Tokens are stored only as hashes.
type tokenGrant struct {
	hash  [sha256.Size]byte
	grant grant
}

// grant is a set of permissions. Topologies restrict writing; an empty list means all topologies.
type grant struct {
	read, write bool
	refused     bool // by a line with the scope none
	topologies  []string
}

// refusal returns why the requirement is not fulfilled, or nil if it is.
func (g grant) refusal(n Requirement, name string) *Refusal {
	may := n.Scope == Read && g.read || n.Scope == Write && g.write
	switch {
	case g.refused:
		return refuse(Certificate, "the %s has no access here", name)
	case !may:
		return refuse(BadScope, "the %s may not %s here", name, n.Scope)
	case n.Scope == Write && n.Topology != "" && len(g.topologies) > 0 && !slices.Contains(g.topologies, n.Topology):
		return refuse(BadTopology, "the %s has no access to topology %.40q", name, n.Topology)
	case n.All && len(g.topologies) > 0:
		return refuse(BadTopology, "the %s has access to some topologies only, and this request concerns all", name)
	}
	return nil
}

// and returns the permissions that both grants have.
func (g grant) and(o grant) grant {
	both := grant{read: g.read && o.read, write: g.write && o.write, refused: g.refused || o.refused,
		topologies: g.topologies}
	switch {
	case len(g.topologies) == 0:
		both.topologies = o.topologies
	case len(o.topologies) > 0:
		both.topologies = slices.DeleteFunc(slices.Clone(g.topologies), func(t string) bool {
			return !slices.Contains(o.topologies, t)
		})
		both.write = both.write && len(both.topologies) > 0
	}
	return both
}

// or returns the permissions that at least one grant has. If one of them refuses the caller, the result refuses it
// too.
func (g grant) or(o grant) grant {
	either := grant{read: g.read || o.read, write: g.write || o.write, refused: g.refused || o.refused}
	if bound := (!g.write || len(g.topologies) > 0) && (!o.write || len(o.topologies) > 0); bound {
		either.topologies = slices.Concat(g.topologies, o.topologies)
	}
	return either
}

// token returns the grant of a token. It compares with every line, each in constant time.
func (g *grants) token(token string) (found grant, name string, ok bool) {
	hash := sha256.Sum256([]byte(token))
	for _, t := range g.tokens {
		if subtle.ConstantTimeCompare(hash[:], t.hash[:]) == 1 {
			found, ok = t.grant, true
		}
	}
	return found, "token " + hex.EncodeToString(hash[:4]), ok
}

// certificate returns the combined grant of all lines that match a certificate.
func (g *grants) certificate(c *x509.Certificate) (found grant, ok bool) {
	if g == nil {
		return grant{}, false
	}
	for _, name := range certificateNames(c) {
		if line, named := g.certificates[name]; named {
			if ok {
				line = found.or(line)
			}
			found, ok = line, true
		}
	}
	if !ok {
		found, ok = g.certificates["*"]
	}
	return found, ok
}

// certificateNames returns the names with which a line can refer to a certificate.
func certificateNames(c *x509.Certificate) []string {
	names := slices.Concat([]string{c.Subject.CommonName}, c.DNSNames, c.EmailAddresses)
	for _, u := range c.URIs {
		names = append(names, u.String())
	}
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	sum := sha256.Sum256(c.Raw)
	names = append(names, "sha256:"+hex.EncodeToString(sum[:]))
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" || n == "*" })
}

// Prefixes of WHO for certificates and users.
const (
	ofCertificate = "cert:"
	ofUser        = "user:"
)

// parseGrants parses a token file. The error lists all faults, each with its line.
func parseGrants(path string, text []byte) (*grants, error) {
	p := grantParser{path: path, seen: map[string]int{}, grants: &grants{certificates: map[string]grant{},
		users: map[string]grant{}}}
	for number, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) > 0 && !strings.HasPrefix(fields[0], "#") {
			p.number = number + 1
			p.line(fields)
		}
	}
	if len(p.faults) == 0 && len(p.seen) == 0 {
		return nil, fmt.Errorf(
			"%s: contains no entry, so all access would be refused; see docs/security.md for the format of an entry", path)
	}
	return p.grants, errors.Join(p.faults...)
}

// grantParser parses a token file line by line. It collects all faults, so that an operator can repair the file in one
// go.
type grantParser struct {
	path   string
	number int
	seen   map[string]int // line number by WHO
	grants *grants
	faults []error
}

func (p *grantParser) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Errorf("%s:%d: %s", p.path, p.number, fmt.Sprintf(format, args...)))
}

// line parses one line. Errors never repeat its first word, which may be a token in plain text.
func (p *grantParser) line(fields []string) {
	if before, twice := p.seen[fields[0]]; twice {
		p.fault("who this line is about is in line %d already", before)
		return
	}
	p.seen[fields[0]] = p.number
	if len(fields) < 2 {
		p.fault("scopes are missing: write WHO SCOPES [TOPOLOGY ...], such as \"cert:plugin write bullet\"")
		return
	}
	g, ok := p.grant(fields[1], fields[2:])
	if !ok {
		return
	}
	name, isCertificate := strings.CutPrefix(fields[0], ofCertificate)
	user, isUser := strings.CutPrefix(fields[0], ofUser)
	switch {
	case isCertificate && name != "":
		p.grants.certificates[name] = g
	case isUser && user != "":
		p.grants.users[user] = g
	default:
		p.token(fields[0], g)
	}
}

// token parses a line about a token. Errors never repeat the text, which may be a token in plain text.
func (p *grantParser) token(text string, g grant) {
	t := tokenGrant{grant: g}
	hash, err := hex.DecodeString(text)
	if err == nil && len(hash) == sha256.Size {
		copy(t.hash[:], hash)
		p.grants.tokens = append(p.grants.tokens, t)
		return
	}
	const wanted = "the first word is no SHA-256 of a token (64 hex digits), cert:NAME or user:NAME"
	if kind, _, found := strings.Cut(text, ":"); found && len(kind) < 16 {
		p.fault("%s; did you mean %q?", wanted, yamlfile.Nearest(kind+":", ofCertificate, ofUser))
		return
	}
	p.fault("%s; printf %%s \"$TOKEN\" | sha256sum makes a hash", wanted)
}

// grant parses scopes and topologies. Topologies restrict only writing, so that a line with topologies but without the
// scope write is an error.
func (p *grantParser) grant(scopes string, topologies []string) (g grant, ok bool) {
	g = grant{topologies: topologies}
	for _, scope := range strings.Split(scopes, ",") {
		switch Scope(scope) {
		case Read:
			g.read = true
		case Write:
			g.write = true
		case none:
			g.refused = true
		case "ingest":
			p.fault("scope \"ingest\" is called \"write\"")
			return g, false
		default:
			p.fault("scope %.20q is unknown; did you mean %q?", scope,
				yamlfile.Nearest(scope, string(Read), string(Write), string(none)))
			return g, false
		}
	}
	switch {
	case g.refused && (g.read || g.write || len(topologies) > 0):
		p.fault(`scope "none" cannot be combined with other scopes or with a topology`)
		return g, false
	case !g.write && len(topologies) > 0:
		p.fault("topologies bind writing, and this line only reads: who reads sees all of them")
		return g, false
	}
	return g, true
}
