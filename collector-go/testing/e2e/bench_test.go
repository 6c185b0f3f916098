//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/stack"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/alertmanagertest"
)

const (
	topology = "bullet-e2e"
	workers  = 2
	// a second: enough for each task to have some in every slice, little enough for a machine of which others have most
	recordRate = 100
	sliceWidth = 10 * time.Second
	// patience ends a test that hangs. What is waited for is an event: how long it takes states how busy the machine
	// is, and nothing of what is tested.
	patience = 10 * time.Minute
)

// What a machine that others have most of needs to do the same, only later.
var (
	patientTopology = []string{
		// The join bolt waits so many ticks of 100 ms for what filter bolts have of a query past its time; Bullet's 3
		// are short.
		"bullet.topology.join.bolt.query.post.finish.buffer.ticks=30",
		// A worker that did not say for 30 s that it lives is ended by Storm. One that was killed is seen to have ended
		// at once.
		"bullet.topology.custom.topology.worker.timeout.secs=300",
		// Storm's counts are held against the hook's: exact ones, not an estimate from one tuple in twenty.
		"bullet.topology.custom.topology.stats.sample.rate=1.0",
	}
	// An answer may come two minutes after its time.
	patientGateway = []string{"--grace-ms", "120000"}
)

// bench is a running stack with what the tests ask it with.
type bench struct {
	*stack.Stack
	options   stack.Options
	collector *measure.Collector
	gateway   *load.Gateway
	manager   *alertmanagertest.Alertmanager
	nimbus    *nimbusRelay
	started   time.Time

	workerKilledAt time.Time
	slowedAt       time.Time     // when the topology was killed that had bolts awake
	queriesTook    time.Duration // the slowest of the held ones, as its client saw it
	inVain         []string      // what was waited for too long
}

// root is the repository's root.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../..")
	require.NoError(t, err)
	return dir
}

// buildDir is where make build has left the parts, unless BULLET_METRICS_BUILD names another place.
func buildDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("BULLET_METRICS_BUILD"); dir != "" {
		return dir
	}
	return filepath.Join(root(t), "build")
}

// firstPort is above the ports that Linux gives to outgoing connections by default (up to 60,999), and above those of
// the launchers of Storm and Kafka.
const firstPort = 61_000

// ports counts the ports that freeAddress has tried.
var ports atomic.Int32

// freeAddress returns a loopback address on which nothing listens. It returns each address once, so that tests that
// run at the same time do not get the same one, although they listen on theirs later.
func freeAddress(t *testing.T) string {
	t.Helper()
	const all = 65_536 - firstPort
	for range all {
		n := os.Getpid() + int(ports.Add(1))
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+n%all))
		if err == nil {
			defer listener.Close()
			return listener.Addr().String()
		}
	}
	require.Fail(t, "no port is free")
	return ""
}

