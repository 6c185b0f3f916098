package registry

import "slices"

// Condition is whether a run of a topology goes on, as far as anybody knows.
type Condition struct {
	// State is Running, Silent, Stopped, Killed or Replaced.
	State Ending `json:"state"`
	// Since is when it began: heard without a break, heard last, closed, killed, submitted again. RFC 3339 in UTC, to
	// the millisecond.
	Since string `json:"since"`
	// By is who said so, where it was said: "consumer" of Stopped; of Killed "nimbus", or else whence the annotation
	// came, "api" or "stream"; "engine" of a topology of another collector.
	By string `json:"by,omitempty"`
	// Annotation is the id of the annotation that reports it, of Killed.
	Annotation string `json:"annotation,omitempty"`
}

// What a run's state may be beside the endings.
const (
	Running Ending = "running"
	// Silent: it was not heard of late, and nobody said why.
	Silent Ending = "silent"
	// Replaced: it was submitted again under its name.
	Replaced Ending = "replaced"
)

// NimbusTag is beside KilledTag where Nimbus said so.
const NimbusTag = "nimbus"

// condition decides about a run. What somebody stated takes precedence over silence, since a topology that was killed
// on purpose must not raise an alert. alive states that the run was heard lately.
func (s *state) condition(of *run, nowMs int64, times Times, alive bool) Condition {
	t := s.topologies[of.topology]
	if i := slices.Index(t.runs, of); i+1 < len(t.runs) {
		return Condition{State: Replaced, Since: timeText(t.runs[i+1].beganMs())}
	}
	switch how, atMs, by := s.ending(t, nowMs, times); {
	case how == Killed:
		c := Condition{State: Killed, Since: timeText(atMs), By: by.Origin.String(), Annotation: by.ID}
		if slices.Contains(by.Tags, NimbusTag) {
			c.By = NimbusTag
		}
		return c
	case how == Stopped:
		return Condition{State: Stopped, Since: timeText(atMs), By: "consumer"}
	case alive:
		return Condition{State: Running, Since: timeText(of.hearingSinceMs)}
	}
	return Condition{State: Silent, Since: timeText(of.heardMs)}
}
