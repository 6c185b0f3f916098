package runner_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// described is a world whose topologies report their configuration: a heap of 96 MiB times the trial's number.
type described struct {
	*world
	silent bool
}

func (w *described) Launch(ctx context.Context, t runstore.PlannedTrial, name string) (*runner.Launched, error) {
	launched, err := w.world.Launch(ctx, t, name)
	if err == nil {
		launched.Ports.Facts, launched.Ports.Calculator = w, w
	}
	return launched, err
}

func (w *described) heapMiB(name string) int {
	if strings.Contains(name, "-01") {
		return 96
	}
	return 384
}

func (w *described) Topology(_ context.Context, name string) (t measure.Topology, err error) {
	if w.silent {
		return t, errors.New("connection refused")
	}
	t.Name, t.ID, t.Versions.Storm, t.Versions.Bullet, t.Versions.Java = name, name+"-1", "2.8.4", "1.5.2", "17.0.9"
	t.Settings = map[string]string{"worker.childopts": "-Xmx512m",
		"topology.worker.childopts": map[int]string{96: "-XX:+UseSerialGC -Xmx96m",
			384: "-XX:+UseG1GC -Xmx384m"}[w.heapMiB(name)]}
	return t, nil
}

func (w *described) Calculate(_ context.Context, expression string, _ time.Time) (tuning.Figure, error) {
	name := topologyIn.FindStringSubmatch(expression)
	if name == nil || !strings.Contains(expression, "bullet_worker_heap_limit_bytes") {
		return 0, nil
	}
	return tuning.Figure(w.heapMiB(name[1]) << 20), nil
}

// describe runs an experiment with two configurations.
func describe(t *testing.T, w *described) *runstore.Run {
	t.Helper()
	dir := begin(t, grid)
	run, err := runstore.Read(dir)
	require.NoError(t, err)
	writer, err := runstore.Open(dir)
	require.NoError(t, err)
	defer writer.Close()
	_, err = runner.New(runner.Options{Lateness: 2 * time.Second}, run, writer, w, &journal{}).Run(t.Context())
	require.NoError(t, err)
	return reread(t, dir)
}

// Each trial keeps what its own topology reported, so that the two heaps of Test 4 differ.
func TestEachTrialKeepsWhatItsTopologyReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &described{world: newWorld()}
		w.capacity["bolts 1"], w.capacity["bolts 2"] = 35, 1000
		run := describe(t, w)
		for i, want := range []struct {
			heap, gc, limit string
			flags           string
		}{{"-Xmx96m", "-XX:+UseSerialGC", "96 MiB", "-Xmx512m -XX:+UseSerialGC -Xmx96m"},
			{"-Xmx384m", "-XX:+UseG1GC", "384 MiB", "-Xmx512m -XX:+UseG1GC -Xmx384m"}} {
			reported, err := run.Trials[i].ReportedConfig()
			require.NoError(t, err)
			require.NotNil(t, reported)
			assert.Equal(t, []string{want.heap, want.gc, want.flags},
				[]string{reported.HeapFlags, reported.GCFlags, reported.WorkerFlags})
			assert.Equal(t, "2.8.4", reported.Storm)
			values, err := run.Values(run.Trials[i])
			require.NoError(t, err)
			assert.Equal(t, []string{want.heap, want.gc, want.limit},
				[]string{values["worker.heap_flags"], values["worker.gc_flags"], values["worker.heap_limit"]})
		}
		assert.Equal(t, "2.8.4", run.Manifest.Versions.Storm)
		assert.Equal(t, "-XX:+UseSerialGC", run.Manifest.GCFlags, "the first that reported")
	})
}

// A topology that breaks is asked too, and an unreachable collector delays nothing.
func TestABrokenTopologyIsAskedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &described{world: newWorld()}
		w.broken["bolts 2"], w.mute = errors.New("no slot"), true
		run := describe(t, w)
		assert.Equal(t, runstore.Failed, run.Trials[0].State)
		assert.FileExists(t, filepath.Join(run.Trials[0].Dir, runstore.ReportedConfigFile))
		assert.Equal(t, runstore.Failed, run.Trials[1].State)
		assert.NoFileExists(t, filepath.Join(run.Trials[1].Dir, runstore.ReportedConfigFile))
	})
	synctest.Test(t, func(t *testing.T) {
		w := &described{world: newWorld(), silent: true}
		w.capacity["bolts 1"], w.capacity["bolts 2"] = 35, 1000
		run := describe(t, w)
		reported, err := run.Trials[0].ReportedConfig()
		require.NoError(t, err)
		assert.Nil(t, reported)
	})
}
