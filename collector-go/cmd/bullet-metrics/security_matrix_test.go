package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/accesstest"
)

var updateSecurity = flag.Bool("update-security", false, "rewrite the tables of docs/security/access-matrix.md")

const securityPage = "../../../docs/security/access-matrix.md"

// caller is somebody at the doors: a row of a table.
type caller struct {
	name  string
	tls   func(*tls.Config) // nil: the client's own TLS as it should be
	token string
	user  string // with the password "password"
}

// action is what is tried: a column of a table. It returns the answer in a few words.
type action struct {
	name string
	try  func(t *testing.T, m *matrix, c caller) string
}

// matrix is a collector with its doors, and who may come.
type matrix struct {
	*running
	config func(caller) *tls.Config
}

// short is a gRPC answer as the tables have it.
func short(err error) string {
	switch code := status.Code(err); {
	case err == nil:
		return "yes"
	case code == codes.Unavailable && strings.Contains(err.Error(), "authentication handshake failed"),
		code == codes.Unavailable && strings.Contains(err.Error(), "tls:"),
		code == codes.Unavailable && strings.Contains(err.Error(), "EOF"), code == codes.Unavailable &&
			strings.Contains(err.Error(), "connection reset"),
		code == codes.Unavailable && strings.Contains(err.Error(), "broken pipe"), code == codes.Unavailable &&
			strings.Contains(err.Error(), "transport"):
		return "no TLS"
	default:
		return code.String()
	}
}

func (m *matrix) dial(t *testing.T, c caller) *grpc.ClientConn {
	connection, err := grpc.NewClient(m.col.grpcListener.Addr().String(),
		grpc.WithTransportCredentials(credentials.NewTLS(m.config(c))))
	require.NoError(t, err)
	t.Cleanup(func() { connection.Close() })
	return connection
}

// headed adds what a caller shows in a header.
func (c caller) headed(ctx context.Context) []grpc.CallOption {
	if c.token == "" && c.user == "" {
		return nil
	}
	return []grpc.CallOption{grpc.PerRPCCredentials(shown{c})}
}

type shown struct{ caller }

func (s shown) header() string {
	if s.token != "" {
		return "Bearer " + s.token
	}
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(s.user, "password")
	return r.Header.Get("Authorization")
}

func (s shown) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": s.header()}, nil
}
func (shown) RequireTransportSecurity() bool { return true }

// export sends a batch for a topology.
func export(topology string) action {
	return action{"`Export` of " + topology, func(t *testing.T, m *matrix, c caller) string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		stream, err := pb.NewIngestServiceClient(m.dial(t, c)).Export(ctx, c.headed(ctx)...)
		if err != nil {
			return short(err)
		}
		_ = stream.Send(&pb.ExportRequest{
			Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: topology, TopologyId: topology + "-1", Host: "h",
				Port: 6700, Task: 3}}})
		_, err = stream.Recv()
		return short(err)
	}}
}

func health(name string, call func(grpc_health_v1.HealthClient, context.Context) error) action {
	return action{"health `" + name + "`", func(t *testing.T, m *matrix, c caller) string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		return short(call(grpc_health_v1.NewHealthClient(m.dial(t, c)), ctx))
	}}
}

// grpcActions are every method of the gRPC port.
var grpcActions = []action{
	export("A"), export("B"),
	health("Check", func(h grpc_health_v1.HealthClient, ctx context.Context) error {
		_, err := h.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		return err
	}),
	health("List", func(h grpc_health_v1.HealthClient, ctx context.Context) error {
		_, err := h.List(ctx, &grpc_health_v1.HealthListRequest{})
		return err
	}),
	health("Watch", func(h grpc_health_v1.HealthClient, ctx context.Context) error {
		stream, err := h.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}),
}

