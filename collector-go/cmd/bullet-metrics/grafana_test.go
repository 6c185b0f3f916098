package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/dashboard"
)

var updateDashboards = flag.Bool("update-dashboards", false, "rewrite dashboards/")

// dashboardsHome is where what we export is committed: the dashboards themselves, and provisioning and rules below it.
const dashboardsHome = "../../../dashboards"

// committedExport is what the committed files were made with: places that suit Grafana's packages.
var committedExport = grafanaExport{url: "http://127.0.0.1:9320", prometheus: alertrules.OffsetSince,
	dashboards: "/var/lib/grafana/dashboards/bullet-metrics"}

// Every committed dashboard, provisioning file and rule file is what the program writes, and there is none besides.
func TestCommittedGrafanaFilesAreCurrent(t *testing.T) {
	files, err := committedExport.files()
	require.NoError(t, err)
	written := map[string]bool{}
	for _, f := range files {
		path := strings.TrimPrefix(f.Path, "dashboards/")
		written[path] = true
		f.Path = path
		if *updateDashboards {
			require.NoError(t, write(dashboardsHome, f))
		}
		committed, err := os.ReadFile(filepath.Join(dashboardsHome, path))
		require.NoError(t, err)
		assert.Equal(t, string(f.Content), string(committed),
			"%s: go test ./cmd/bullet-metrics -run CommittedGrafana -update-dashboards", path)
	}
	for _, pattern := range []string{"*.json", "provisioning/*/*", "prometheus/*.yaml"} {
		found, err := fs.Glob(os.DirFS(dashboardsHome), pattern)
		require.NoError(t, err)
		for _, path := range found {
			assert.True(t, written[path],
				"%s is written by nothing; the dashboards are in collector-go/internal/serve/dashboard", path)
		}
	}
}

func TestGrafanaExport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "grafana")
	out, err := program("grafana", "export", "--out", dir, "--datasource-url", "https://prometheus.example/a")
	require.NoError(t, err)
	lines := strings.Fields(out)
	assert.Len(t, lines, len(dashboard.All())+4)
	for _, path := range lines {
		assert.FileExists(t, path)
	}
	source, err := os.ReadFile(filepath.Join(dir, "provisioning/datasources/bullet-metrics.yaml"))
	require.NoError(t, err)
	assert.Contains(t, string(source), `url: "https://prometheus.example/a"`)
	provider, err := os.ReadFile(filepath.Join(dir, "provisioning/dashboards/bullet-metrics.yaml"))
	require.NoError(t, err)
	assert.Contains(t, string(provider), filepath.Join(dir, "dashboards"))
}

// Grafana expands $NAME in what it provisions, and reads $$ as one dollar sign; a path in $__file{} it takes as it is.
func TestGrafanaExportKeepsDollarSigns(t *testing.T) {
	dir := t.TempDir()
	_, err := program("grafana", "export", "--out", dir, "--datasource-url", "https://a.example/$HOME", "--user", "$USER",
		"--password-file", "/p$x", "--dashboards-dir", "/var/$HOME/${PATH}")
	require.NoError(t, err)
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join(dir, path))
		require.NoError(t, err)
		return string(text)
	}
	source := read("provisioning/datasources/bullet-metrics.yaml")
	assert.Contains(t, source, `url: "https://a.example/$$HOME"`)
	assert.Contains(t, source, `basicAuthUser: "$$USER"`)
	assert.Contains(t, source, `"$__file{/p$x}"`)
	assert.Contains(t, read("provisioning/dashboards/bullet-metrics.yaml"), `path: "/var/$$HOME/$${PATH}"`)
	for _, rules := range []string{"provisioning/alerting/bullet-metrics.yaml", "prometheus/bullet-metrics.rules.yaml"} {
		assert.Contains(t, read(rules), "https://a.example/%24HOME/runbooks/", "it is a template there")
	}
}

// Grafana is let in where the collector asks who calls: the file names files, and holds no secret.
func TestGrafanaExportOfAGuardedCollector(t *testing.T) {
	exported := func(args ...string) string {
		dir := t.TempDir()
		_, err := program(append([]string{"grafana", "export", "--out", dir, "--datasource-url", "https://collector.example:9320"},
			args...)...)
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(dir, "provisioning/datasources/bullet-metrics.yaml"))
		require.NoError(t, err)
		var file struct {
			Datasources []map[string]any `yaml:"datasources"`
		}
		require.NoError(t, yaml.Unmarshal(text, &file))
		require.Len(t, file.Datasources, 1)
		source := file.Datasources[0]
		return strings.TrimSpace(fmt.Sprintln(source["secureJsonData"], source["basicAuth"], source["basicAuthUser"],
			source["jsonData"].(map[string]any)["httpHeaderName1"],
			source["jsonData"].(map[string]any)["tlsAuthWithCACert"], source["jsonData"].(map[string]any)["tlsAuth"]))
	}
	assert.Equal(t, "<nil> <nil> <nil> <nil> <nil> <nil>", exported())
	assert.Equal(t, "map[httpHeaderValue1:Bearer $__file{/t} tlsCACert:$__file{/ca}] <nil> <nil> Authorization true <nil>",
		exported("--token-file", "/t", "--tls-ca", "/ca"))
	assert.Equal(t, "map[basicAuthPassword:$__file{/p} tlsClientCert:$__file{/c} tlsClientKey:$__file{/k}] true viewer <nil> <nil> true",
		exported("--user", "viewer", "--password-file", "/p", "--tls-cert", "/c", "--tls-key", "/k"))
	for _, args := range [][]string{{"--user", "a"}, {"--user", "a", "--password-file", "p", "--token-file", "t"},
		{"--tls-key", "k"}} {
		_, err := program(append([]string{"grafana", "export", "--out", t.TempDir()}, args...)...)
		assert.Equal(t, exitUsage, exitCode(err), args)
	}
}

