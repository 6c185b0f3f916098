package registry

import (
	"cmp"
	"container/heap"
)

// leavers are the workers of a run that may make room for others, the one that left first in front: a run that is full
// finds it without a look at all workers, of which a sender can name thousands in a batch.
type leavers struct {
	heap  leaverHeap
	begun bool // nothing is noted before the first time that room is needed
}

// leaver is a worker as it was noted. It counts only while the worker still is as it was then.
type leaver struct {
	leftMs int64
	*worker
}

// makesRoom reports whether a worker may be forgotten: it has left, and no task points at it.
func (w *worker) makesRoom() bool { return !w.present && w.tasks == 0 && !w.forgotten }

// add notes a worker that may be forgotten from now on. Until a run was full for the first time this costs nothing.
func (l *leavers) add(w *worker) {
	if l.begun && w.makesRoom() {
		heap.Push(&l.heap, leaver{w.leftMs, w})
	}
}

// next removes and returns the worker that left first, or nil if none may be forgotten. Entries that no longer hold are
// skipped; when they are the majority, the heap is built again from all workers.
func (l *leavers) next(all map[place]*worker) *worker {
	if !l.begun || len(l.heap) > 2*len(all) { // what is noted is mostly out of date
		l.begun, l.heap = true, l.heap[:0]
		for _, w := range all {
			if w.makesRoom() {
				l.heap = append(l.heap, leaver{w.leftMs, w})
			}
		}
		heap.Init(&l.heap)
	}
	for len(l.heap) > 0 {
		first := heap.Pop(&l.heap).(leaver)
		if first.makesRoom() && first.leftMs == first.worker.leftMs {
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
