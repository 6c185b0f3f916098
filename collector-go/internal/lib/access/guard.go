package access

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/instrument"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
)

const (
	// lookEvery is the interval between two checks of the files. A revocation takes effect within this time.
	lookEvery = time.Second
	// gracePeriod is how long files may be invalid before the port closes, because somebody may be writing them at
	// this moment.
	gracePeriod = 2 * time.Second
	// repeatEvery is the interval between two log messages about invalid files.
	repeatEvery = time.Minute
)

// Guard decides who may use a port. It checks its files once a second. If they have changed, open streams are checked
// again. It is safe for concurrent use.
//
// Two things are read from files, each with its own state: identity, which has the permissions, and pair, the port's
// own certificate. An invalid identity closes the port after gracePeriod, because an old list could admit a revoked
// caller. An invalid pair does not close the port: new connections get the previous certificate.
type Guard struct {
	o         Options
	log       *slog.Logger
	refusals  *refusals
	passwords *passwords
	protocols []string // values at the start, like encrypted; an open port keeps them
	encrypted bool

	mu       sync.Mutex
	looked   time.Time
	identity watched[*identity]
	pair     watched[pair]
	closed   bool
	said     time.Time     // when it was last logged that files are invalid
	changed  chan struct{} // closed when earlier decisions may be outdated
	config   *tls.Config   // made from identity and pair; nil until it is needed
}

// Open reads the files and returns a guard. It fails if a file is invalid, or if everybody would be admitted without
// an explicit setting. Errors name the file, the line and the correction, or the settings.
func Open(o Options) (*Guard, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	g := &Guard{o: o, log: o.Logger, passwords: newPasswords(), changed: make(chan struct{})}
	g.identity.make = o.read
	g.pair.make = func(files contents) (pair, error) { return readPair(files, g.identity.is.tls) }
	read, err := g.Read()
	if err != nil {
		return nil, err
	}
	read.Use()
	g.protocols, g.encrypted = protocolsOf(o.Port, read.identity.http2), read.identity.tls.IsEnabled()
	g.refusals = newRefusals(o)
	g.figures(o.Registerer)
	return g, nil
}

// Files is the parsed content of a port's files. It takes effect when Use is called.
type Files struct {
	guard      *Guard
	identity   *identity
	pair       pair
	ofIdentity contents
	ofPair     contents
}

// Read reads the files and changes nothing. The error lists all faults in them.
func (g *Guard) Read() (_ *Files, err error) {
	r := &Files{guard: g, ofIdentity: contents{}, ofPair: contents{}}
	if r.identity, err = g.o.read(r.ofIdentity); err != nil {
		return nil, cmp.Or(g.o.faults(), err)
	}
	if r.pair, err = readPair(r.ofPair, r.identity.tls); err != nil {
		return nil, err
	}
	if r.identity.tls.IsEnabled() {
		_, err = r.identity.config(r.pair, protocolsOf(g.o.Port, r.identity.http2))
	}
	return r, err
}

// NeedsRestart reports whether the files turn TLS or HTTP/2 on or off. An open port cannot change either.
func (r *Files) NeedsRestart() bool {
	return r.identity.tls.IsEnabled() != r.guard.encrypted ||
		!slices.Equal(protocolsOf(r.guard.o.Port, r.identity.http2), r.guard.protocols)
}

// Use puts the files into effect. Callers that they do not allow are refused from now on, and open streams are checked
// again.
func (r *Files) Use() {
	g := r.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	g.looked = g.o.Now()
	if !g.closed && g.identity.has(r.ofIdentity) && g.pair.has(r.ofPair) {
		return // unchanged: keep the rate limiter and TLS sessions
	}
	g.identity.take(r.identity, r.ofIdentity)
	g.pair.take(r.pair, r.ofPair)
	g.closed = false
	g.announce()
}

// announce makes the users of Changed check their callers again. The caller must hold mu.
func (g *Guard) announce() {
	g.config = nil
	close(g.changed)
	g.changed = make(chan struct{})
}

// protocolsOf returns the ALPN protocols of a port. gRPC needs HTTP/2.
func protocolsOf(port string, http2 bool) []string {
	switch {
	case port == GRPC:
		return []string{"h2"}
	case http2:
		return []string{"h2", "http/1.1"}
	}
	return []string{"http/1.1"}
}

// figures registers the metrics that say whether files are invalid and whether the port is closed.
func (g *Guard) figures(r prometheus.Registerer) {
	make := instrument.New("bullet_metrics_", prometheus.Labels{"port": g.o.Port})
	gauge := func(name, help string, is func() bool) {
		make.Func(name, help, func() float64 {
			g.mu.Lock()
			defer g.mu.Unlock()
			if is() {
				return 1
			}
			return 0
		})
	}
	gauge("security_files_broken",
		"1 while an access file (tokens, web configuration, clients' authority) or the port's certificate cannot be used; 0 otherwise.",
		func() bool { return g.identity.fault != nil || g.pair.fault != nil })
	gauge("port_closed",
		"1 while all access is refused because the access files are broken; 0 otherwise.",
		func() bool { return g.closed })
	make.Register(r)
}

