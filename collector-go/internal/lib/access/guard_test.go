package access

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/accesstest"
)

// desk is a guard with the test's own clock and log.
type desk struct {
	*Guard
	t     *testing.T
	clock time.Time
	log   *bytes.Buffer
	dir   string
}

func newDesk(t *testing.T, change func(dir string, o *Options)) *desk {
	d := &desk{t: t, clock: time.Now(), log: &bytes.Buffer{}, dir: t.TempDir()}
	o := Options{Port: GRPC, Listen: "127.0.0.1:4320", Now: func() time.Time { return d.clock },
		Logger:     slog.New(slog.NewTextHandler(d.log, nil)),
		Registerer: prometheus.NewRegistry()}
	change(d.dir, &o)
	g, err := Open(o)
	require.NoError(t, err)
	d.Guard = g
	return d
}

// later advances the clock in steps, as Run would.
func (d *desk) later(span time.Duration) {
	for until := d.clock.Add(span); d.clock.Before(until); {
		d.clock = d.clock.Add(min(lookEvery, until.Sub(d.clock)))
		d.mu.Lock()
		d.look(d.clock)
		d.mu.Unlock()
	}
}

func bearer(token string) Peer {
	return Peer{Address: "10.0.0.1:1", Authorization: []string{"Bearer " + token}}
}

func basic(user, password string) Peer {
	return Peer{Address: "10.0.0.1:1",
		Authorization: []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}}
}

func (d *desk) requireRefused(p Peer, n Requirement, reason Reason, detail string) {
	d.t.Helper()
	before := testutil.ToFloat64(d.refusals.total.WithLabelValues(string(reason)))
	_, err := d.Admit(p, n)
	var refusal *Refusal
	require.ErrorAs(d.t, err, &refusal)
	require.Equal(d.t, reason, refusal.Reason, refusal.Detail)
	require.Contains(d.t, refusal.Detail, detail)
	require.Equal(d.t, before+1, testutil.ToFloat64(d.refusals.total.WithLabelValues(string(reason))))
}

func (d *desk) requireAdmitted(p Peer, n Requirement) Caller {
	d.t.Helper()
	caller, err := d.Admit(p, n)
	require.NoError(d.t, err)
	return caller
}

func (d *desk) tokens() string { return filepath.Join(d.dir, "tokens") }

func withTokens(t *testing.T, lines ...string) func(string, *Options) {
	return func(dir string, o *Options) {
		o.TokenFile = accesstest.TokenFile(t, filepath.Join(dir, "tokens"), lines...)
	}
}

func TestTokens(t *testing.T) {
	d := newDesk(t, withTokens(t, "reader read", "writer write", "ofA write A", "gone none"))
	read := Requirement{Scope: Read}
	writeA, writeB := Requirement{Scope: Write, Topology: "A"}, Requirement{Scope: Write, Topology: "B"}
	assert.Equal(t, "token b9300677", d.requireAdmitted(bearer("writer"), writeB).Name)
	d.requireAdmitted(bearer("ofA"), writeA)
	d.requireAdmitted(bearer("reader"), read)
	d.requireRefused(bearer("ofA"), writeB, BadTopology, `no access to topology "B"`)
	d.requireRefused(bearer("reader"), writeA, BadScope, "may not write")
	d.requireRefused(bearer("writer"), read, BadScope, "may not read")
	d.requireRefused(bearer("gone"), writeA, Certificate, "has no access here")
	d.requireRefused(bearer("guess"), writeA, Unknown, "not known")
	d.requireRefused(Peer{Address: "10.0.0.1:1"}, writeA, Missing, "no token")
	d.requireRefused(Peer{Address: "10.0.0.1:1", Authorization: []string{"Bearer writer", "Bearer writer"}}, writeA,
		Unknown, "more than one")
	d.requireRefused(basic("writer", "writer"), writeA, Unknown, "no bearer token")
	assert.Contains(t, d.log.String(), "peer=10.0.0.1:1 reason=topology")
}