// ask makes a request and returns its status code, or what kept it from being made.
func (m *matrix) tell(t *testing.T, c caller, method, path, body string) string {
	request, err := http.NewRequestWithContext(t.Context(), method, "https://"+m.col.httpListener.Addr().String()+path,
		bytes.NewBufferString(body))
	require.NoError(t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" || c.user != "" {
		request.Header.Set("Authorization", shown{c}.header())
	}
	transport := &http.Transport{TLSClientConfig: m.config(c), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "no TLS"
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	if response.StatusCode == http.StatusOK {
		return "yes"
	}
	return fmt.Sprint(response.StatusCode)
}

// requests tries several of a class, which are answered alike.
func requests(name, method string, paths ...string) action {
	return action{name, func(t *testing.T, m *matrix, c caller) string {
		var answers []string
		for _, path := range paths {
			answers = append(answers, m.tell(t, c, method, path, ""))
		}
		slices.Sort(answers)
		answers = slices.Compact(answers)
		require.Len(t, answers, 1, "%s of %s: %v", name, c.name, paths)
		return answers[0]
	}}
}

func annotate(topology string) action {
	return action{"annotate " + topology, func(t *testing.T, m *matrix, c caller) string {
		return m.tell(t, c, http.MethodPost, "/api/v1/annotations",
			fmt.Sprintf(`{"topology":%q,"title":"x"}`, topology))
	}}
}

// httpActions are every class of what the HTTP port answers; internal/serve/httpapi tries every route.
var httpActions = []action{
	requests("page", http.MethodGet, "/", "/page/page.css"),
	requests("API", http.MethodGet, "/api/v1/query?query=1", "/api/v1/topologies", "/api/v1/annotations",
		"/api/v1/alerts", "/api/v1/rules"),
	annotate("A"), annotate("B"),
	requests("`/-/reload`", http.MethodPost, "/-/reload"),
	requests("`/metrics`, `/federate`", http.MethodGet, "/metrics", "/federate?match[]=up"),
	requests("`/-/healthy`, `/-/ready`", http.MethodGet, "/-/healthy", "/-/ready"),
	{"anything else", func(t *testing.T, m *matrix, c caller) string {
		return m.tell(t, c, http.MethodGet, "/debug/pprof/", "")
	}},
}

// matrices are the two ways to close the ports: by tokens and users, and by certificates.
func startMatrix(t *testing.T, ours *accesstest.Authority, certificates bool) *running {
	dir, hour := t.TempDir(), time.Now().Add(time.Hour)
	c := settings(filepath.Join(dir, "data"))
	c.GRPC.TLSCertFile, c.GRPC.TLSKeyFile = ours.Issue(dir, "server", hour)
	c.GRPC.TokenFile = accesstest.TokenFile(t, filepath.Join(dir, "tokens"), "reader read", "writer write",
		"ofA write A", "ofBoth read,write A",
		"cert:plugin-a write A", "cert:leaked none", "user:editor read,write A")
	c.HTTP.TokenFile = c.GRPC.TokenFile
	web := "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"
	if certificates {
		c.GRPC.ClientCAFile = ours.File(dir)
		web += "  client_ca_file: ours.ca\n  client_auth_type: RequireAndVerifyClientCert\n"
	}
	web += fmt.Sprintf("basic_auth_users: {viewer: %[1]s, editor: %[1]s}\n", accesstest.PasswordHash)
	c.HTTP.WebConfigFile = filepath.Join(dir, "web.yml")
	require.NoError(t, os.WriteFile(c.HTTP.WebConfigFile, []byte(web), 0o600))
	return startCollector(t, c)
}

func TestTheSecurityMatrix(t *testing.T) {
	ours, foreign := accesstest.NewAuthority(t, "ours"), accesstest.NewAuthority(t, "foreign")
	hour := time.Now().Add(time.Hour)
	showing := func(a *accesstest.Authority, name string, expires time.Time) func(*tls.Config) {
		pair := a.Pair(name, expires)
		return func(c *tls.Config) { c.Certificates = []tls.Certificate{pair} }
	}
	plugin := showing(ours, "plugin-a", hour)
	nobody := showing(ours, "nobody", hour)
	old := func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11 }
	both := func(changes ...func(*tls.Config)) func(*tls.Config) {
		return func(c *tls.Config) {
			for _, change := range changes {
				change(c)
			}
		}
	}
	tokens := []caller{
		{name: "no token"},
		{name: "a token that is not known, or was revoked", token: "revoked"},
		{name: "a token that may read", token: "reader"},
		{name: "a token that may write", token: "writer"},
		{name: "a token that may write A", token: "ofA"},
		{name: "a token that may read, and write A", token: "ofBoth"},
		{name: "a user with a password", user: "viewer"},
		{name: "a user who may write A", user: "editor"},
		{name: "a user who does not exist", user: "nobody"},
		{name: "TLS 1.1, with a token that may write", token: "writer", tls: old},
		{name: "who calls the collector by a name that its certificate lacks", token: "writer",
			tls: func(c *tls.Config) { c.ServerName = "elsewhere.example" }},
		{name: "who trusts another authority than the collector's", token: "writer", tls: func(c *tls.Config) {
			c.RootCAs = foreign.Pool()
		}},
	}
	certificates := []caller{
		{name: "no certificate"},
		{name: "no certificate, and a token that may write", token: "writer"},
		{name: "a certificate of another authority", tls: showing(foreign, "plugin-a", hour)},
		{name: "an expired certificate", tls: showing(ours, "plugin-a", time.Now().Add(-time.Minute))},
		{name: "a certificate that was revoked (`none`)", tls: showing(ours, "leaked", hour)},
		{name: "a certificate that was revoked, and a token that may write", tls: showing(ours, "leaked", hour),
			token: "writer"},
		{name: "a certificate that no line is about", tls: nobody},
		{name: "a certificate that no line is about, and a token that may write", tls: nobody, token: "writer"},
		{name: "a certificate that no line is about, and a token that may read", tls: nobody, token: "reader"},
		{name: "a certificate that no line is about, and a user", tls: nobody, user: "viewer"},
		{name: "a certificate that may write A", tls: plugin},
		{name: "a certificate that may write A, and a token that may write", tls: plugin, token: "writer"},
		{name: "a certificate that may write A, and a token that was revoked", tls: plugin, token: "revoked"},
		{name: "TLS 1.1, with a certificate that may write A", tls: both(plugin, old)},
	}
	page, err := os.ReadFile(securityPage)
	require.NoError(t, err)
	want := string(page)
	for _, one := range []struct {
		mark         string
		certificates bool
		callers      []caller
	}{{"tokens", false, tokens}, {"certificates", true, certificates}} {
		m := &matrix{startMatrix(t, ours, one.certificates), func(c caller) *tls.Config {
			config := &tls.Config{RootCAs: ours.Pool(), ServerName: "127.0.0.1"}
			if c.tls != nil {
				c.tls(config)
			}
			return config
		}}
		var found bool
		for _, port := range []struct {
			mark    string
			actions []action
		}{{"grpc", grpcActions}, {"http", httpActions}} {
			want, found = putBetween(want, one.mark+"-"+port.mark, m.table(t, port.actions, one.callers))
			require.True(t, found, "%s has no place for %s-%s", securityPage, one.mark, port.mark)
		}
		m.close()
	}
	want, found := putBetween(want, "open", openTable(t))
	require.True(t, found, "%s has no place for open", securityPage)
	if *updateSecurity {
		require.NoError(t, os.WriteFile(securityPage, []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(page), "go test ./cmd/bullet-metrics -run SecurityMatrix -update-security")
}

// table tries everything as everybody.
func (m *matrix) table(t *testing.T, actions []action, callers []caller) string {
	var b strings.Builder
	b.WriteString("| who |")
	for _, a := range actions {
		b.WriteString(" " + a.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(actions)) + "\n")
	for _, c := range callers {
		b.WriteString("| " + c.name + " |")
		for _, a := range actions {
			b.WriteString(" " + a.try(t, m, c) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// openTable is of a collector that nobody configured, with profiles.
func openTable(t *testing.T) string {
	c := settings(t.TempDir())
	c.Pprof = "127.0.0.1:0"
	r := startCollector(t, c)
	defer r.close()
	port, profiles := r.col.httpListener.Addr().String(), r.col.profiling.Addr().String()
	var b strings.Builder
	b.WriteString("| who | `Export` | page | API | annotate | `/-/reload` | `/metrics`, `/federate` | `/-/healthy`, `/-/ready` | profiles (`pprof`) |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range []struct {
		name, host string
		headers    map[string]string
		grpc       bool
	}{
		{name: "a program of this machine", grpc: true},
		{name: "the collector's own page", headers: map[string]string{"Sec-Fetch-Site": "same-origin",
			"Origin": "http://" + port}},
		{name: "a link on another site", headers: map[string]string{"Sec-Fetch-Site": "cross-site",
			"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}},
		{name: "another site's page", headers: map[string]string{"Sec-Fetch-Site": "cross-site",
			"Sec-Fetch-Mode": "no-cors"}},
		{name: "another site's page, in an older browser", headers: map[string]string{"Origin": "http://evil.example"}},
		{name: "a page whose own name leads to this machine", host: "rebound.example"},
	} {
		try := func(to, method, path, body string) string {
			request, err := http.NewRequestWithContext(t.Context(), method, "http://"+to+path,
				bytes.NewBufferString(body))
			require.NoError(t, err)
			request.Header.Set("Content-Type", "application/json")
			for name, value := range c.headers {
				request.Header.Set(name, value)
			}
			request.Host = c.host
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			require.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"), path)
			_, _ = io.Copy(io.Discard, response.Body)
			require.NoError(t, response.Body.Close())
			if response.StatusCode == http.StatusOK {
				return "yes"
			}
			return fmt.Sprint(response.StatusCode)
		}
		answers := []string{"-"} // browsers speak no gRPC
		if c.grpc {
			r.send(minute(1, time.Now().Truncate(10*time.Second)))
			answers[0] = "yes"
		}
		metrics, federate := try(port, "GET", "/metrics", ""), try(port, "GET", "/federate?match[]=up", "")
		healthy, ready := try(port, "GET", "/-/healthy", ""), try(port, "GET", "/-/ready", "")
		require.Equal(t, []string{metrics, healthy}, []string{federate, ready})
		answers = append(answers, try(port, "GET", "/", ""), try(port, "GET", "/api/v1/query?query=1", ""),
			try(port, "POST", "/api/v1/annotations", `{"topology":"t","title":"x"}`), try(port, "POST", "/-/reload", ""),
			metrics, healthy,
			try(profiles, "GET", "/debug/pprof/goroutine?debug=1", ""))
		fmt.Fprintf(&b, "| %s | %s |\n", c.name, strings.Join(answers, " | "))
	}
	return b.String()
}

// putBetween puts text between two marks of a page.
func putBetween(page, mark, text string) (string, bool) {
	begin, end := "<!-- "+mark+" -->\n", "<!-- end -->\n"
	before, rest, found := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, end)
	return before + begin + text + end + after, found && ended
}

// A collector that nobody configured lets in this machine and refuses every configuration that would let in more
// unasked.
func TestWhatIsNotSafeDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	cert, key := accesstest.NewAuthority(t, "ours").Issue(dir, "server", time.Now().Add(time.Hour))
	file := filepath.Join(dir, "c.yml")
	for name, c := range map[string]struct{ yaml, want string }{
		"gRPC to others": {"grpc.listen: 0.0.0.0:0\n",
			file + ":1: grpc.listen is 0.0.0.0:0: other machines could connect without TLS"},
		"TLS alone": {"grpc:\n  tls:\n    cert_file: " + cert + "\n    key_file: " + key + "\n",
			file + ":3: grpc.tls.cert_file is set without grpc.token_file: everybody could write"},
		"HTTP to others": {"http:\n  listen: 0.0.0.0:0\n",
			file + ":2: http.listen is 0.0.0.0:0: other machines could connect without TLS"},
		"HTTP, TLS alone": {"http:\n  listen: 0.0.0.0:0\n  web_config_file: " + dir + "/web.yml\n",
			file + ":2: http.listen is 0.0.0.0:0 with TLS but without authentication"},
		"a typo": {"http.web_config_flie: x\n",
			file + `:1: unknown setting "http.web_config_flie"; did you mean "http.web_config_file"?`},
		"a typo in its own": {"http.web_config_file: " + dir + "/typo.yml\n",
			dir + `/typo.yml:2: unknown field "cert_flie"; did you mean "cert_file"?`},
		"a token file": {"grpc.token_file: " + dir + "/tokens\n",
			dir + `/tokens:1: scope "raed" is unknown; did you mean "read"?`},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "web.yml"),
				[]byte("tls_server_config: {cert_file: server.crt, key_file: server.key}\n"), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "typo.yml"),
				[]byte("tls_server_config:\n  cert_flie: a\n"), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "tokens"), []byte("user:a raed\n"), 0o600))
			require.NoError(t, os.WriteFile(file, []byte(c.yaml), 0o600))
			_, err := program("serve", "--config", file, "--data-dir", filepath.Join(dir, "data"))
			require.ErrorContains(t, err, c.want)
			require.NoDirExists(t, filepath.Join(dir, "data"), "nothing was touched")
		})
	}
}
