//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/alertmanagertest"
)

// The causes: as many topologies as there are phases of tick, slice and evaluation to be tried, spread over the time in
// which all repeat. With 25, each has a time of its own since its topology's last report, and since the slice began.
const (
	causes       = 25
	phasesRepeat = 10 * time.Second // slices of 10 s, evaluations each 10 s
	reported     = 10 * time.Second // Bullet's own interval
	warmUp       = 45 * time.Second
	recordsASec  = 100
	fastSeconds  = 0.005
	slowSeconds  = 0.75
	delayGoal    = 45 * time.Second // and the alert's "for"
)

// How late alerts are with the settings and rules as they come: from the first slowed record, and from the last sample,
// to what a real Alertmanager notifies people. It takes ten minutes, so that make bench-alerts alone runs it. What the
// plugin would send of a topology each 10 s is made up here, the collector and all behind it is real.
func TestDelayOfAlerts(t *testing.T) {
	if !inFullTime() {
		t.Skip("make bench-alerts runs it")
	}
	manager := alertmanagertest.Start(t)
	address := serve(t, manager.URL)
	base := time.Now().Add(warmUp)
	var all []*slowing
	for i := range causes {
		all = append(all, slow(t, address, fmt.Sprintf("topology-%02d", i), time.Duration(i*7%causes)*reported/causes,
			base.Add(time.Duration(i)*phasesRepeat/causes)))
	}
	began := func(s *slowing) time.Time { return s.cause }
	measureDelays(t, manager, meanAlert, all, began)
	measureDelays(t, manager, p99Alert, all, began)

	base = time.Now()
	var silencers sync.WaitGroup
	for i, s := range all {
		silencers.Go(func() {
			<-time.After(time.Until(base.Add(time.Duration(i) * phasesRepeat / causes)))
			s.silence()
		})
	}
	silencers.Wait()
	measureDelays(t, manager, blindAlert, all, func(s *slowing) time.Time { return s.last })
	for _, a := range manager.Notifications() {
		assert.Equal(t, "firing", a.Status, "%v", a.Labels)
	}
}

// serve runs a collector with the settings as they come, but for where it listens and whom it notifies.
func serve(t *testing.T, manager string) (grpc string) {
	t.Helper()
	grpc, http := freeAddress(t), freeAddress(t)
	cmd := exec.Command(filepath.Join(buildDir(t), "bullet-metrics"), "serve", "--data-dir", t.TempDir(),
		"--grpc-listen", grpc, "--http-listen", http,
		"--alertmanager-urls", manager)
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		assert.NoError(t, cmd.Wait())
	})
	require.Eventually(t, func() bool { return isReady(http) }, time.Minute, 20*time.Millisecond)
	return grpc
}

// slowing is a topology whose records are slow from its cause on.
type slowing struct {
	topology    string
	phase       time.Duration // of its reports in Bullet's interval
	cause, last time.Time
	stop        context.CancelFunc
	running     sync.WaitGroup
	fast, slow  uint64
	batches     uint64
}