// requireClosed waits up to a minute until a channel is closed.
func requireClosed(t *testing.T, changed <-chan struct{}) {
	t.Helper()
	select {
	case <-changed:
	case <-time.After(time.Minute):
		require.Fail(t, "nobody who waits for a change heard of it")
	}
}

// A token that was removed from the file is refused a second later, and users of Changed are notified.
func TestRevocation(t *testing.T) {
	d := newDesk(t, withTokens(t, "old write", "kept write"))
	changed := d.Changed()
	d.requireAdmitted(bearer("old"), Requirement{Scope: Write, Topology: "A"})
	accesstest.TokenFile(t, d.tokens(), "new write", "kept write")
	d.later(lookEvery)
	requireClosed(t, changed)
	d.requireRefused(bearer("old"), Requirement{Scope: Write, Topology: "A"}, Unknown, "not known")
	d.requireAdmitted(bearer("kept"), Requirement{Scope: Write, Topology: "A"})
	d.requireAdmitted(bearer("new"), Requirement{Scope: Write, Topology: "A"})
}

// C4: an invalid or missing file is logged. If this lasts, nobody is admitted; after the repair everybody is admitted
// again.
func TestAFileThatBroke(t *testing.T) {
	for name, brk := range map[string]func(path string) error{
		"wrong":    func(path string) error { return os.WriteFile(path, []byte("secret-in-the-clear write\n"), 0o600) },
		"empty":    func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"vanished": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, withTokens(t, "good write"))
			good, err := os.ReadFile(d.tokens())
			require.NoError(t, err)
			require.NoError(t, brk(d.tokens()))
			changed := d.Changed()
			d.later(lookEvery)
			d.requireAdmitted(bearer("good"), Requirement{Scope: Write, Topology: "A"}) // somebody may be writing it now
			require.ErrorContains(t, d.Broken(), "still uses the previous content of an invalid file")
			require.Contains(t, d.log.String(), "level=ERROR")
			require.Contains(t, d.log.String(), d.tokens())
			require.NotContains(t, d.log.String(), "secret-in-the-clear")
			requireClosed(t, changed)
			changed = d.Changed()
			d.later(gracePeriod)
			requireClosed(t, changed)
			d.requireRefused(bearer("good"), Requirement{Scope: Write, Topology: "A"}, Closed, "cannot determine who may enter")
			require.ErrorContains(t, d.Broken(), "closed because a file is invalid")
			require.Contains(t, d.log.String(), "refuses everybody")
			require.NoError(t, testutil.GatherAndCompare(d.o.Registerer.(prometheus.Gatherer), strings.NewReader(`
# HELP bullet_metrics_port_closed 1 while all access is refused because the access files are broken; 0 otherwise.
# TYPE bullet_metrics_port_closed gauge
bullet_metrics_port_closed{port="grpc"} 1
# HELP bullet_metrics_security_files_broken 1 while an access file (tokens, web configuration, clients' authority) or the port's certificate cannot be used; 0 otherwise.
# TYPE bullet_metrics_security_files_broken gauge
bullet_metrics_security_files_broken{port="grpc"} 1
`), "bullet_metrics_port_closed", "bullet_metrics_security_files_broken"))
			lines := strings.Count(d.log.String(), "level=ERROR")
			d.later(10 * repeatEvery)
			require.Equal(t, lines+10, strings.Count(d.log.String(), "level=ERROR"), "once a minute")
			require.NoError(t, os.WriteFile(d.tokens(), good, 0o600))
			d.later(lookEvery)
			d.requireAdmitted(bearer("good"), Requirement{Scope: Write, Topology: "A"})
			require.NoError(t, d.Broken())
		})
	}
}

