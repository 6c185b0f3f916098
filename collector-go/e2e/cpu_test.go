//go:build e2e

package e2e

import (
	"fmt"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// watch reads /proc/PID/stat until told to stop.
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

// The window and the tolerance. A slice's total is that of its last sample, which is up to a second older than the slice's end,
// so that both ends together may be off by a second of the window.
const (
	cpuWindow    = 80 * time.Second
	cpuTolerance = 0.02
	cpuGrain     = 20 * time.Millisecond
)

func cpuIsTheProcess(t *testing.T, b *bench) {
	pids := b.pids(t)
	from := nextSliceEnd(time.Now().Add(time.Second))
	to := from.Add(cpuWindow)
	watched, stop := map[string]*usage{}, make(chan struct{})
	var watchers sync.WaitGroup
	for worker, pid := range pids {
		u := new(usage)
		watched[worker] = u
		watchers.Go(func() { *u = watch(t, pid, cpuGrain, stop) })
	}
	waitUntil(t, to.Add(time.Second))
	close(stop)
	watchers.Wait()
	require.False(t, t.Failed())

	b.awaitSlices(t, "bullet_worker_cpu_seconds_total", "", to)
	series, err := b.slices(t.Context(), "bullet_worker_cpu_seconds_total", "", from, to)
	require.NoError(t, err)
	counted := map[string]float64{}
	for _, s := range series {
		last := len(s.Slices.TimesMs) - 1
		require.Equal(t, []int64{from.UnixMilli(), to.UnixMilli()}, []int64{s.Slices.TimesMs[0], s.Slices.TimesMs[last]}, "%v", s.Labels)
		counted[s.Labels["worker"]] += float64(s.Slices.Values[last] - s.Slices.Values[0])
	}
	for worker, u := range watched {
		kernel := u.at(to) - u.at(from)
		t.Logf("worker %s: counter %.2f s, /proc %.2f s in %s (%+.2f%%)", worker, counted[worker], kernel, cpuWindow, 100*(counted[worker]/kernel-1))
		assert.Greater(t, kernel, 1.0, "the worker does something")
		assert.InEpsilon(t, kernel, counted[worker], cpuTolerance, worker)
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
