package registry

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// KilledTag marks an annotation that reports that a topology was killed on purpose, at the annotation's time. The
// experiments of the tune command and the watcher of Nimbus set it. It applies to the run at that time.
const KilledTag = "killed"

// killLasts is how long a topology may be heard after it was killed. The option -w of storm kill lets it run on for
// some time. A topology that is heard even later was not killed.
const killLasts = 10 * time.Minute

// Ending says how a topology ended, if that is known.
type Ending string

// The endings.
const (
	// Killed: an annotation reports the kill.
	Killed Ending = "killed"
	// Stopped: the last message was that Storm closed the consumer in order. This happens when the topology is killed
	// or rebalanced, and when the consumer's worker is stopped. A worker that is killed with SIGKILL reports nothing.
	Stopped Ending = "stopped"
)

// unknownComponent counts tasks whose component nobody reported.
const unknownComponent = "unknown"

// componentOf returns a task's component from its samples, or else from the topology's description.
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

// workerTasks is the key for counting tasks: a component, and the worker that last reported them.
type workerTasks struct {
	place
	component string
}

// placement counts the tasks of a topology's current run by worker and component. The count is 0 if the worker had
// tasks of the component, in this run or an earlier one, that other workers report now. The alert about missing samples
// uses this 0: the worker has left, so it is not missing.
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

// ending returns how and when the topology's current run ended, and the annotation that reports it, if any. how is ""
// while the run reports, or if the ending is unknown.
func (s *state) ending(t *topology, nowMs int64, times Times) (how Ending, atMs int64, by *Annotation) {
	r := t.current()
	if nowMs-r.heardMs <= times.Silence.Milliseconds() && r.stoppedMs == 0 {
		return "", 0, nil
	}
	for _, a := range s.set.sorted { // sorted by time: the last one counts
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

// Condition says whether a run of a topology is running, and if not, how it ended.
type Condition struct {
	// State is Running, Silent, Stopped, Killed or Replaced.
	State Ending `json:"state"`
	// Since is when the state began: when it was first heard without a break, last heard, closed, killed or submitted
	// again. It is RFC 3339 in UTC, to the millisecond.
	Since string `json:"since"`
	// By names who reported the state, if anybody did. For Stopped it is "consumer". For Killed it is "nimbus", or the
	// origin of the annotation, "api" or "stream". For a topology of another collector it is "engine".
	By string `json:"by,omitempty"`
	// Annotation is the id of the annotation that reports the kill. It is only set for Killed.
	Annotation string `json:"annotation,omitempty"`
}

// The states of a run in addition to the endings.
const (
	Running Ending = "running"
	// Silent: the run was not heard lately, and nobody reported a reason.
	Silent Ending = "silent"
	// Replaced: the topology was submitted again under the same name.
	Replaced Ending = "replaced"
)

// NimbusTag accompanies KilledTag on an annotation that reports what Nimbus said.
const NimbusTag = "nimbus"

// condition returns the state of a run. A reported ending takes precedence over silence, since a topology that was
// killed on purpose must not raise an alert. alive states that the run was heard lately.
func (s *state) condition(of *run, nowMs int64, times Times, alive bool) Condition {
	t := s.topologies[of.topology]
	if i := slices.Index(t.runs, of); i+1 < len(t.runs) {
		return Condition{State: Replaced, Since: TimeText(t.runs[i+1].beganMs())}
	}
	switch how, atMs, by := s.ending(t, nowMs, times); {
	case how == Killed:
		c := Condition{State: Killed, Since: TimeText(atMs), By: by.Origin.String(), Annotation: by.ID}
		if slices.Contains(by.Tags, NimbusTag) {
			c.By = NimbusTag
		}
		return c
	case how == Stopped:
		return Condition{State: Stopped, Since: TimeText(atMs), By: "consumer"}
	case alive:
		return Condition{State: Running, Since: TimeText(of.hearingSinceMs)}
	}
	return Condition{State: Silent, Since: TimeText(of.heardMs)}
}

// KilledByNimbus sets an annotation that Nimbus has killed a topology. id is that of Storm.
func (r *Registry) KilledByNimbus(ctx context.Context, id, topology string) error {
	_, err := r.Annotate(ctx, Annotation{ID: "nimbus-" + id, Topology: topology, Title: "Killed, as Nimbus reports",
		Text: "id " + id, Tags: []string{KilledTag, NimbusTag}})
	return err
}
