package registry

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// The worker that is forgotten must be the one that a scan of all workers finds, whatever joined, left and moved
// before.
func TestTheWorkerThatLeftFirstMakesRoom(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 5))
		o := DefaultOptions("x")
		o.Limits.Workers = 12
		s := newState(o.Limits, o.Times)
		r := newRun("t", "t-1", t0)
		forgotten := 0
		for step := range int64(2000) {
			s.clockMs = t0 + step*1000
			at := place{fmt.Sprintf("h%d", random.IntN(30)), 6700}
			var want *worker
			if r.workers[at] == nil && len(r.workers) == o.Limits.Workers && !r.crowded {
				for _, w := range r.workers {
					if !w.present && w.tasks == 0 && (want == nil ||
						cmp.Or(cmp.Compare(w.leftMs, want.leftMs), comparePlaces(w.place, want.place)) < 0) {
						want = w
					}
				}
			}
			w := r.worker(at, s)
			if want != nil {
				forgotten++
				require.True(t, want.forgotten, "seed %d, step %d", seed, step)
				require.NotContains(t, r.workers, want.place)
			}
			switch {
			case w == nil:
			case random.IntN(3) == 0:
				r.place(int32(random.IntN(8)), "", w, s.clockMs, s)
			case w.present && w.tasks == 0 && random.IntN(2) == 0:
				r.leave(w, s.clockMs, s)
			case !w.present && random.IntN(3) == 0:
				r.join(w, s.clockMs, s)
			}
		}
		require.Greater(t, forgotten, 20, "seed %d", seed)
	}
}

// A placement change that never ends records at most twice as many workers as a run may have.
func TestEndlessPlacementChangesAreBounded(t *testing.T) {
	o := DefaultOptions("x")
	o.Limits.Workers = 8
	s := newState(o.Limits, o.Times)
	s.clockMs = t0
	r := newRun("t", "t-1", t0)
	r.changing(t0, s)
	for i := range 100 {
		w := r.worker(place{fmt.Sprintf("h%d", i), 6700}, s)
		require.NotNil(t, w)
		r.join(w, t0+int64(i), s)
		r.leave(w, t0+int64(i), s)
	}
	assert.Len(t, r.placementChange.was, 2*o.Limits.Workers)
	assert.EqualValues(t, 100-8, s.dropped["workers"])
}

// The time that a sender's notes take is bounded. 40,960 unknown workers must not take longer than known ones would. It
// once took 18 s.
func TestNewWorkersAreCheap(t *testing.T) {
	o := DefaultOptions("x")
	s := newState(o.Limits, o.Times)
	s.apply(&journal.ProducerDefined{ID: 1, Topology: "t", TopologyID: "t-1-1799999990", Host: "w", Port: 6700, Task: 5})
	begun := time.Now()
	for batch := range int64(10) {
		notes := &bulletmetricsv1.Batch{}
		for i := range o.Limits.Workers {
			notes.Workers = append(notes.Workers,
				&bulletmetricsv1.WorkerInfo{Host: fmt.Sprintf("h-%d-%d", batch, i), Port: 6700})
		}
		s.apply(&journal.Batch{Producer: 1, Sequence: uint64(batch + 1), SentMs: t0, ReceivedMs: t0, Notes: notes})
	}
	assert.Less(t, time.Since(begun), 5*time.Second)
}