func TestWhatLetsEverybodyInIsRefused(t *testing.T) {
	dir := t.TempDir()
	ours := accesstest.NewAuthority(t, "ours")
	cert, key := ours.Issue(dir, "server", time.Now().Add(time.Hour))
	tokens := accesstest.TokenFile(t, filepath.Join(dir, "tokens"), "a read,write")
	web := func(text string) string {
		path := filepath.Join(dir, fmt.Sprintf("web%d.yml", len(text)))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	pair := "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"
	mutual := pair + "  client_ca_file: " + ours.File(dir) + "\n  client_auth_type: "
	users := "basic_auth_users: {a: " + accesstest.PasswordHash + "}\n"
	encrypted := TLSFiles{Cert: cert, Key: key}
	both := TLSFiles{Cert: cert, Key: key, ClientCA: ours.File(dir)}
	const public = "0.0.0.0:1"
	for name, c := range map[string]struct {
		o    Options
		want string // "" if it is accepted
	}{
		"loopback": {Options{Port: GRPC, Listen: "127.0.0.1:1"}, ""},
		"plain text to others": {Options{Port: GRPC, Listen: public},
			"could connect without TLS; set grpc.tls.cert_file, grpc.tls.key_file and grpc.token_file, listen on 127.0.0.1, or set --grpc-insecure"},
		"tokens in the clear": {Options{Port: GRPC, Listen: public, TokenFile: tokens}, "could connect without TLS"},
		"TLS alone": {Options{Port: GRPC, Listen: public, TLS: encrypted},
			"everybody could connect; set grpc.token_file, or set --grpc-insecure"},
		"TLS alone on loopback": {Options{Port: GRPC, Listen: "localhost:1", TLS: encrypted}, "everybody could connect"},
		"TLS and tokens":        {Options{Port: GRPC, Listen: public, TLS: encrypted, TokenFile: tokens}, ""},
		"client authority alone": {Options{Port: GRPC, Listen: public, TLS: both},
			`with a line "cert:NAME write TOPOLOGY"`},
		"client authority, tokens": {Options{Port: GRPC, Listen: public, TLS: both, TokenFile: tokens}, ""},
		"that is meant":            {Options{Port: GRPC, Listen: public, Insecure: true}, ""},
		"HTTP, loopback":           {Options{Port: HTTP, Listen: "[::1]:1"}, ""},
		"HTTP to others": {Options{Port: HTTP, Listen: public},
			"set tls_server_config in http.web_config_file, and http.token_file or basic_auth_users, listen on 127.0.0.1, or set --http-insecure"},
		"HTTP, passwords in clear": {Options{Port: HTTP, Listen: public, WebConfigFile: web(users)},
			"could connect without TLS"},
		"HTTP, TLS alone": {Options{Port: HTTP, Listen: public, WebConfigFile: web(pair)},
			"set http.token_file, or basic_auth_users or client_auth_type in http.web_config_file"},
		"HTTP, writers alone": {Options{Port: HTTP, Listen: public, WebConfigFile: web(pair),
			WriteTokenFile: tokens}, "everybody could connect"},
		"HTTP, certificates if any": {Options{Port: HTTP, Listen: public,
			WebConfigFile: web(mutual + verifyIfShown + "\n")}, "everybody could connect"},
		"HTTP, certificates": {Options{Port: HTTP, Listen: public,
			WebConfigFile: web(mutual + verifyAlways + "\n")}, ""},
		"HTTP, users": {Options{Port: HTTP, Listen: public, WebConfigFile: web(pair + users)}, ""},
		"HTTP, tokens": {Options{Port: HTTP, Listen: public, WebConfigFile: web(pair + "\n"),
			TokenFile: tokens}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(c.o)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestFilesThatCannotBeUsedAreRefusedAtStart(t *testing.T) {
	dir := t.TempDir()
	cert, key := accesstest.NewAuthority(t, "a").Issue(dir, "a", time.Now().Add(time.Hour))
	nothing := filepath.Join(dir, "nothing")
	require.NoError(t, os.WriteFile(nothing, []byte("no PEM"), 0o600))
	tokens := accesstest.TokenFile(t, filepath.Join(dir, "tokens"), "a write")
	for want, o := range map[string]Options{
		"/nowhere.crt":       {TLS: TLSFiles{Cert: "/nowhere.crt", Key: key}, TokenFile: tokens},
		"tls: certificate":   {TLS: TLSFiles{Cert: cert, Key: nothing}, TokenFile: tokens},
		"no PEM certificate": {TLS: TLSFiles{Cert: cert, Key: key, ClientCA: nothing}, TokenFile: tokens},
		"client CA: ":        {TLS: TLSFiles{Cert: cert, Key: key, ClientCA: "/nowhere.ca"}, TokenFile: tokens},
		"token_file: ":       {TokenFile: "/nowhere.tokens"},
	} {
		o.Port, o.Listen = GRPC, "127.0.0.1:1"
		_, err := Open(o)
		require.ErrorContains(t, err, want)
	}
}

// handshake connects with a client's configuration. It returns the server's state and the errors of both sides.
func (d *desk) handshake(client *tls.Config) (tls.ConnectionState, error) {
	d.t.Helper()
	there, here := pipe(d.t)
	server := tls.Server(here, d.TLS())
	done := make(chan error, 1)
	go func() { done <- tls.Client(there, client).HandshakeContext(d.t.Context()) }()
	err := server.HandshakeContext(d.t.Context())
	if err != nil {
		_ = here.Close()
	}
	return server.ConnectionState(), errors.Join(err, <-done)
}

func TestCertificates(t *testing.T) {
	ours, foreign := accesstest.NewAuthority(t, "ours"), accesstest.NewAuthority(t, "foreign")
	hour := time.Now().Add(time.Hour)
	d := newDesk(t, func(dir string, o *Options) {
		cert, key := ours.Issue(dir, "server", hour)
		o.TLS = TLSFiles{Cert: cert, Key: key, ClientCA: ours.File(dir)}
		withTokens(t, "cert:plugin write A", "cert:leaked none", "any write")(dir, o)
	})
	client := func(pairs ...tls.Certificate) *tls.Config {
		return &tls.Config{RootCAs: ours.Pool(), Certificates: pairs, ServerName: "127.0.0.1",
			MaxVersion: tls.VersionTLS12}
	}
	plugin, leaked, nobody := ours.Pair("plugin", hour), ours.Pair("leaked", hour), ours.Pair("nobody", hour)
	peer := func(pair tls.Certificate, header ...string) Peer {
		state, err := d.handshake(client(pair))
		require.NoError(t, err)
		return Peer{Address: "10.0.0.1:1", TLS: &state, Authorization: header}
	}
	caller := d.requireAdmitted(peer(plugin), Requirement{Scope: Write, Topology: "A"})
	assert.Equal(t, "certificate plugin", caller.Name)
	assert.WithinDuration(t, hour, caller.Until, time.Second)
	d.requireRefused(peer(plugin), Requirement{Scope: Write, Topology: "B"}, BadTopology, "certificate plugin has no access to topology")
	d.requireRefused(peer(plugin, "Bearer any"), Requirement{Scope: Write, Topology: "B"}, BadTopology, "token")
	d.requireRefused(peer(plugin, "Bearer wrong"), Requirement{Scope: Write, Topology: "A"}, Unknown, "not known")
	d.requireRefused(peer(leaked), Requirement{Scope: Write, Topology: "A"}, Certificate, "has no access here")
	d.requireRefused(peer(leaked, "Bearer any"), Requirement{Scope: Write, Topology: "A"}, Certificate, "has no access here")
	d.requireRefused(peer(nobody), Requirement{Scope: Write, Topology: "A"}, Missing, "no line of the token file is about the certificate")
	d.requireAdmitted(peer(nobody, "Bearer any"), Requirement{Scope: Write, Topology: "A"})

	for name, c := range map[string]struct {
		config *tls.Config
		reason Reason
	}{
		"none":    {client(), HandshakeCertificate},
		"foreign": {client(foreign.Pair("plugin", hour)), HandshakeCertificate},
		"expired": {client(ours.Pair("plugin", time.Now().Add(-time.Minute))), HandshakeCertificate},
		"TLS 1.1": {&tls.Config{RootCAs: ours.Pool(), Certificates: []tls.Certificate{plugin}, ServerName: "127.0.0.1",
			MinVersion: tls.VersionTLS11, MaxVersion: tls.VersionTLS11}, HandshakeVersion},
		"another": {&tls.Config{RootCAs: foreign.Pool(), Certificates: []tls.Certificate{plugin},
			ServerName: "127.0.0.1", MaxVersion: tls.VersionTLS12}, HandshakeClient},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := d.handshake(c.config)
			require.Error(t, err)
			ofServer, _, _ := strings.Cut(err.Error(), "\n")
			assert.Equal(t, c.reason, handshakeReason(ofServer), err.Error())
		})
	}

	// Certificates are verified again after the handshake, because the authority may have changed or the certificate
	// may have expired.
	open := peer(plugin)
	d.clock = time.Now().Add(2 * time.Hour)
	d.requireRefused(open, Requirement{Scope: Write, Topology: "A"}, Certificate, "no longer, good")
	d.clock = time.Now()
	require.NoError(t, os.Rename(foreign.File(t.TempDir()), filepath.Join(d.dir, "ours.ca")))
	d.later(lookEvery)
	d.requireRefused(open, Requirement{Scope: Write, Topology: "A"}, Certificate, "no longer, good")
	_, err := d.handshake(client(plugin))
	require.Error(t, err)
}

// The port's own certificate is independent of the permissions. While it is invalid, the previous one is used.
func TestTheOwnCertificateRotates(t *testing.T) {
	old, next := accesstest.NewAuthority(t, "old"), accesstest.NewAuthority(t, "next")
	hour := time.Now().Add(time.Hour)
	d := newDesk(t, func(dir string, o *Options) {
		cert, key := old.Issue(dir, "server", hour)
		o.TLS = TLSFiles{Cert: cert, Key: key}
		withTokens(t, "a write")(dir, o)
	})
	trusts := func(pool *x509.CertPool) *tls.Config { return &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"} }
	_, err := d.handshake(trusts(old.Pool()))
	require.NoError(t, err)
	next.Issue(d.dir, "server", hour)
	d.later(lookEvery)
	_, err = d.handshake(trusts(next.Pool()))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "server.key"), []byte("no PEM"), 0o600))
	d.later(10 * time.Second)
	_, err = d.handshake(trusts(next.Pool()))
	require.NoError(t, err)
	require.ErrorContains(t, d.Broken(), "server.key")
	assert.Contains(t, d.log.String(), "the certificate of the port is invalid")
	d.requireAdmitted(bearer("a"), Requirement{Scope: Write, Topology: "A"})
	accesstest.TokenFile(t, d.tokens(), "b write")
	d.later(lookEvery)
	d.requireRefused(bearer("a"), Requirement{Scope: Write, Topology: "A"}, Unknown, "")
	// If the token file is missing, the port closes, and even handshakes fail.
	require.NoError(t, os.Remove(d.tokens()))
	d.later(10 * time.Second)
	_, err = d.handshake(trusts(next.Pool()))
	require.ErrorContains(t, err, "cannot determine who may enter")
}

