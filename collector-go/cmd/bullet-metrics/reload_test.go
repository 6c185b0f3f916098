package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcmetadata "google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/accesstest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
)

// process is a collector that runs as a program of its own.
type process struct {
	t    *testing.T
	dir  string
	url  string
	ours *exec.Cmd
	log  *logged
}

// logged is a log that a test waits for.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// startProcess starts a collector whose settings are in collector.yaml of a directory, beside ports and data.
func startProcess(t *testing.T, dir string, flags ...string) *process {
	p := &process{t: t, dir: dir, log: &logged{}}
	address := freePort(t)
	p.url = "http://" + address
	p.ours = exec.Command(os.Args[0], append([]string{"serve", "--config", filepath.Join(dir, "collector.yaml"),
		"--data-dir", filepath.Join(dir, "data"), "--http-listen", address, "--grpc-listen", freePort(t)}, flags...)...)
	p.ours.Env = append(os.Environ(), asProgram+"=1")
	p.ours.Stderr = p.log
	p.ours.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, p.ours.Start())
	t.Cleanup(func() {
		require.NoError(t, p.ours.Process.Signal(syscall.SIGTERM))
		assert.NoError(t, p.ours.Wait(), "it ended in order, and not by a reload")
	})
	p.await("it is up", func() bool { return p.log.count("collector is up") == 1 })
	return p
}

func (p *process) await(what string, is func() bool) {
	p.t.Helper()
	require.Eventually(p.t, is, time.Minute, 10*time.Millisecond, what)
}

func (p *process) write(file, text string) {
	require.NoError(p.t, os.WriteFile(filepath.Join(p.dir, file), []byte(text), 0o600))
}