// startBench starts collector, cluster and gateway, submits the topology, and returns when both workers report.
func startBench(t *testing.T) *bench {
	t.Helper()
	o := stack.DefaultOptions(filepath.Join(t.TempDir(), "run"), buildDir(t))
	o.Topology, o.Workers, o.Settings, o.GatewayFlags = topology, workers, patientTopology, patientGateway
	o.BulletConf = filepath.Join(root(t), o.BulletConf)
	o.GRPCListen, o.HTTPListen, o.GatewayListen = freeAddress(t), freeAddress(t), freeAddress(t)
	manager := alertmanagertest.Start(t)
	withAlerts(t, &o, manager)
	relay := newNimbusRelay(t)
	o.CollectorFlags = append(o.CollectorFlags, "--nimbus-addresses", relay.address)
	s, err := stack.Enter(t.Context(), o, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	b := &bench{Stack: s, options: o, gateway: load.NewGateway(o.GatewayListen, 20), manager: manager, nimbus: relay,
		started: time.Now()}
	t.Cleanup(func() {
		b.stop(t)
		for _, what := range b.inVain { // again, below the logs of all processes
			t.Logf("waited too long for %s", what)
		}
	})
	b.collector, err = measure.NewCollector(o.HTTPListen, measure.CollectorAccess{})
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	require.NoError(t, s.Submit(t.Context()))
	b.await(t, "the record source", func(ctx context.Context) bool {
		status, err := b.gateway.Status(ctx)
		return err == nil && status.Reporting > 0 && status.Emitted > 0
	})
	require.NoError(t, b.gateway.SetControl(t.Context(), load.Control{RecordsPerSecond: recordRate}))
	b.await(t, "two workers' CPU slices", func(ctx context.Context) bool { return len(b.workersAt(ctx, t)) >= workers })
	t.Logf("the stack is up and measured after %s", time.Since(b.started).Round(time.Second))
	return b
}

// stop ends the stack; it may be called twice. What the processes said is shown where the test failed.
func (b *bench) stop(t *testing.T) {
	if b.Stack == nil {
		return
	}
	if err := b.Stop(nil); err != nil {
		t.Errorf("stop the stack: %v", err)
	}
	b.gateway.Close()
	b.Stack = nil
	if t.Failed() {
		b.showLogs(t)
	}
}

func (b *bench) showLogs(t *testing.T) {
	logs, _ := filepath.Glob(filepath.Join(b.options.Dir, "logs", "*.log"))
	for _, path := range logs {
		text, _ := os.ReadFile(path)
		t.Logf("%s:\n%s", path, text[max(0, len(text)-4000):])
	}
}

// await polls until a condition holds, and fails the test when that takes too long.
func (b *bench) await(t *testing.T, what string, holds func(context.Context) bool) {
	t.Helper()
	limit := patience
	if inFullTime() {
		limit *= 4
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for !holds(ctx) {
		select {
		case <-ticker.C:
		case err := <-b.Failed():
			require.NoError(t, err)
		case <-ctx.Done():
			b.inVain = append(b.inVain, what)
			require.Failf(t, "waited too long", "for %s: %v", what, ctx.Err())
		}
	}
}

func selector(metric, matchers string) string {
	return fmt.Sprintf("%s{topology=%s%s}", metric, strconv.Quote(topology), matchers)
}

// slices reads what is stored with ends in [from, to].
func (b *bench) slices(ctx context.Context, metric, matchers string, from, to time.Time) ([]measure.Series, error) {
	return b.collector.Slices(ctx, selector(metric, matchers), from.Add(-time.Millisecond), to)
}

// workersAt are the workers that have reported CPU since the stack's start.
func (b *bench) workersAt(ctx context.Context, t *testing.T) map[string]bool {
	found := map[string]bool{}
	series, err := b.slices(ctx, "bullet_worker_cpu_seconds_total", "", b.started, time.Now())
	if err != nil {
		t.Logf("not yet: %v", err)
	}
	for _, s := range series {
		found[s.Labels["worker"]] = true
	}
	return found
}

// awaitSlices waits until every series of a metric has a slice that ends at end or later.
func (b *bench) awaitSlices(t *testing.T, metric, matchers string, end time.Time) {
	t.Helper()
	b.await(t, fmt.Sprintf("slices of %s up to %s", metric, end), func(ctx context.Context) bool {
		newest, err := b.collector.Newest(ctx, selector(metric, matchers), time.Now())
		if err != nil || len(newest) == 0 {
			return false
		}
		for _, s := range newest {
			if s.EndMs < end.UnixMilli() {
				return false
			}
		}
		return true
	})
}

// nextSliceEnd is the first slice end after t.
func nextSliceEnd(t time.Time) time.Time { return t.Truncate(sliceWidth).Add(sliceWidth) }

// waitUntil waits for a moment: the tests measure over time.
func waitUntil(t *testing.T, moment time.Time) {
	t.Helper()
	select {
	case <-time.After(time.Until(moment)):
	case <-t.Context().Done():
		require.NoError(t, t.Context().Err())
	}
}
