//go:build e2e

package e2e

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
)

// usage is the CPU time of a process by the kernel's own account, over time.
type usage struct {
	times   []time.Time
	seconds []float64
}

// at is the CPU time at a moment between two readings.
func (u usage) at(moment time.Time) float64 {
	i := sort.Search(len(u.times), func(i int) bool { return !u.times[i].Before(moment) })
	if i == 0 || i == len(u.times) {
		panic("the moment is outside of what was watched")
	}
	share := moment.Sub(u.times[i-1]).Seconds() / u.times[i].Sub(u.times[i-1]).Seconds()
	return u.seconds[i-1] + share*(u.seconds[i]-u.seconds[i-1])
}

// watch reads /proc/PID/stat until it is to stop.
func watch(t *testing.T, pid int, every time.Duration, stop <-chan struct{}) usage {
	var u usage
	process, err := procfs.NewProc(pid)
	if !assert.NoError(t, err) {
		return u
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		stat, err := process.Stat()
		if !assert.NoError(t, err, "worker %d ended while it was watched", pid) {
			return u
		}
		u.times, u.seconds = append(u.times, time.Now()), append(u.seconds, stat.CPUTime())
		select {
		case <-ticker.C:
		case <-stop:
			return u
		}
	}
}

// How often the kernel is asked, between which what it says is known, and how far it may be from what is counted since
// the process' start: the kernel counts in hundredths of a second.
const (
	cpuGrain = 20 * time.Millisecond
	cpuApart = 0.05 // seconds
)

// watchedCPU is what the kernel said of each worker for a while, and what is stored of that time.
type watchedCPU struct {
	from, to time.Time // ends of slices
	kernel   map[string]*usage
	stored   []measure.Series

	stop     chan struct{}
	watchers sync.WaitGroup
}

// watchCPU begins to keep what the kernel says of the workers, beside what else is measured. Both that and what is
// stored are held against the samplers' own samples when the journal can be read: a sample has its time, of which a
// slice returns false more than that it is in it.
func (b *bench) watchCPU(t *testing.T) *watchedCPU {
	t.Helper()
	pids := b.pids(t)
	w := &watchedCPU{from: nextSliceEnd(time.Now().Add(time.Second)), kernel: map[string]*usage{},
		stop: make(chan struct{})}
	for worker, pid := range pids {
		u := new(usage)
		w.kernel[worker] = u
		w.watchers.Go(func() { *u = watch(t, pid, cpuGrain, w.stop) })
	}
	return w
}

// end ends the watching with the slice that ended last.
func (w *watchedCPU) end(t *testing.T, b *bench) {
	t.Helper()
	w.to = time.Now().Truncate(sliceWidth)
	close(w.stop)
	w.watchers.Wait()
	require.Greater(t, w.to.Sub(w.from), sliceWidth)
	b.awaitSlices(t, "bullet_worker_cpu_seconds_total", "", w.to)
	var err error
	w.stored, err = b.slices(t.Context(), "bullet_worker_cpu_seconds_total", "", w.from.Add(sliceWidth), w.to)
	require.NoError(t, err)
}

// cpuIsTheProcess finds in the samplers' samples the CPU time that the kernel said at their times, and in each stored
// total one of its slice's samples.
func cpuIsTheProcess(t *testing.T, b *bench, watched *watchedCPU) {
	k := readJournal(t, b.options.DataDir)
	totals := map[string]map[int64]float64{} // by worker and time, user and system
	modes := map[string]map[string][]sampled{}
	for series, all := range k.samples {
		mode := map[string]string{"cpu.user_ms": "user", "cpu.system_ms": "system"}[series.Name]
		worker := fmt.Sprintf("%s:%d", series.Host, series.Port)
		if mode == "" || series.Topology != topology {
			continue
		}
		if totals[worker] == nil {
			totals[worker], modes[worker] = map[int64]float64{}, map[string][]sampled{}
		}
		for _, s := range all {
			totals[worker][s.timeMs] += s.value / 1000
		}
		modes[worker][mode] = all
	}
	for worker, u := range watched.kernel {
		var apart []float64
		for timeMs, total := range totals[worker] {
			if at := time.UnixMilli(timeMs); at.After(watched.from) && at.Before(watched.to) {
				apart = append(apart, u.at(at)-total)
			}
		}
		require.Greater(t, len(apart), 5, worker)
		slices.Sort(apart)
		// One that is paused between its reading and its looking at the clock is behind; the one in the middle is not.
		middle, whole := apart[len(apart)/2], u.at(watched.to)
		t.Logf("worker %s: %.2f s of CPU by /proc, its %d samples %.3f s behind in the middle, %.3f to %.3f s", worker,
			whole, len(apart), middle, apart[0], apart[len(apart)-1])
		assert.Greater(t, whole-u.at(watched.from), 1.0, "the worker does something")
		assert.InDelta(t, 0, middle, cpuApart, worker)
	}
	require.NotEmpty(t, watched.stored)
	for _, s := range watched.stored {
		require.NotEmpty(t, s.Slices.TimesMs, "%v", s.Labels)
		for i, endMs := range s.Slices.TimesMs {
			sample := slices.IndexFunc(modes[s.Labels["worker"]][s.Labels["mode"]], func(j sampled) bool {
				return j.timeMs > endMs-sliceWidth.Milliseconds() && j.timeMs <= endMs &&
					math.Abs(j.value/1000-float64(s.Slices.Values[i])) < 1e-6
			})
			assert.GreaterOrEqual(t, sample, 0, "%v says %v at %d, and none of its samples", s.Labels,
				s.Slices.Values[i], endMs)
		}
	}
}

// pids are the workers' processes as the collector knows them; they must be those that the machine has.
func (b *bench) pids(t *testing.T) map[string]int {
	t.Helper()
	processes, err := b.Workers(t.Context())
	require.NoError(t, err)
	series, err := b.slices(t.Context(), "bullet_worker_info", "", time.Now().Add(-time.Minute), time.Now())
	require.NoError(t, err)
	pids := map[string]int{}
	for _, s := range series {
		for _, p := range processes {
			if fmt.Sprint(p.Pid) == s.Labels["pid"] {
				pids[s.Labels["worker"]] = p.Pid
			}
		}
	}
	require.Len(t, pids, workers, "bullet_worker_info says %v, the machine has %v", series, processes)
	return pids
}