// ask returns a status and a body.
func (p *process) ask(method, path, token string) (int, string) {
	request, err := http.NewRequest(method, p.url+path, nil)
	require.NoError(p.t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(p.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	return response.StatusCode, string(body)
}

// hangUp reloads by the signal, and waits until the log has what it leads to.
func (p *process) hangUp(logs string) {
	before := p.log.count(logs)
	require.NoError(p.t, p.ours.Process.Signal(syscall.SIGHUP))
	p.await(logs, func() bool { return p.log.count(logs) > before })
}

// activeSince are the alerts of the operator's rules, and since when each is active.
func (p *process) activeSince(token string) map[string]string {
	_, body := p.ask(http.MethodGet, "/api/v1/alerts", token)
	var answer struct {
		Data struct {
			Alerts []struct {
				Labels          map[string]string
				ActiveAt, State string
			}
		}
	}
	require.NoError(p.t, json.Unmarshal([]byte(body), &answer), body)
	active := map[string]string{}
	for _, a := range answer.Data.Alerts {
		active[a.Labels["alertname"]] = a.State + " since " + a.ActiveAt
	}
	return active
}

func (p *process) awaitAlert(name string) (since string) {
	p.t.Helper()
	p.await(name, func() bool {
		since = p.activeSince("")[name]
		return since != ""
	})
	return since
}

// metric is the collector's own figure, as a whole line.
func (p *process) metric(line string) bool {
	_, body := p.ask(http.MethodGet, "/metrics", "")
	return strings.Contains(body, "\n"+line+"\n")
}

// alerting is a rule file of alerts that are pending for an hour.
func alerting(names ...string) string {
	text := "groups:\n- name: ours\n  interval: 1s\n  rules:\n"
	for _, name := range names {
		text += fmt.Sprintf("  - {alert: %s, expr: vector(1), for: 1h}\n", name)
	}
	return text
}

func TestRulesAreReloadedByHTTPAndBySignal(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yml")
	require.NoError(t, os.WriteFile(file, []byte(alerting("Stays")), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "collector.yaml"), []byte("rules.files: ['*.yml']\n"), 0o600))
	p := startProcess(t, dir)
	stays := p.awaitAlert("Stays")
	require.True(t, p.metric("bullet_metrics_config_last_reload_successful 1"))

	p.write("a.yml", alerting("Stays", "ByHTTP"))
	code, body := p.ask(http.MethodPost, "/-/reload", "")
	require.Equal(t, http.StatusOK, code, body)
	p.awaitAlert("ByHTTP")
	p.write("b.yml", strings.ReplaceAll(alerting("BySignal"), "ours", "more"))
	p.hangUp("reloaded rules and access files")
	p.awaitAlert("BySignal")
	assert.Equal(t, stays, p.activeSince("")["Stays"])

	// A file is broken: all stays, until it is repaired.
	p.write("b.yml", "groups: []")
	p.write("a.yml", alerting("Stays", "Broken")+"  - {alert: Worse, expr: 'sum('}\n")
	code, body = p.ask(http.MethodPut, "/-/reload", "")
	assert.Equal(t, http.StatusInternalServerError, code)
	assert.Contains(t, body, file+`: 7:26: group "ours", rule 3, "Worse": could not parse expression`)
	assert.True(t, p.metric("bullet_metrics_config_last_reload_successful 0"))
	p.hangUp("reload failed")
	active := p.activeSince("")
	assert.Equal(t, stays, active["Stays"])
	assert.Contains(t, active, "BySignal", "the other file is not taken either")
	assert.NotContains(t, active, "Broken")
	_, status := p.ask(http.MethodGet, "/api/v1/status/runtimeinfo", "")
	assert.Contains(t, status, `"reloadConfigSuccess":false`)

	p.write("a.yml", alerting("Stays", "Repaired"))
	p.hangUp("reloaded rules and access files")
	p.awaitAlert("Repaired")
	assert.True(t, p.metric("bullet_metrics_config_last_reload_successful 1"))
	active = p.activeSince("")
	assert.Equal(t, stays, active["Stays"])
	assert.NotContains(t, active, "ByHTTP")
	assert.NotContains(t, active, "BySignal")
	_, status = p.ask(http.MethodGet, "/api/v1/status/runtimeinfo", "")
	assert.Contains(t, status, `"reloadConfigSuccess":true`)
}

// What the configuration file says of rules is taken; what else changed in it, or in a file that it names, is named;
// and where it has a fault nothing is.
func TestAReloadNamesTheSettingsThatNeedARestart(t *testing.T) {
	dir := t.TempDir()
	settings := func(more string) string {
		return "rules.builtin: false\nalertmanager: {urls: ['http://127.0.0.1:1'], http_config_file: am.yaml}\n" + more
	}
	for file, text := range map[string]string{"collector.yaml": settings(""), "am.yaml": "follow_redirects: false\n",
		"a.yml": alerting("Added")} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	p := startProcess(t, dir, "--slice-lateness", "5s")
	reload := func() (int, string) { return p.ask(http.MethodPost, "/-/reload", "") }
	code, body := reload()
	assert.Equal(t, http.StatusOK, code)
	assert.NotContains(t, body, "Restart")

	// a flag wins over the file, then as at the start
	p.write("collector.yaml", settings("slice: {width: 20s, lateness: 7s}\nrules.files: [a.yml]\ngrpc.token_file: tokens\n"))
	p.write("am.yaml", "follow_redirects: false\nbearer_token: x\n")
	code, body = reload()
	assert.Equal(t, http.StatusOK, code)
	const restart = "alertmanager.http_config_file, grpc.token_file, slice.width"
	assert.Contains(t, body, "These changed settings need a restart: "+restart+"\n")
	p.await("the log", func() bool {
		return p.log.count(`level=WARN msg="some changed settings require a restart" settings="`+restart+`"`) == 1
	})
	p.awaitAlert("Added")
	p.write("collector.yaml", settings("rules.files: [a.yml]\nrules.buitlin: true\nslice.width: 7s\n"))
	code, body = reload()
	assert.Equal(t, http.StatusInternalServerError, code)
	assert.Contains(t, body, dir+`/collector.yaml:4: unknown setting "rules.buitlin"; did you mean "rules.builtin"?`)
	assert.Contains(t, body, dir+"/collector.yaml:5: slice.width is 7s")
	p.write("collector.yaml", settings("rules.files: [none.yml]\n"))
	code, body = reload()
	assert.Equal(t, http.StatusInternalServerError, code)
	assert.Contains(t, body, dir+`/collector.yaml:3: rules.files: rule files "`+dir+`/none.yml": no such file`)
	assert.Contains(t, p.activeSince(""), "Added")
}

func TestAReloadRefusesARevokedTokenAtOnce(t *testing.T) {
	dir := t.TempDir()
	tokens := accesstest.TokenFile(t, filepath.Join(dir, "tokens"), "admin read,write", "old read", "part read,write A")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yml"), []byte(alerting("Before")), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "collector.yaml"),
		[]byte("http.token_file: tokens\nrules.files: [a.yml]\n"), 0o600))
	p := startProcess(t, dir)
	may := func(token string) int { code, _ := p.ask(http.MethodGet, "/api/v1/query?query=1", token); return code }
	require.Equal(t, http.StatusOK, may("old"))
	for token, want := range map[string]int{"": 401, "wrong": 401, "old": 403, "part": 403} {
		code, _ := p.ask(http.MethodPost, "/-/reload", token)
		assert.Equal(t, want, code, token)
	}

	// Neither is taken where either has a fault.
	p.write("a.yml", alerting("After"))
	p.write("tokens", "nonsense\n")
	code, body := p.ask(http.MethodPost, "/-/reload", "admin")
	assert.Equal(t, http.StatusInternalServerError, code)
	assert.Contains(t, body, tokens+":1: ")
	accesstest.TokenFile(t, tokens, "admin read,write", "new read")
	code, body = p.ask(http.MethodPost, "/-/reload", "admin")
	require.Equal(t, http.StatusOK, code, body)
	assert.Equal(t, http.StatusUnauthorized, may("old"))
	assert.Equal(t, http.StatusOK, may("new"))
	p.await("the rules", func() bool { return p.activeSince("new")["After"] != "" })
}

