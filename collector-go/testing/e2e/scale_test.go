//go:build e2e && stores

package e2e

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/stack"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/alertmanagertest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/servertest"
)

// scaled are two collectors for one topology, before a Thanos of three receivers; the stack's own collector takes
// nothing, and has the page over all.
type scaled struct {
	*bench
	ring       *servertest.Ring
	collectors []*servertest.Server
	addresses  []string // gRPC
}

// say is progress, for whoever watches.
func say(t *testing.T, format string, args ...any) {
	t.Helper()
	fmt.Printf("demo-scale: %s\n", fmt.Sprintf(format, args...))
}

// startScaled brings all of it up and returns when both workers report.
func startScaled(t *testing.T) *scaled {
	say(t, "building and starting Thanos: three receivers and a querier")
	s := &scaled{ring: servertest.Thanos(t, 2*time.Hour)}
	manager := alertmanagertest.Start(t)
	file := func(write string) string {
		path := filepath.Join(t.TempDir(), "bullet-metrics.yaml")
		text := fmt.Sprintf("store:\n  embedded: {enabled: false}\n  remote_write:\n    thanos: {url: %s, required: true}\n", write)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	flags := func(write string) []string {
		return []string{"--config", file(write), "--query-url", s.ring.Querier.URL(), "--slice-width", "10s",
			"--slice-lateness", "10s"}
	}
	for i := range 2 {
		address := freeAddress(t)
		s.addresses = append(s.addresses, address)
		s.collectors = append(s.collectors, servertest.Run(t, "/-/ready", func(dir, listen string) *exec.Cmd {
			return exec.Command(filepath.Join(buildDir(t), "bullet-metrics"), append([]string{"serve", "--data-dir",
				filepath.Join(dir, "data"), "--http-listen", listen, "--grpc-listen", address, "--grpc-acknowledge", "forwarded",
				"--alertmanager-urls", manager.URL}, flags(s.ring.Writes[i])...)...)
		}))
		say(t, "collector %d: %s, its page %s", i+1, address, s.collectors[i].URL())
	}
	o := stack.DefaultOptions(filepath.Join(t.TempDir(), "run"), buildDir(t))
	o.Topology, o.Workers, o.GatewayFlags = topology, workers, patientGateway
	o.Settings = append(append([]string{}, patientTopology...),
		"bullet.topology.metrics.collector.address=["+strings.Join(s.addresses, ",")+"]")
	o.BulletConf = filepath.Join(root(t), o.BulletConf)
	o.GRPCListen, o.HTTPListen, o.GatewayListen = freeAddress(t), freeAddress(t), freeAddress(t)
	o.CollectorFlags = append(flags(s.ring.Writes[2]), "--rules-builtin=false")
	running, err := stack.Enter(t.Context(), o, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	s.bench = &bench{Stack: running, options: o, gateway: load.NewGateway(o.GatewayListen, 20), manager: manager,
		started: time.Now()}
	t.Cleanup(func() { s.stop(t) })
	s.collector, err = measure.NewCollector(o.HTTPListen, measure.CollectorAccess{})
	require.NoError(t, err)
	say(t, "starting a Storm cluster of %d workers; the page over all collectors: http://%s", workers, o.HTTPListen)
	require.NoError(t, running.Start(t.Context()))
	require.NoError(t, running.Submit(t.Context()))
	s.await(t, "the record source", func(ctx context.Context) bool {
		status, err := s.gateway.Status(ctx)
		return err == nil && status.Reporting > 0 && status.Emitted > 0
	})
	require.NoError(t, s.gateway.SetControl(t.Context(), load.Control{RecordsPerSecond: recordRate}))
	s.await(t, "two workers' CPU slices", func(ctx context.Context) bool { return len(s.workersAt(ctx, t)) >= workers })
	return s
}

var streamsOpen = regexp.MustCompile(`(?m)^bullet_metrics_ingest_streams(?:\{[^}]*\})? (\d+)$`)

// takes reports whether the topology sends to a collector.
func (s *scaled) takes(t *testing.T, i int) bool {
	response, err := http.Get(s.collectors[i].URL() + "/metrics")
	if err != nil {
		return false
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	found := streamsOpen.FindSubmatch(text)
	require.NotNil(t, found, "the collector does not say how many streams it has")
	return string(found[1]) != "0"
}

// awaitAt waits until the topology sends to a collector, and everything up to then is answered through Thanos.
func (s *scaled) awaitAt(t *testing.T, i int) {
	t.Helper()
	what := fmt.Sprintf("the topology at collector %d", i+1)
	s.await(t, what, func(context.Context) bool { return s.takes(t, i) })
	say(t, "the topology sends to collector %d", i+1)
	s.awaitSlices(t, "bullet_worker_cpu_seconds_total", "", time.Now())
}

// A real topology moves from a collector that is killed to another and back, while a receiver of the store is killed
// too. Through Thanos no worker shows a gap, a counter that falls, a clock that is off or a missing sample, and no
// alert fires but the one that always does, once.
func TestDemoScale(t *testing.T) {
	s := startScaled(t)
	s.awaitAt(t, 0)
	say(t, "killing a receiver")
	s.ring.Receivers[2].Kill()
	s.awaitSlices(t, "bullet_worker_cpu_seconds_total", "", time.Now()) // two of three are enough
	s.ring.Receivers[2].Start()
	say(t, "the receiver is back; killing collector 1")
	s.collectors[0].Kill()
	s.awaitAt(t, 1)
	s.collectors[0].Start()
	say(t, "collector 1 is back; the topology returns when it has been up for a minute")
	s.awaitAt(t, 0)
	end := time.Now()
	for worker, heap := range s.ofWorkers(t, "bullet_worker_heap_used_bytes", s.started, end) {
		first, last := heap.TimesMs[0], heap.TimesMs[len(heap.TimesMs)-1]
		if assert.Len(t, heap.TimesMs, int((last-first)/sliceWidth.Milliseconds())+1, "%s has a gap: %v", worker,
			heap.TimesMs) {
			say(t, "worker %s: %d slices of %v without a gap", worker, len(heap.TimesMs), sliceWidth)
		}
	}
	s.assertTotalsNeverFall(t)
	for worker, restarts := range s.restarts(t) {
		assert.Zero(t, float64(restarts), "restarts of %s", worker)
	}
	for _, name := range []string{catalog.CollectionSkew, catalog.CollectionWorkerMissing} {
		for worker, values := range s.ofWorkers(t, name, s.started, end) {
			for j, v := range values.Values {
				assert.Zero(t, float64(v), "%s of %s at %s", name, worker, time.UnixMilli(values.TimesMs[j]))
			}
		}
	}
	s.assertFired(t)
}

// assertFired finds that no alert but the watchdog was heard of, and that one once.
func (s *scaled) assertFired(t *testing.T) {
	t.Helper()
	fired := map[string]int{}
	for _, alert := range s.manager.Notifications() {
		// the machine may be slow
		assert.Contains(t, append([]string{watchdog}, latencyAlerts...), alert.Name(), "%v", alert)
		if alert.Status == "firing" {
			fired[fmt.Sprint(alert.Name(), alert.Labels)]++
		}
	}
	assert.NotEmpty(t, fired)
	for alert, times := range fired {
		assert.Equal(t, 1, times, alert)
		say(t, "fired once: %s", alert)
	}
}
