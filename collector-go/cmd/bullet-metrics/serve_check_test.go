package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
)

// checkedServe is what serve --check prints of a file of settings, and how it ends.
func checkedServe(t *testing.T, dir string, lines ...string) (said string, code int) {
	file := filepath.Join(dir, "collector.yaml")
	lines = append([]string{"data_dir: " + filepath.Join(dir, "data")}, lines...)
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	said, err := program("serve", "--config", file, "--check")
	if err != nil {
		return said, exitCode(err)
	}
	return said, exitDone
}

// takenAddress is one at which somebody listens until the test ends.
func takenAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// All faults are named at once, each with its file and line, and nothing is made or left listening.
func TestServeCheckNamesAllFaultsAtOnce(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	taken := takenAddress(t)
	said, code := checkedServe(t, dir,
		"slice.widht: 10s", "slice.width: 7s", "grpc.listen: "+taken, `http.listen: "9392"`,
		"grpc.token_file: "+write("tokens", "# ours\nabc write\n"), "grpc.tls.cert_file: "+filepath.Join(dir, "no.pem"),
		"grpc.tls.key_file: "+filepath.Join(dir, "no.key"),
		"rules.files: ["+write("rules.yml", "groups:\n- name: g\n  rules:\n  - record: r\n    expr: sum(\n")+", "+
			filepath.Join(dir, "none*.yml")+"]",
		"alertmanager.urls: [\"http://"+freePort(t)+"\"]", "runs.dir: "+filepath.Join(dir, "nope"),
		"store.remote_write.mimir.url: http://"+freePort(t)+"/api/v1/push")
	assert.Equal(t, exitUsage, code)
	file := regexp.QuoteMeta(filepath.Join(dir, "collector.yaml"))
	for _, want := range []string{
		`WRONG +` + file + `:2: unknown setting "slice.widht"; did you mean "slice.width"`,
		`WRONG +` + file + `:3: slice.width is 7s: must divide 1m`,
		`WRONG +` + file + `:5: http.listen "9392": missing host; use HOST:PORT, for example 127.0.0.1:9320`,
		`WRONG +.*tokens:2: `, `WRONG +tls: .*no.pem: no such file`, `WRONG +.*rules.yml: 5:\d+: group "g"`,
		`WRONG +` + file + `:9: rules.files: rule files ".*none\*.yml": no such file`,
		`WRONG +` + file + `:11: runs.dir: .*nope: no such file or directory; name the directory`,
		`WARNING +grpc.listen: listen tcp ` + taken + `.*address already in use; stop the process that listens there`,
		`UNREACHABLE +alertmanager.urls .*connection refused`, `UNREACHABLE +store.remote_write.mimir.url .*connection refused`,
		`ok +data_dir `,
	} {
		assert.Regexp(t, want, said)
	}
	assert.Less(t, strings.LastIndex(said, "WRONG"), strings.Index(said, "UNREACHABLE"), "the worst comes first")
	assert.NoDirExists(t, filepath.Join(dir, "data"))
}

func freePort(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func TestServeCheckDistinguishesUnreachableFromWrong(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code := map[string]int{"/well": http.StatusMethodNotAllowed, "/closed": http.StatusUnauthorized,
			"/broken": http.StatusInternalServerError}[r.URL.Path]
		w.WriteHeader(code)
	}))
	defer refusing.Close()
	ports := []string{"grpc.listen: 127.0.0.1:0", "http.listen: 127.0.0.1:0"}
	for path, want := range map[string]struct {
		code int
		says string
	}{
		"/well":                   {exitDone, `ok +store.remote_write.m.url `},
		"/closed":                 {exitFailed, `UNREACHABLE .*401 Unauthorized: check the credentials`},
		"/broken":                 {exitFailed, `UNREACHABLE .*500 Internal Server Error`},
		"/well?token=s3cret-word": {exitDone, `ok .*\(hidden\)`},
	} {
		said, code := checkedServe(t, t.TempDir(), append(ports, "store.remote_write.m.url: "+refusing.URL+path)...)
		assert.Equal(t, want.code, code, said)
		assert.Regexp(t, want.says, said)
		assert.NotContains(t, said, "s3cret-word")
	}
	said, code := checkedServe(t, t.TempDir(), append(ports, "journal.max_bytes: 900TiB")...)
	assert.Equal(t, exitFailed, code)
	assert.Regexp(t, `WARNING +data_dir .*the disk is too small for the limits`, said)
	said, code = checkedServe(t, t.TempDir(), append(ports, "nimbus.addresses: ["+freePort(t)+"]")...)
	assert.Equal(t, exitFailed, code)
	assert.Regexp(t, `UNREACHABLE +nimbus.addresses .*: query Nimbus`, said)
}