func TestGrafanaExportNamesWhatIsWrong(t *testing.T) {
	taken := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(taken, nil, 0o666))
	for _, test := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"grafana", "export"}, "--out is required", exitUsage},
		{[]string{"grafana", "import"}, `unknown command "import"`, exitUsage},
		{[]string{"grafana", "export", "x"}, "takes no argument", exitUsage},
		{[]string{"grafana", "export", "--out", "d", "--datasource-url", ""}, `--datasource-url "": the value is empty`, exitUsage},
		{[]string{"grafana", "export", "--out", "d", "--datasource-url", "a.example:9320"}, `--datasource-url "a.example:9320": missing scheme`, exitUsage},
		{[]string{"grafana", "export", "--out", "d", "--datasource-url", "ftp://a.example"}, "neither http nor https", exitUsage},
		{[]string{"grafana", "export", "--out", "d", "--datasource-url", "http://u:secret@a.example"},
			`--datasource-url "http://(hidden)@a.example": a URL holds no user or password here: they belong in the file of --password-file`, exitUsage},
		{[]string{"grafana", "export", "--out", "d", "--runbooks-url", ""}, `--runbooks-url "": the value is empty`, exitUsage},
		{[]string{"grafana", "export", "--out", "d", "--runbooks-url", "books"}, `--runbooks-url "books": missing scheme`, exitUsage},
		{[]string{"grafana", "export", "--out", "d", "--token-file", "/a}b"},
			`--token-file "/a}b": Grafana cannot read a file with } or $$ in its path`, exitUsage},
		{[]string{"grafana", "export", "--out", "d", "--user", "", "--password-file", "p"}, `--user "": the value is empty`, exitUsage},
		{[]string{"grafana", "export", "--out", taken}, "grafana export: mkdir", exitFailed},
	} {
		_, err := program(test.args...)
		if assert.ErrorContains(t, err, test.want) {
			assert.Equal(t, test.code, exitCode(err), test.args)
		}
	}
}

// What is set over the API is on Grafana's time axis, by the very expressions of the dashboards' annotations.
func TestGrafanaSeesAnnotations(t *testing.T) {
	r := startCollector(t, settings(t.TempDir()))
	address := "http://" + r.col.httpListener.Addr().String()
	ended := time.Now().Add(-time.Minute).Truncate(time.Second)
	for _, set := range []string{
		fmt.Sprintf(`{"id": "s", "topology": "t", "time": %d, "end_time": %d, "title": "100 queries", "tags": ["step"]}`,
			ended.Unix()-60, ended.Unix()),
		fmt.Sprintf(`{"id": "c", "topology": "t", "time": %d, "title": "More workers", "text": "- 1\n+ 2", "tags": ["config"]}`,
			ended.Unix()),
	} {
		response, err := http.Post(address+"/api/v1/annotations", "application/json", strings.NewReader(set))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode)
	}
	var file struct {
		Annotations struct {
			List []struct{ Name, Expr string }
		}
	}
	text, err := os.ReadFile(filepath.Join(dashboardsHome, "figures.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &file))
	answers := map[string]string{}
	for _, a := range file.Annotations.List[1:] {
		answers[a.Name] = r.ask(fmt.Sprintf(`last_over_time((%s)[5m:10s])`,
			strings.ReplaceAll(a.Expr, "$topology", "t")))
	}
	assert.Contains(t, answers["Experiment steps"], `"title":"100 queries"`)
	assert.Contains(t, answers["Experiment steps"], `"1"]`)
	assert.Contains(t, answers["Configuration changes"], `"text":"- 1\n+ 2"`)
	assert.Contains(t, answers["Configuration changes"], fmt.Sprintf(`"%d"]`, ended.UnixMilli()),
		"Grafana takes the value as a time in ms")
	assert.NotContains(t, answers["Configuration changes"], "100 queries")
}

// The rules are for the Prometheus that is named, and say which one they need.
func TestGrafanaExportForAnOlderPrometheus(t *testing.T) {
	rules := func(version string) (string, error) {
		dir := t.TempDir()
		if _, err := program("grafana", "export", "--out", dir, "--prometheus-version", version); err != nil {
			return "", err
		}
		text, err := os.ReadFile(filepath.Join(dir, "prometheus/bullet-metrics.rules.yaml"))
		require.NoError(t, err)
		return string(text), nil
	}
	for version, offset := range map[string]bool{"2.42": false, "2.52.1": false, "2.53": true, "2.53.0": true, "3.0": true} {
		text, err := rules(version)
		require.NoError(t, err, version)
		assert.Equal(t, offset, strings.Contains(text, "query_offset: 14s"), version)
		assert.Contains(t, text, map[bool]string{true: "Requires Prometheus 2.53", false: "Requires Prometheus 2.42"}[offset])
	}
	for version, says := range map[string]string{"2.41": "the rules need 2.42 or later", "2": "use MAJOR.MINOR",
		"": "the value is empty", "new": "use MAJOR.MINOR", "-1.2": "use MAJOR.MINOR"} {
		_, err := rules(version)
		require.ErrorContains(t, err, says, version)
		assert.Equal(t, exitUsage, exitCode(err), version)
	}
}
