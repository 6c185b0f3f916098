package part

import (
	"cmp"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// MaxRunSlots limits the length of the runs that Merge and Join make, and thereby the memory for reading one run.
const MaxRunSlots = 8192

// maxGap is the largest number of slots without a slice over which runs are joined. Absent slots take memory too.
const maxGap = 512

// Join merges the runs of one series from several sources, oldest first. Each list must be as run.Reader returns it. If
// two have a slice of one kind at one time, the older one stays. Runs with the same distance and phase are joined up to
// MaxRunSlots, even over gaps of up to maxGap slots. Join does not change its arguments, but the result may share
// memory with them.
func Join(lists ...[]run.Run) []run.Run {
	all := make([]run.Run, 0, 2*len(lists))
	for _, list := range lists {
		older := len(all)
		for _, r := range list {
			if r.Slots() == 0 {
				continue
			}
			for i := range all[:older] {
				without(&r, &all[i])
			}
			all = append(all, r)
		}
	}
	// The order is by kind, distance and phase, and then by time.
	slices.SortStableFunc(all, func(a, b run.Run) int {
		return cmp.Or(cmp.Compare(kind(&a), kind(&b)), cmp.Compare(a.StepMs, b.StepMs),
			cmp.Compare(phase(&a), phase(&b)), cmp.Compare(a.FirstMs, b.FirstMs))
	})
	joined := all[:0]
	for from := 0; from < len(all); {
		n, slots := joinable(all[from:])
		joined = append(joined, join(all[from:from+n], slots))
		from += n
	}
	slices.SortStableFunc(joined, byFirst)
	return joined
}

// kind returns 0 for numbers and 1 for distributions. A slice of one kind never replaces one of the other.
func kind(r *run.Run) int {
	if r.Values == nil {
		return 1
	}
	return 0
}

// phase returns the remainder of the slots' times divided by the distance.
func phase(r *run.Run) int64 { return ((r.FirstMs % r.StepMs) + r.StepMs) % r.StepMs }

// without removes from r the slices at times at which an older run of its kind has one. It copies the presence before
// the first change, because that of the run belongs to its source.
func without(r, older *run.Run) {
	if kind(r) != kind(older) || r.LastMs() < older.FirstMs || r.FirstMs > older.LastMs() {
		return
	}
	owned := false
	for i := range r.Slots() {
		ms := r.FirstMs + int64(i)*r.StepMs
		if ms < older.FirstMs || ms > older.LastMs() || (ms-older.FirstMs)%older.StepMs != 0 || !r.Has(i) {
			continue
		}
		if !older.Has(int((ms - older.FirstMs) / older.StepMs)) {
			continue
		}
		if !owned {
			owned = true
			r.Present = allBits(r)
		}
		r.Present[i>>6] &^= 1 << (i & 63)
	}
}

// allBits returns a copy of the run's presence that may be changed. If Present is nil, all bits are set.
func allBits(r *run.Run) []uint64 {
	bits := make([]uint64, (r.Slots()+63)/64)
	orBits(bits, 0, r.Present, r.Slots())
	return bits
}

// joinable returns how many runs from the front are joined into one, and how many slots that has. They have the same
// distance, phase and kind, and no gap of more than maxGap slots between them.
func joinable(all []run.Run) (n, slots int) {
	first := &all[0]
	slots = first.Slots()
	for n = 1; n < len(all); n++ {
		next := &all[n]
		if kind(next) != kind(first) || next.StepMs != first.StepMs || phase(next) != phase(first) {
			break
		}
		from := (next.FirstMs - first.FirstMs) / first.StepMs
		if from > int64(slots+maxGap) || from+int64(next.Slots()) > MaxRunSlots {
			break
		}
		slots = max(slots, int(from)+next.Slots())
	}
	return n, slots
}

// join joins runs that have no two slices at one time. It returns a single run without copying it. Presence is nil if
// the runs follow each other without a gap.
func join(all []run.Run, slots int) run.Run {
	first := all[0]
	if len(all) == 1 {
		return first
	}
	to := run.Run{FirstMs: first.FirstMs, StepMs: first.StepMs}
	dense := true // no slots are missing or doubled
	next := 0
	for i := range all {
		at := int((all[i].FirstMs - to.FirstMs) / to.StepMs)
		dense = dense && at == next && all[i].Present == nil
		next = at + all[i].Slots()
	}
	if !dense {
		to.Present = make([]uint64, (slots+63)/64)
	}
	if first.Values != nil {
		to.Values = make([]float64, slots)
	} else {
		to.Histograms = make([]*histogram.Histogram, slots)
	}
	for i := range all {
		r := &all[i]
		at := int((r.FirstMs - to.FirstMs) / to.StepMs)
		copyRun(to.Values, r.Values, at, r)
		copyRun(to.Histograms, r.Histograms, at, r)
		if !dense {
			orBits(to.Present, at, r.Present, r.Slots())
		}
	}
	return to
}

// copyRun copies the slices of a run into a longer one, from slot at on.
func copyRun[T any](to, from []T, at int, r *run.Run) {
	if r.Present == nil {
		copy(to[min(at, len(to)):], from)
		return
	}
	for i := range from {
		if r.Has(i) {
			to[at+i] = from[i]
		}
	}
}