func TestUsers(t *testing.T) {
	d := newDesk(t, func(dir string, o *Options) {
		o.Port = HTTP
		o.WebConfigFile = filepath.Join(dir, "web.yml")
		users := fmt.Sprintf("basic_auth_users: {viewer: %[1]s, editor: %[1]s}\n", accesstest.PasswordHash)
		require.NoError(t, os.WriteFile(o.WebConfigFile, []byte(users), 0o600))
		withTokens(t, "user:editor read,write A", "token read")(dir, o)
	})
	read, write := Requirement{Scope: Read}, Requirement{Scope: Write, Topology: "A"}
	for range 2 { // the second time the password is remembered
		assert.Equal(t, "user viewer", d.requireAdmitted(basic("viewer", "password"), read).Name)
	}
	d.requireRefused(basic("viewer", "password"), write, BadScope, "may not write")
	d.requireAdmitted(basic("editor", "password"), write)
	d.requireRefused(basic("editor", "password"), Requirement{Scope: Write, Topology: "B"}, BadTopology, "")
	d.requireAdmitted(bearer("token"), read)
	d.requireRefused(basic("viewer", "wrong"), read, Unknown, "wrong")
	d.requireRefused(basic("nobody", "password"), read, Unknown, "wrong")
	d.requireRefused(Peer{Authorization: []string{"Basic %%"}}, read, Unknown, "holds no user")
	d.requireRefused(Peer{}, read, Missing, "Basic")
	assert.True(t, d.Users())
	assert.True(t, d.Guarded())
}