// A sender that is connected loses its stream with its token; one whose token stays goes on.
func TestAReloadEndsTheStreamOfARevokedToken(t *testing.T) {
	t.Parallel()
	c := settings(t.TempDir())
	c.GRPC.TokenFile = accesstest.TokenFile(t, filepath.Join(t.TempDir(), "tokens"), "old write", "kept write")
	r := startCollector(t, c)
	connection, err := grpc.NewClient(r.col.grpcListener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer connection.Close()
	open := func(token string) (grpc.BidiStreamingClient[pb.ExportRequest, pb.ExportResponse], error) {
		ctx := grpcmetadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
		stream, err := pb.NewIngestServiceClient(connection).Export(ctx)
		require.NoError(t, err)
		require.NoError(t, stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: token,
			TopologyId: token + "-1", Host: "h", Port: 6700, Task: 3}}}))
		_, err = stream.Recv()
		return stream, err
	}
	old, err := open("old")
	require.NoError(t, err)
	kept, err := open("kept")
	require.NoError(t, err)
	accesstest.TokenFile(t, c.GRPC.TokenFile, "kept write")
	_, err = r.col.reloads.Reload()
	require.NoError(t, err)
	_, err = open("old") // at once: the files are also read each second
	assert.Equal(t, codes.Unauthenticated, status.Code(err), "%v", err)
	_, err = old.Recv()
	assert.Equal(t, codes.Unauthenticated, status.Code(err), "%v", err)
	require.NoError(t, kept.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: minute(1, time.Now())}}))
	answer, err := kept.Recv()
	require.NoError(t, err)
	assert.NotNil(t, answer.GetAcknowledgement())
}

// Queries, evaluations and reloads at the same time: for the race detector.
func TestReloadsWhileQueriesRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := settings(filepath.Join(dir, "data"))
	c.Rules.Files, c.Rules.Interval = []string{filepath.Join(dir, "*.yml")}, time.Second
	c.GRPC.TokenFile = accesstest.TokenFile(t, filepath.Join(dir, "tokens"), "admin write")
	write := func(i int) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yml"), []byte(alerting("Stays", fmt.Sprint("A", i))), 0o600))
	}
	write(0)
	r := startCollector(t, c)
	var asking sync.WaitGroup
	stop := make(chan struct{})
	for _, path := range []string{"/api/v1/query?query=ALERTS", "/api/v1/rules", "/api/v1/alerts", "/metrics"} {
		asking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					response, err := http.Get("http://" + r.col.httpListener.Addr().String() + path)
					if assert.NoError(t, err) {
						assert.Equal(t, http.StatusOK, response.StatusCode, path)
						_ = response.Body.Close()
					}
				}
			}
		})
	}
	reloads := cases.Number(30, 8)
	for i := range reloads {
		write(i)
		_, err := r.col.reloads.Reload()
		require.NoError(t, err)
	}
	close(stop)
	asking.Wait()
	last := fmt.Sprintf(`"A%d"`, reloads-1)
	require.Eventually(t, func() bool { return strings.Contains(r.body("/api/v1/alerts"), last) }, time.Minute,
		10*time.Millisecond)
}
