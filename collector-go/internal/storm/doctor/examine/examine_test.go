package examine

import (
	"archive/zip"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

func jarOf(t *testing.T, entries ...string) string {
	path := filepath.Join(t.TempDir(), "a.jar")
	file, err := os.Create(path)
	require.NoError(t, err)
	w := zip.NewWriter(file)
	for _, entry := range entries {
		_, err := w.Create(entry)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
	return path
}

func TestJar(t *testing.T) {
	var ours []string
	for _, class := range doctor.Classes {
		ours = append(ours, strings.ReplaceAll(class, ".", "/")+".class")
	}
	good := Jar(jarOf(t, append(ours, "io/github/bulletmetrics/storm/shaded/io/grpc/A.class",
		"META-INF/services/io.grpc.NameResolverProvider")...))
	assert.NoError(t, good.Err)
	assert.Equal(t, len(doctor.Classes)+1, good.Classes)
	assert.Empty(t, good.Missing)
	assert.Empty(t, good.Visible)

	fat := Jar(jarOf(t, ours[0], "io/grpc/A.class", "META-INF/versions/9/io/netty/B.class",
		"com/google/protobuf/C.class", "com/google/common/base/D.class"))
	assert.Equal(t, doctor.Classes[1:], fat.Missing)
	assert.Equal(t, []string{"com.google.common", "com.google.protobuf", "io.grpc", "io.netty"}, fat.Visible)

	none := filepath.Join(t.TempDir(), "none.jar")
	assert.ErrorContains(t, Jar(none).Err, none)
}

func TestSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	require.NoError(t, os.WriteFile(path, []byte("a.b: [x]\nc: {d: 1}\n"), 0o600))
	read := Settings(path)
	require.NoError(t, read.Err)
	assert.Equal(t, map[string]any{"a.b": []any{"x"}, "c": map[string]any{"d": uint64(1)}}, read.Values)
	require.NoError(t, os.WriteFile(path, []byte("- only\n- a list\n"), 0o600))
	assert.ErrorContains(t, Settings(path).Err, "invalid YAML")
	assert.Error(t, Settings(path+".none").Err)
}

func TestACollectorThatIsNone(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	asked, err := client.New(server.URL, client.Access{})
	require.NoError(t, err)
	assert.ErrorContains(t, Collector(t.Context(), asked, "t", time.Now()).Err, "404")
	server.Close()
	assert.ErrorContains(t, Collector(t.Context(), asked, "t", time.Now()).Err, "connection refused")
}

// problemsOf returns the beginnings of the messages that need action, as the log check finds them.
func problemsOf(l doctor.Log) (all []string) {
	for _, t := range l.Problems {
		if t.Message == nil {
			all = append(all, "unknown: "+t.Line)
			continue
		}
		all = append(all, t.Message.Text)
	}
	return all
}

// testdata/*.log were logged by the plugin with the layout of Storm's worker.xml. Meanwhile faults were caused one
// after the other: invalid settings, a collector that started late, refused samples and data points, TLS on one side
// only, an HTTP port, a missing token file, a failing sampler and hook, a return, and a refused state. Together they
// contain every message except for the two that need a fault of the plugin or of Storm. When texts of the plugin and of
// the collector changed after the recording, they were replaced in these files; the times, values and stack traces are
// as recorded.
func TestLogKnowsEveryMessage(t *testing.T) {
	known := map[*plugininfo.Message]bool{}
	logs := map[string]doctor.Log{}
	for _, name := range []string{"submission", "worker"} {
		path := filepath.Join("testdata", name+".log")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if _, message, ours := strings.Cut(strings.TrimSuffix(line, "\n"), plugininfo.LogMark); ours {
				require.NotNil(t, plugininfo.Read(message), line)
				known[plugininfo.Read(message)] = true
			}
		}
		logs[name] = Log(path)
		require.NoError(t, logs[name].Err)
	}
	for i := range plugininfo.Messages {
		m := &plugininfo.Messages[i]
		faulty := strings.HasPrefix(m.Text, "Sending metrics failed unexpectedly") ||
			strings.HasPrefix(m.Text, "Live reports")
		assert.Equal(t, !faulty, known[m], m.Text)
	}
	require.Len(t, logs["submission"].Problems, 2)
	assert.Equal(t, "Skipped the registration: {} already contains {}.", problemsOf(logs["submission"])[1])
	worker := logs["worker"]
	assert.Empty(t, worker.MissingClass)
	assert.Len(t, worker.Problems, 9, "%q", problemsOf(worker))
	for _, last := range worker.Problems {
		if strings.HasPrefix(last.Message.Text, "Metrics do not reach") {
			assert.Contains(t, last.Message.Advice(last.Line), "install the file there")
		}
	}
}

// Some lines end an earlier problem, and others do not.
func TestLogTakesBackWhatIsOver(t *testing.T) {
	const (
		unknown = "x [WARN] bullet-metrics: Ignored the unknown setting a.b. Known settings: [c]"
		began   = "x [INFO] bullet-metrics: Sending metrics to [a:1]; the queue holds up to 5 samples."
		away    = "x [WARN] bullet-metrics: Metrics do not reach the collector at a:1: gone. Check that it is running and that bullet.topology.metrics.collector.address is correct. Retrying; 3 samples are queued. Unreachable for 0 s; failures since the last such message: 0."
		again   = "x [INFO] bullet-metrics: Metrics reach the collector at a:1 again, after 9 s and 4 failed attempts."
		refused = "x [WARN] bullet-metrics: Collector rejected samples with REJECTION_REASON_FUTURE, for example: a. Further samples with this reason are only counted."
		noClass = "java.lang.ClassNotFoundException: io.github.bulletmetrics.storm.StormMetricsConsumer"
		starts  = "x o.a.s.d.w.Worker main [INFO] Launching worker for bullet-1 on b:6700 with id c and conf {}"
	)
	for name, c := range map[string]struct {
		lines   []string
		trouble []string
		noClass bool
	}{
		"a setting that nobody knows outlasts the consumer's start": {[]string{unknown, began},
			[]string{"Ignored the unknown setting {}. Known settings: {}"}, false},
		"an outage ends": {[]string{away, away, again}, nil, false},
		"what was refused outlasts an outage": {[]string{refused, away, again},
			[]string{"Collector rejected samples with {}"}, false},
		"a worker that starts has no trouble": {[]string{unknown, away, noClass, starts, began}, nil, false},
		"a class that came":                   {[]string{noClass, began}, nil, false},
		"a class that is missing":             {[]string{began, starts, noClass}, nil, true},
		"a level in what varies is none": {
			[]string{"x [INFO] bullet-metrics: Kept topology.worker.childopts at -Dlevel=WARN."}, nil, false},
		"a warning of another release": {[]string{"x [WARN] bullet-metrics: Something new"},
			[]string{"unknown: bullet-metrics: Something new"}, false},
		"what another release has to remark": {[]string{"x [INFO] bullet-metrics: Something new"}, nil, false},
		"one of each kind, the newest of them": {[]string{away, refused, strings.Replace(away, "a:1", "b:2", 1)},
			[]string{"Collector rejected samples with {}", "Metrics do not reach"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "worker.log")
			require.NoError(t, os.WriteFile(path, []byte(strings.Join(c.lines, "\n")), 0o600))
			l := Log(path)
			found := problemsOf(l)
			require.Len(t, found, len(c.trouble), "%q", found)
			for i := range found {
				assert.Contains(t, found[i], c.trouble[i])
			}
			assert.Equal(t, c.noClass, l.MissingClass != "")
		})
	}
}