// An address that sends many passwords waits only for itself. Passwords of other addresses are checked.
func TestPasswordsOfOneAddressDoNotHoldUpOthers(t *testing.T) {
	p := newPasswords()
	p.one.Lock() // a slow check
	var hostile sync.WaitGroup
	answers := make(chan error, 100)
	for range 100 {
		hostile.Go(func() {
			_, busy := p.right(accesstest.PasswordHash, "guess", "hostile")
			answers <- busy
		})
	}
	for range 94 {
		require.ErrorContains(t, <-answers, "too many")
	}
	good := make(chan bool)
	go func() {
		right, busy := p.right(accesstest.PasswordHash, "password", "good")
		assert.NoError(t, busy)
		good <- right
	}()
	p.one.Unlock()
	require.True(t, <-good)
	hostile.Wait()
}

func TestOpenPortsAskNobody(t *testing.T) {
	d := newDesk(t, func(_ string, o *Options) { o.Port = HTTP })
	assert.Equal(t, "address 10.0.0.1", d.requireAdmitted(bearer("whatever"), Requirement{Scope: Read}).Name)
	d.requireAdmitted(Peer{Address: "10.0.0.1:1"}, Requirement{Scope: Write, Topology: "A"})
	assert.False(t, d.Guarded())

	d = newDesk(t, func(dir string, o *Options) {
		o.Port = HTTP
		o.WriteTokenFile = accesstest.TokenFile(t, filepath.Join(dir, "tokens"), "a write A")
	})
	d.requireAdmitted(Peer{Address: "10.0.0.1:1"}, Requirement{Scope: Read})
	d.requireRefused(Peer{Address: "10.0.0.1:1"}, Requirement{Scope: Write, Topology: "A"}, Missing, "")
	d.requireAdmitted(bearer("a"), Requirement{Scope: Write, Topology: "A"})
	d.requireRefused(bearer("a"), Requirement{Scope: Write, Topology: "B"}, BadTopology, "")
}