// Certificate returns the port's own certificate, or nil without TLS.
func (g *Guard) Certificate() *x509.Certificate {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pair.is.loaded.Leaf
}

// Run checks the files periodically until ctx ends.
func (g *Guard) Run(ctx context.Context) {
	poll.Ticks(ctx, lookEvery, func(time.Time) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.look(g.o.Now())
	})
}

// Changed returns a channel that is closed when an earlier decision of Admit may be outdated.
func (g *Guard) Changed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

// Broken returns an error that names the invalid files and the consequence, or nil if all files are valid.
func (g *Guard) Broken() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := errors.Join(g.identity.fault, g.pair.fault)
	switch {
	case err == nil:
		return nil
	case g.closed:
		return errors.New("the " + g.o.Port + " port is closed because a file is invalid: " + err.Error())
	}
	return errors.New("the " + g.o.Port + " port still uses the previous content of an invalid file: " + err.Error())
}

// look reloads files that have changed. The caller must hold mu.
func (g *Guard) look(now time.Time) {
	g.looked = now
	news := g.identity.look(now)
	news = g.pair.look(now) || news
	closed := g.identity.fault != nil && now.Sub(g.identity.broken) >= gracePeriod
	if closed != g.closed {
		g.closed, news = closed, true
	}
	broken := g.identity.fault != nil || g.pair.fault != nil
	if news {
		g.announce()
	}
	switch {
	case broken && (news || now.Sub(g.said) >= repeatEvery):
		g.said = now
		g.report()
	case news:
		g.log.Info("reloaded access files", "port", g.o.Port)
	}
}

// report logs which file is invalid, with the consequence.
func (g *Guard) report() {
	if err := g.pair.fault; err != nil {
		g.log.Error("the certificate of the port is invalid; new connections use the previous one", "port",
			g.o.Port, "err", err)
	}
	err := g.identity.fault
	switch {
	case err == nil:
	case g.closed:
		g.log.Error("an access file is invalid; the port refuses everybody until it is repaired", "port", g.o.Port, "err", err)
	default:
		g.log.Error("an access file is invalid; the port closes unless it is repaired", "port", g.o.Port, "err", err,
			"closes_after", gracePeriod)
	}
}

// present returns the current identity. It checks the files first if the last check is too old.
func (g *Guard) present(now time.Time) (*identity, *Refusal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Sub(g.looked).Abs() >= lookEvery {
		g.look(now)
	}
	if g.closed {
		return nil, refuse(Closed,
			"the collector cannot determine who may enter: its operator must repair its security files")
	}
	return g.identity.is, nil
}

// TLS returns the configuration for a listener, or nil without TLS. Each handshake uses the current files.
func (g *Guard) TLS() *tls.Config {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.identity.is.tls.IsEnabled() {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: g.protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return g.current() }}
}

// current returns the TLS configuration for a handshake. It is made once per change of the files.
func (g *Guard) current() (*tls.Config, error) {
	if _, refusal := g.present(g.o.Now()); refusal != nil {
		return nil, refusal
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.config == nil {
		made, err := g.identity.is.config(g.pair.is, g.protocols)
		if err != nil {
			return nil, err
		}
		made.Time = g.o.Now
		g.config = made
	}
	return g.config, nil
}

// Headers returns the headers that the web configuration file adds to every answer.
func (g *Guard) Headers() map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.identity.is.headers
}

// Guarded reports whether readers need credentials.
func (g *Guard) Guarded() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.identity.is.open(Read)
}

// Users reports whether the port has users with passwords.
func (g *Guard) Users() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.identity.is.users) > 0
}

// Pace returns an error if a request exceeds the rate_limit of the web configuration file.
func (g *Guard) Pace(peer string) error {
	g.mu.Lock()
	limiter := g.identity.is.limiter
	g.mu.Unlock()
	if limiter == nil || limiter.AllowN(g.o.Now(), 1) {
		return nil
	}
	return g.turnAway(refuse(TooFast, "more requests than the collector's rate_limit allows"), peer)
}

// Admit returns the caller if it fulfils the requirement. Otherwise it returns a *Refusal, which is counted and
// possibly logged.
func (g *Guard) Admit(p Peer, n Requirement) (Caller, error) {
	now := g.o.Now()
	i, refusal := g.present(now)
	if refusal != nil {
		return Caller{}, g.turnAway(refusal, p.Address)
	}
	caller, refusal := g.judge(i, p, n, now)
	if refusal != nil {
		return Caller{}, g.turnAway(refusal, p.Address)
	}
	return caller, nil
}

// Note counts and logs a refusal that was decided outside the guard.
func (g *Guard) Note(reason Reason, peer, detail string) { g.refusals.note(reason, peer, detail) }

