package registry

import (
	"cmp"
	"container/heap"
)

// leavers holds the workers of a run that may be forgotten to make room for others. The one that left first is in
// front. A full run thereby finds it without a scan of all workers, of which a sender can name thousands in a batch.
type leavers struct {
	heap  leaverHeap
	begun bool // set when room is first needed; nothing is recorded before
}

// leaver is a worker with the time at which it left. The entry is valid only while the worker has not returned or left
// again.
type leaver struct {
	leftMs int64
	*worker
}

// forgettable reports whether a worker may be forgotten: it has left, and no task points at it.
func (w *worker) forgettable() bool { return !w.present && w.tasks == 0 && !w.forgotten }

// add records a worker that may now be forgotten. It does nothing until the run was full for the first time.
func (l *leavers) add(w *worker) {
	if l.begun && w.forgettable() {
		heap.Push(&l.heap, leaver{w.leftMs, w})
	}
}

// next removes and returns the worker that left first, or nil if none may be forgotten. It skips entries that are no
// longer valid. If there are more than two entries per worker, it builds the heap again from all workers.
func (l *leavers) next(all map[place]*worker) *worker {
	if !l.begun || len(l.heap) > 2*len(all) { // most entries are out of date
		l.begun, l.heap = true, l.heap[:0]
		for _, w := range all {
			if w.forgettable() {
				l.heap = append(l.heap, leaver{w.leftMs, w})
			}
		}
		heap.Init(&l.heap)
	}
	for len(l.heap) > 0 {
		first := heap.Pop(&l.heap).(leaver)
		if first.forgettable() && first.leftMs == first.worker.leftMs {
			return first.worker
		}
	}
	return nil
}

// leaverHeap implements heap.Interface. Equal times are ordered by place, so that a replay forgets the same workers.
type leaverHeap []leaver

func (h leaverHeap) Len() int      { return len(h) }
func (h leaverHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *leaverHeap) Push(x any)   { *h = append(*h, x.(leaver)) }

func (h leaverHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].leftMs, h[j].leftMs), comparePlaces(h[i].place, h[j].place)) < 0
}

func (h *leaverHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = leaver{}
	*h = (*h)[:last]
	return x
}