// A flood is counted completely but logged in few lines. A refusal of another address is logged nevertheless.
func TestTheLogOfAFlood(t *testing.T) {
	d := newDesk(t, withTokens(t, "a write"))
	for i := range 1000 {
		d.requireRefused(Peer{Address: fmt.Sprintf("10.0.0.1:%d", i)}, Requirement{Scope: Write, Topology: "A"}, Missing, "")
	}
	d.requireRefused(Peer{Address: "10.0.0.2:7"}, Requirement{Scope: Write, Topology: "A"}, Missing, "")
	assert.Equal(t, 2, strings.Count(d.log.String(), "turned away"))
	assert.Contains(t, d.log.String(),
		"peer=10.0.0.2:7 reason=missing detail=\"no token: send the header \\\"authorization: Bearer <token>\\\"\" unsaid=999")
	for i := range 1000 {
		d.Note(NoSlots, fmt.Sprintf("10.1.%d.%d:1", i/200, i%200), "x")
	}
	assert.Equal(t, linesAQuiet, strings.Count(d.log.String(), "turned away"))
	d.clock = d.clock.Add(quietTime)
	d.Note(NoSlots, "10.0.0.9:1", "x")
	assert.Contains(t, d.log.String(), "unsaid=982")
	assert.LessOrEqual(t, len(d.refusals.said), maxRemembered)
}