// slow runs a topology until it is silenced. It has one task of the plugin, as the first batch states.
func slow(t *testing.T, address, topology string, phase time.Duration, cause time.Time) *slowing {
	t.Helper()
	var ctx context.Context
	s := &slowing{topology: topology, phase: phase, cause: cause}
	ctx, s.stop = context.WithCancel(context.Background())
	t.Cleanup(s.silence)
	stream, err := sender.Dial(ctx, address, "", &pb.Open{Topology: topology, Host: "host", Port: 6700, Task: 1},
		func(*pb.ExportResponse) {}, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	s.running.Go(func() {
		defer stream.Close()
		for at := time.Now().Truncate(reported).Add(reported + phase); ; at = at.Add(reported) {
			select {
			case <-time.After(time.Until(at)):
				assert.NoError(t, stream.Send(s.report(at)))
				s.last = at
			case <-ctx.Done():
				return
			}
		}
	})
	return s
}

// silence ends the topology's samples; it may be called twice.
func (s *slowing) silence() {
	s.stop()
	s.running.Wait()
}

// report is what the plugin tells of the interval that ended at a time: Bullet's mean, the heap, the hook's histogram.
func (s *slowing) report(at time.Time) *pb.Batch {
	slowed := min(max(at.Sub(s.cause), 0), reported).Seconds()
	mean := (slowed*slowSeconds + (reported.Seconds()-slowed)*fastSeconds) / reported.Seconds()
	s.slow += uint64(slowed * recordsASec)
	s.fast += uint64((reported.Seconds() - slowed) * recordsASec)
	s.batches++
	b := &pb.Batch{Epoch: make([]byte, 16), Sequence: s.batches,
		Samples: &pb.SampleColumns{BaseTimeMs: at.UnixMilli(), SeriesIds: []uint32{1, 2}, TimeOffsetsMs: []int64{0, 0},
			Values: []float64{mean * 1000, 100 << 20}},
		// Of schema 0, bucket -7 ends at 8 ms and bucket 0 at 1 s.
		Histograms: []*pb.HistogramSample{{SeriesId: 3, TimeMs: at.UnixMilli(), ZeroThreshold: 0.0005,
			Count: s.fast + s.slow, Sum: float64(s.fast)*fastSeconds + float64(s.slow)*slowSeconds,
			PositiveSpans:  []*pb.BucketSpan{{Offset: -7, Length: 1}, {Offset: 6, Length: 1}},
			PositiveCounts: []uint64{s.fast, s.slow}}}}
	if s.batches > 1 {
		return b
	}
	consumer := "__metrics_io.github.bulletmetrics.storm.StormMetricsConsumer"
	b.Topology = &pb.TopologyInfo{Name: s.topology, StormVersion: "2.8.3", Components: []*pb.ComponentInfo{
		{Name: consumer, Tasks: []int32{1}}, {Name: "FilterBolt", Tasks: []int32{2}}}}
	define := func(id uint32, component string, task int32, name string, shape pb.Shape, temporality pb.Temporality) {
		b.Series = append(b.Series, &pb.SeriesDefinition{Id: id, Host: "host", Port: 6700, Component: component, Task: task,
			Name: name, Shape: shape, Temporality: temporality, IntervalMs: uint32(reported.Milliseconds())})
	}
	define(1, "FilterBolt", 2, "bullet_filter_latency", pb.Shape_SHAPE_NUMBER, pb.Temporality_TEMPORALITY_GAUGE)
	define(2, "__system", -1, "memory.heap.used", pb.Shape_SHAPE_NUMBER, pb.Temporality_TEMPORALITY_GAUGE)
	define(3, "FilterBolt", 2, "bullet_filter_latency_seconds", pb.Shape_SHAPE_HISTOGRAM,
		pb.Temporality_TEMPORALITY_CUMULATIVE)
	return b
}

// measureDelays waits until each topology's alert was notified, and prints how long after its beginning.
func measureDelays(t *testing.T, manager *alertmanagertest.Alertmanager, name string, all []*slowing,
	began func(*slowing) time.Time) {
	t.Helper()
	heard := map[string]alertmanagertest.Alert{}
	require.Eventually(t, func() bool {
		for _, a := range manager.Notifications() {
			if _, before := heard[a.Labels["topology"]]; a.Name() == name && !before {
				heard[a.Labels["topology"]] = a
			}
		}
		return len(heard) == len(all)
	}, 10*time.Minute, 100*time.Millisecond, name)
	i := slices.IndexFunc(alertrules.Alerts(), func(a alertrules.Alert) bool { return a.Name == name })
	lasts := alertrules.Alerts()[i].For
	var delays []time.Duration
	for _, s := range all {
		delay := heard[s.topology].Heard.Sub(began(s))
		delays = append(delays, delay)
		sinceReport := began(s).Sub(began(s).Truncate(reported).Add(s.phase - reported))
		t.Logf("%s, %s: from %4.1f s into a report's interval and %4.1f s into a slice, notified after %5.1f s",
			name, s.topology,
			(sinceReport % reported).Seconds(), began(s).Sub(began(s).Truncate(sliceWidth)).Seconds(), delay.Seconds())
	}
	slices.Sort(delays)
	load, _ := os.ReadFile("/proc/loadavg")
	t.Logf("%s: %d causes, notified after %.1f s at best, %.1f s in the middle, %.1f s at worst, \"for\" of %.0f s in it; load %s",
		name, len(delays),
		delays[0].Seconds(), delays[len(delays)/2].Seconds(), delays[len(delays)-1].Seconds(), lasts.Seconds(), load)
	if name != blindAlert {
		assert.LessOrEqual(t, delays[len(delays)-1], delayGoal+lasts, name)
	}
}