// turnAway counts and logs a refusal, and returns it as the error for the caller.
func (g *Guard) turnAway(r *Refusal, peer string) error {
	g.refusals.note(r.Reason, peer, r.Detail)
	return r
}

// judge decides on the basis of the files, and neither counts nor logs. If the caller has a certificate and a token,
// it gets only the permissions that both grant. On an HTTP port that requires certificates and has no token file,
// every certificate of the authority may read.
func (g *Guard) judge(i *identity, p Peer, n Requirement, now time.Time) (Caller, *Refusal) {
	anybody := Caller{Name: "address " + quota.Address(p.Address)}
	if i.open(n.Scope) {
		return anybody, nil
	}
	certificate, refusal := i.verify(p.TLS, now)
	if refusal != nil {
		return Caller{}, refusal
	}
	caller, allowed, known := anybody, grant{}, false
	if certificate != nil {
		caller = Caller{Name: "certificate " + certificateName(certificate), Until: certificate.NotAfter}
		allowed, known = i.about(n.Scope).certificate(certificate)
		if !known && g.o.Port == HTTP && i.grants == nil && i.tls.ClientAuth == verifyAlways {
			allowed, known = grant{read: true}, true // as in exporter-toolkit: all certificates may read
		}
	}
	shown, name, refusal := g.shown(i, p, n.Scope)
	switch {
	case refusal != nil:
		return Caller{}, refusal
	case shown == nil && !known:
		return Caller{}, refuse(Missing, "%s", g.missing(i, certificate != nil))
	case shown != nil && known:
		both := allowed.and(*shown)
		allowed = both
	case shown != nil:
		allowed = *shown
	}
	if shown != nil {
		caller.Name = name
	}
	if refusal := allowed.refusal(n, caller.Name); refusal != nil {
		return Caller{}, refusal
	}
	return caller, nil
}

// missing returns the message that names the required credentials.
func (g *Guard) missing(i *identity, certificate bool) string {
	const token = "no token: send the header \"authorization: Bearer <token>\""
	switch {
	case certificate:
		return token + "; no line of the token file is about the certificate"
	case g.o.Port == HTTP && len(i.users) > 0:
		return "no user and no token: send the header \"Authorization: Basic ...\" or \"Authorization: Bearer ...\""
	}
	return token
}

// shown returns the grant of the credentials in the Authorization header. It returns nil if there is no header.
func (g *Guard) shown(i *identity, p Peer, s Scope) (*grant, string, *Refusal) {
	switch {
	case len(p.Authorization) == 0 || len(p.Authorization) == 1 && p.Authorization[0] == "":
		return nil, "", nil
	case len(p.Authorization) > 1:
		return nil, "", refuse(Unknown, "there is more than one authorization header")
	}
	scheme, rest, _ := strings.Cut(p.Authorization[0], " ")
	switch {
	case strings.EqualFold(scheme, "Bearer"):
		if lines := i.about(s); lines != nil {
			if found, name, ok := lines.token(strings.TrimSpace(rest)); ok {
				return &found, name, nil
			}
		}
		return nil, "", refuse(Unknown, "the token is not known here")
	case strings.EqualFold(scheme, "Basic") && len(i.users) > 0:
		return g.user(i, rest, p.Address, s)
	}
	return nil, "", refuse(Unknown, "the authorization header is no bearer token")
}

// user checks a user's password and returns the user's grant. A user without a line in the token file may read.
func (g *Guard) user(i *identity, encoded, address string, s Scope) (*grant, string, *Refusal) {
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	user, password, ok := strings.Cut(string(decoded), ":")
	if err != nil || !ok {
		return nil, "", refuse(Unknown, "the authorization header holds no user and password")
	}
	right, busy := g.passwords.right(string(i.users[user]), password, quota.Address(address))
	switch {
	case busy != nil:
		return nil, "", refuse(Busy, "%v", busy)
	case !right:
		return nil, "", refuse(Unknown, "the user or the password is wrong")
	}
	allowed := grant{read: true}
	if lines := i.about(s); lines != nil {
		if line, named := lines.users[user]; named {
			allowed = line
		}
	}
	return &allowed, "user " + user, nil
}

// expiresSoon is how long before the end of a certificate CheckCertificate mentions it.
const expiresSoon = 14 * 24 * time.Hour

// CheckCertificate describes the encryption of the port, and returns an error if its certificate is not valid now.
func (g *Guard) CheckCertificate(now time.Time) (text string, err error) {
	certificate := g.Certificate()
	if certificate == nil {
		return "plain text", nil
	}
	format := func(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }
	until := format(certificate.NotAfter)
	switch left := certificate.NotAfter.Sub(now); {
	case left < 0:
		return "", fmt.Errorf("the certificate of the port expired at %s: replace it", until)
	case now.Before(certificate.NotBefore):
		return "", fmt.Errorf("the certificate of the port is not valid before %s", format(certificate.NotBefore))
	case left < expiresSoon:
		return "TLS; its certificate expires soon, at " + until, nil
	}
	return "TLS until " + until, nil
}