func TestRateLimit(t *testing.T) {
	d := newDesk(t, func(dir string, o *Options) {
		o.Port, o.WebConfigFile = HTTP, filepath.Join(dir, "web.yml")
		require.NoError(t, os.WriteFile(o.WebConfigFile,
			[]byte("rate_limit: {burst: 2, interval: 1s}\nhttp_server_config: {headers: {X-Frame-Options: deny}}\n"),
			0o600))
	})
	require.NoError(t, d.Pace("10.0.0.1:1"))
	require.NoError(t, d.Pace("10.0.0.1:1"))
	require.ErrorContains(t, d.Pace("10.0.0.1:1"), "rate_limit")
	d.clock = d.clock.Add(time.Second)
	require.NoError(t, d.Pace("10.0.0.1:1"))
	assert.Equal(t, map[string]string{"X-Frame-Options": "deny"}, d.Headers())
}

// A reload takes effect at once, either completely or not at all. The next periodic check finds no change.
func TestAReloadIsInForceAtOnce(t *testing.T) {
	d := newDesk(t, func(dir string, o *Options) {
		o.TokenFile = accesstest.TokenFile(t, filepath.Join(dir, "tokens"), "old write", "both write")
	})
	file, changed := filepath.Join(d.dir, "tokens"), d.Changed()
	admitted := func(token string) bool {
		_, err := d.Admit(bearer(token), Requirement{Scope: Write})
		return err == nil
	}
	read, err := d.Read()
	require.NoError(t, err)
	read.Use()
	select {
	case <-changed:
		assert.Fail(t, "nothing changed, and streams are to be judged again")
	default:
	}
	accesstest.TokenFile(t, file, "both write", "new write")
	read, err = d.Read()
	require.NoError(t, err)
	assert.True(t, admitted("old"), "it is read, but not in force")
	assert.False(t, admitted("new"))
	read.Use()
	<-changed
	assert.False(t, admitted("old"))
	assert.True(t, admitted("both"))
	assert.True(t, admitted("new"))

	require.NoError(t, os.WriteFile(file, []byte("nonsense\n"), 0o600))
	_, err = d.Read()
	require.ErrorContains(t, err, file+":1: ")
	assert.True(t, admitted("new"))
	d.later(2 * gracePeriod)
	assert.False(t, admitted("new"), "a port whose file stays broken is closed")
	accesstest.TokenFile(t, file, "new write")
	read, err = d.Read()
	require.NoError(t, err)
	read.Use()
	assert.True(t, admitted("new"), "and opens with the reload")
	assert.NoError(t, d.Broken())
}

// An open port keeps its TLS mode. Files that change it require a restart.
func TestAReloadThatTurnsTLSOnNeedsARestart(t *testing.T) {
	var web string
	d := newDesk(t, func(dir string, o *Options) {
		web = filepath.Join(dir, "web.yml")
		require.NoError(t, os.WriteFile(web, []byte("basic_auth_users: {a: "+accesstest.PasswordHash+"}\n"), 0o600))
		o.Port, o.WebConfigFile = HTTP, web
		accesstest.NewAuthority(t, "ours").Issue(dir, "server", time.Now().Add(time.Hour))
	})
	for text, want := range map[string]bool{"": false,
		"tls_server_config: {cert_file: server.crt, key_file: server.key}\n": true,
		"http_server_config: {http2: false}\n":                               true} {
		require.NoError(t, os.WriteFile(web, []byte("basic_auth_users: {a: "+accesstest.PasswordHash+"}\n"+text), 0o600))
		read, err := d.Read()
		require.NoError(t, err, text)
		assert.Equal(t, want, read.NeedsRestart(), text)
	}
}

// An action that concerns all topologies requires write access for all of them.
func TestWhoMayWriteForSomeTopologiesMayNotForAll(t *testing.T) {
	d := newDesk(t, func(dir string, o *Options) {
		o.TokenFile = accesstest.TokenFile(t, filepath.Join(dir, "tokens"), "all write", "some write A", "reads read")
	})
	for token, want := range map[string]string{"all": "", "some": "some topologies only", "reads": "may not write"} {
		_, err := d.Admit(bearer(token), Requirement{Scope: Write, All: true})
		if want == "" {
			assert.NoError(t, err, token)
		} else {
			assert.ErrorContains(t, err, want, token)
		}
	}
}
