package registry

import (
	"context"
	"slices"
)

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
