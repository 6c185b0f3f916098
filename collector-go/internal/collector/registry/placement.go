package registry

import (
	"cmp"
	"slices"
	"time"
)

// KilledTag is the tag of an annotation that reports that a topology was killed on purpose, at the annotation's time.
// Whoever kills one sets it (the trials of "tune" do, and what looks at Nimbus), and it holds for the run that ran
// then.
const KilledTag = "killed"

// killLasts is how long a topology may be heard after the time at which it was killed: storm kill lets it work on for
// as long as its option -w sets. One that is heard still later was not killed.
const killLasts = 10 * time.Minute

// Ending is how a topology ended, as far as anybody said.
type Ending string

// The endings.
const (
	// Killed: an annotation reports it.
	Killed Ending = "killed"
	// Stopped: the last that was heard of it was a consumer that Storm closed in order. That is so when it is killed,
	// when it is rebalanced and when its worker is stopped; a worker that is killed with SIGKILL reports nothing.
	Stopped Ending = "stopped"
)

// movedFrom notes that a task of the component left this worker for another one.
func (w *worker) movedFrom(component string) {
	if at, known := slices.BinarySearch(w.moved, component); !known {
		w.moved = slices.Insert(w.moved, at, component)
	}
}

// unknownComponent is what tasks are counted under of which nobody said what they are of.
const unknownComponent = "unknown"

// componentOf is a task's component, by its samples, or else as reported.
func (r *run) componentOf(id int32, t *task) string {
	if t.component != "" || r.info == nil {
		return cmp.Or(t.component, unknownComponent)
	}
	for _, c := range r.info.components {
		if _, has := slices.BinarySearch(c.Tasks, id); has {
			return c.Name
		}
	}
	return unknownComponent
}

// workerTasks identifies the tasks of a component that reported last from a worker.
type workerTasks struct {
	place
	component string
}

// placement counts the tasks of a topology's current run by worker and component. A worker has 0 of a component if it
// had tasks of it, in this run or in one that was replaced, and other workers report all of them since. An alert about
// missing samples looks for this 0: such a worker has left and is not missed.
func (t *topology) placement() map[workerTasks]int {
	counts, names := map[workerTasks]int{}, t.current().componentsOfTasks()
	for id, at := range t.current().tasks {
		counts[workerTasks{at.worker.place, cmp.Or(at.component, names[id], unknownComponent)}]++
	}
	left := func(of place, component string) {
		if key := (workerTasks{of, component}); counts[key] == 0 {
			counts[key] = 0
		}
	}
	for _, r := range t.runs {
		for _, w := range r.workers {
			for _, component := range w.moved {
				left(w.place, component)
			}
		}
		if r == t.current() {
			continue
		}
		names := r.componentsOfTasks()
		for id, was := range r.tasks {
			left(was.worker.place, cmp.Or(was.component, names[id], unknownComponent))
		}
	}
	return counts
}

// ending returns how the topology's current run ended, when, and which annotation reports it; "" while it reports, or
// where that is unknown.
func (s *state) ending(t *topology, nowMs int64, times Times) (how Ending, atMs int64, by *Annotation) {
	r := t.current()
	if nowMs-r.heardMs <= times.Silence.Milliseconds() && r.stoppedMs == 0 {
		return "", 0, nil
	}
	for _, a := range s.set.sorted { // by time: the last one counts
		if a.Topology == t.name && slices.Contains(a.Tags, KilledTag) && a.TimeMs >= r.beganMs() &&
			r.heardMs <= a.TimeMs+killLasts.Milliseconds() {
			how, atMs, by = Killed, a.TimeMs, a
		}
	}
	if how == "" && r.stoppedMs != 0 && !r.anyConnected() {
		how, atMs = Stopped, r.stoppedMs
	}
	return how, atMs, by
}
