// Package catalog knows what every number that Storm, Bullet and our own sampler send is called, what it counts from, and in
// which unit. It owns the table of canonical metrics (proto/METRICS.md is made from it) and, for each feed, which of the
// series that tell the same story is stored. It will never know a time, a slice or a store.
package catalog

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"

// Outcome is what becomes of a series' samples.
type Outcome uint8

// The outcomes.
const (
	Stored  Outcome = iota + 1 // sliced by its rule
	LeftOut                    // another series tells the same
	Refused                    // of no use; the reason says why
	Dormant                    // not heard of since its topology was started anew; Judge wakes it
)

// Verdict is the catalogue's answer about a series.
type Verdict struct {
	Outcome Outcome
	Reason  string // "" for Stored and Dormant; otherwise one of the Reason constants
	Unknown bool   // stored under its own name, since the table has none for it
}

// Change is a verdict that is new. A feed applies changes in order: Stored is slicer.Define(ID, Rule), Dormant is
// slicer.Detach(ID), anything else is slicer.Withdraw(ID) and CountLeftOut of what that returns.
type Change struct {
	ID      uint32
	Verdict Verdict
	Rule    metric.Rule // where Stored
}

// State is what one feed has learned of its series: their names, and which of those that tell the same story is stored.
type State struct{}

// NewState returns the state before the journal's first entry.
func NewState(o Options) *State { return &State{} }

// Options bound a State.
type Options struct{ MaxSeries int }

// DefaultOptions are the bounds that suit a cluster.
func DefaultOptions() Options { return Options{MaxSeries: 4 << 20} }

// Define takes the name of a series and returns which verdicts are new: its own, and those that it overturns. Defining an id
// again changes nothing.
func (s *State) Define(id uint32, raw metric.Raw) []Change { return nil }

// TopologyStarted takes the id of a topology as its producers give it. An id that was not heard of before is a new start
// under the same name: what its workers report may have changed, so all its series sleep until they are heard again.
func (s *State) TopologyStarted(topology, topologyID string) []Change { return nil }

// Judge says what becomes of a sample whose series the slicer does not hold, and counts it unless its series is Stored. A
// dormant series wakes: its changes are to be applied, and the sample added again when the verdict is Stored.
func (s *State) Judge(id uint32) (Verdict, []Change) { return Verdict{}, nil }

// Sleep takes the series whose state the slicer dropped (Slicer.Dropped): they wake when they are heard again.
func (s *State) Sleep(ids []uint32) {}

// CountLeftOut counts samples that were open when their series was overturned.
func (s *State) CountLeftOut(v Verdict, samples int) {}

// Snapshot is the state as bytes (docs/formats/checkpoint.md), the same for the same state.
func (s *State) Snapshot() []byte { return nil }

// Restore reads what Snapshot wrote.
func Restore(data []byte, o Options) (*State, error) { return &State{}, nil }