// Beside a running collector the check is for its next start: its own addresses are no fault.
func TestServeCheckBesideARunningCollector(t *testing.T) {
	dir := t.TempDir()
	r := startCollector(t, settings(filepath.Join(dir, "data")))
	said, code := checkedServe(t, dir, "grpc.listen: "+r.col.grpcListener.Addr().String(), "http.listen: "+
		r.col.httpListener.Addr().String())
	assert.Equal(t, exitDone, code, said)
	assert.Regexp(t, fmt.Sprintf(`ok +grpc.listen .* is in use, and so is data_dir \(pid %d since`, os.Getpid()), said)
}

// A taken port hides nothing that is wrong in a file, also without --check.
func TestATakenPortHidesNoOtherFault(t *testing.T) {
	c := settings(t.TempDir())
	c.GRPC.Listen = takenAddress(t)
	c.HTTP.WebConfigFile, c.Rules.Files, c.Runs.Dir = "/nope/web.yml", []string{"/nope/rules.yml"}, "/nope"
	_, err := openCollector(c, newLogger(config.Log{Level: "error"}))
	for _, want := range []string{"grpc.listen: listen tcp", "web.yml", "rules.yml", "runs.dir: stat /nope"} {
		assert.ErrorContains(t, err, want)
	}
}

// Each flag of serve is in one group, and none is left over for want of a prefix.
func TestServeHelpIsGrouped(t *testing.T) {
	help, err := program("serve", "--help")
	require.NoError(t, err)
	command := newServeCommand()
	inGroups := 0
	for i, flags := range grouped(command.LocalFlags()) {
		require.True(t, flags.HasAvailableFlags(), serveGroups[i].title)
		assert.Contains(t, help, "\n"+serveGroups[i].title+":\n")
		inGroups += strings.Count(flags.FlagUsages(), "      --")
	}
	c := config.Default()
	assert.Equal(t, len(config.Settings(&c))+2, inGroups, "the settings, --config and --check")
	assert.Equal(t, inGroups, strings.Count(help, "\n      --"))
	assert.Contains(t, help, "sha256sum")
}

// A port that cannot be, or is used twice, is wrong and not away; and no password of an address is printed, however
// wrong it is.
func TestTheCheckOfAddresses(t *testing.T) {
	t.Parallel()
	said, code := checkedServe(t, t.TempDir(), "http.listen: 127.0.0.1:99999", "grpc.listen: 127.0.0.1:0")
	assert.Equal(t, exitUsage, code, said)
	assert.Contains(t, said, `http.listen "127.0.0.1:99999": port 99999 is above 65535`)
	assert.NotContains(t, said, "UNREACHABLE")

	same := freePort(t)
	said, code = checkedServe(t, t.TempDir(), "http.listen: "+same, "grpc.listen: "+same)
	assert.Equal(t, exitUsage, code, said)
	assert.Contains(t, said, `http.listen "`+same+`": grpc.listen "`+same+`" has the same port`)
	assert.Equal(t, 1, strings.Count(said, same+" is free"))

	said, code = checkedServe(t, t.TempDir(), "http.listen: 127.0.0.1:0", "grpc.listen: 127.0.0.1:0",
		"http.external_url: http://u:s3cret@here/?a=1", "nimbus.addresses: ['u:s3cret@nimbus:1']",
		"alertmanager.urls: ['http://u:s3cret@127.0.0.1:1', 'http://127.0.0.1:1/?p=s3cret']",
		"store.remote_write.a.url: http://u:s3cret@127.0.0.1:1/x", "store.remote_write.b.url: http://u:s3/cret@127.0.0.1:1/x",
		"pprof: u:s3cret@127.0.0.1:1")
	assert.Equal(t, exitUsage, code)
	assert.NotContains(t, said, "s3c")
	assert.NotContains(t, said, "cret@")
	assert.NotContains(t, said, "s3/")
	assert.Equal(t, 7, strings.Count(said, "WRONG"), said)
}
