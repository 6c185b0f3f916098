package compare

import (
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// ConfigurationChange compares one configuration before and after: its settings, its capacity, and every step that both
// operands have.
type ConfigurationChange struct {
	Before string `json:"before"`
	After  string `json:"after"`
	// LaunchesBefore and LaunchesAfter are the numbers of launches of each operand.
	LaunchesBefore int `json:"launches_before"`
	LaunchesAfter  int `json:"launches_after"`
	// Changes are the settings, versions, machine and load that differ. Moved are the controlled variables that these
	// changes affect.
	Changes []tuning.Change   `json:"changes"`
	Moved   []tuning.Variable `json:"moved"`
	// Lines are the changes as a diff: "- key: before", "+ key: after". Undetermined are the controlled variables for
	// which one side does not say enough to know whether they moved.
	Lines        []string          `json:"lines"`
	Undetermined []tuning.Variable `json:"untold"`
	// Capacity is nil if there is no capacity to compare, for example between timelines.
	Capacity *CapacityChange `json:"capacity,omitempty"`
	Steps    []StepChange    `json:"steps"`
	GC       []GCChange      `json:"gc"`
	// Marginal is the change of the cost per query. It is empty unless the steps increase in queries and both operands
	// have enough of them for an estimate.
	Marginal []FigureChange `json:"marginal,omitempty"`
	// GCBefore and GCAfter say how GC time correlates with CPU and with the filter latency in each operand.
	GCBefore *tuning.GCReport `json:"gc_before,omitempty"`
	GCAfter  *tuning.GCReport `json:"gc_after,omitempty"`
}

// StepChange is the change of all figures in one step, for example at 100 queries.
type StepChange struct {
	Value         float64        `json:"value"`
	Name          string         `json:"name"`
	VerdictBefore tuning.Verdict `json:"verdict_before"`
	VerdictAfter  tuning.Verdict `json:"verdict_after"`
	Figures       []FigureChange `json:"figures"`
}

// FigureChange is the change of one figure in one step, with the confidence interval of the change.
type FigureChange struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	// Worse is the direction that is worse, "up" or "down". It is "" if neither is.
	Worse string `json:"worse,omitempty"`
	// LaunchesBefore and LaunchesAfter are the numbers of launches that measured the figure.
	LaunchesBefore int `json:"launches_before"`
	LaunchesAfter  int `json:"launches_after"`
	// EstimateBefore and EstimateAfter are the figures with their intervals as the report of each operand states them.
	// They are nil for a figure that a report states without an interval.
	EstimateBefore *tuning.Estimate `json:"estimate_before,omitempty"`
	EstimateAfter  *tuning.Estimate `json:"estimate_after,omitempty"`
	tuning.Difference
}

// WorseBy reports whether the figure got worse by more than a ratio. It looks only at the estimate; see ProvenWorseBy
// for the interval.
func (f FigureChange) WorseBy(ratio float64) bool {
	return f.beyond(ratio, f.Ratio.Value, f.Ratio.Value)
}

// ProvenWorseBy reports whether the whole interval of the change is worse by more than a ratio.
func (f FigureChange) ProvenWorseBy(ratio float64) bool {
	return f.Clear && f.beyond(ratio, f.Ratio.Low, f.Ratio.High)
}

// beyond reports whether a change in the worse direction exceeds a ratio. low counts for a figure that is worse
// if it rises, and high for a figure that is worse if it falls.
func (f FigureChange) beyond(ratio float64, low, high tuning.Figure) bool {
	return f.Worse == "up" && low > tuning.Figure(ratio) || f.Worse == "down" && high < tuning.Figure(-ratio)
}

// GCChange is the change of one garbage collector in one step. Before or After is nil if that operand has no such
// collector.
type GCChange struct {
	Step      string            `json:"step"`
	Collector string            `json:"collector"`
	Before    *tuning.GCStep    `json:"before"`
	After     *tuning.GCStep    `json:"after"`
	Change    tuning.Difference `json:"total_ms_per_minute"`
}

// CapacityChange is the capacity of one configuration before and after.
type CapacityChange struct {
	Unit   string          `json:"unit"`
	Before tuning.Interval `json:"before"`
	After  tuning.Interval `json:"after"`
	// Overlap reports whether both capacities could be the same value. It is nil, and null in JSON, if one of the
	// capacities is unknown.
	Overlap *bool `json:"intervals_overlap"`
}

// Configurations compares two configurations. The notes name the steps that only one of them has.
func Configurations(a, b Configuration, confidence float64) (out ConfigurationChange, notes []string) {
	out = ConfigurationChange{
		Before: a.Label, After: b.Label, LaunchesBefore: len(a.Launches),
		LaunchesAfter: len(b.Launches), Changes: tuning.DiffSettings(a.Values, b.Values), Lines: []string{},
		Undetermined: tuning.Undetermined(a.Values, b.Values), Steps: []StepChange{}, GC: []GCChange{},
		GCBefore: a.GC, GCAfter: b.GC, Marginal: marginal(a, b, confidence), Capacity: capacities(a, b),
	}
	out.Moved = tuning.Moved(out.Changes)
	for _, change := range out.Changes {
		out.Lines = append(out.Lines, change.Lines()...)
	}
	for _, place := range a.places() {
		before, after := a.at(place.Value), b.at(place.Value)
		if len(after) == 0 {
			notes = append(notes, fmt.Sprintf("%s was measured only before", place.Name))
			continue
		}
		own := tuning.Figure(0)
		if a.OwnMs == b.OwnMs {
			own = a.OwnMs
		}
		out.Steps = append(out.Steps, steps(place, before, after, own, confidence))
		out.GC = append(out.GC, collectors(place.Name, before, after, confidence)...)
	}
	for _, place := range b.places() {
		if len(a.at(place.Value)) == 0 {
			notes = append(notes, fmt.Sprintf("%s was measured only after", place.Name))
		}
	}
	return out, notes
}

// steps compares the launches of one step. If the queries run for a fixed time of their own (ownMs > 0), it compares
// the delay of results after that time.
func steps(place Step, before, after []Step, ownMs tuning.Figure, confidence float64) StepChange {
	out := StepChange{Value: place.Value, Name: place.Name, VerdictBefore: combined(before),
		VerdictAfter: combined(after)}
	for _, f := range Figures {
		values := func(s Step) []tuning.Figure { return s.Figures[f.Name] }
		change := tuning.Compare
		if f.Slices {
			change = tuning.CompareSlices
		}
		was, is := tuning.Repeated(tuning.Each(before, values)), tuning.Repeated(tuning.Each(after, values))
		lateness := f.Name == TimeToResult && ownMs > 0
		if lateness {
			f.Name, f.Unit, was, is = Lateness, "s late", late(was, ownMs), late(is, ownMs)
		}
		d := change(was, is, confidence)
		if lateness && !(d.Before > 0 && d.After > 0) {
			d.WithoutRatio() // a ratio is meaningless if a result came before the query's own time
		}
		if d.Before.Known() || d.After.Known() {
			out.Figures = append(out.Figures, FigureChange{Name: f.Name, Unit: f.Unit, Worse: f.Worse,
				LaunchesBefore: was.Launches(), LaunchesAfter: is.Launches(), Difference: d})
		}
	}
	return out
}

// collectors compares every collector that the first launch of either operand has.
func collectors(step string, before, after []Step, confidence float64) (all []GCChange) {
	both := slices.Concat(before[0].Collectors, after[0].Collectors)
	names := slices.Sorted(slices.Values(tuning.Each(both, func(c Collector) string { return c.Name })))
	for _, name := range slices.Compact(names) {
		of := func(s Step) Collector {
			own, _ := tuning.First(s.Collectors, func(c Collector) bool { return c.Name == name })
			return own
		}
		total := func(s Step) []tuning.Figure { return of(s).TotalMsPerMinute }
		all = append(all, GCChange{
			Step: step, Collector: name, Before: of(before[0]).Step, After: of(after[0]).Step,
			Change: tuning.CompareSlices(tuning.Each(before, total), tuning.Each(after, total), confidence),
		})
	}
	return all
}

// marginal compares the cost per query of two configurations. It uses the slopes of CPU over queries, and the
// intervals, as the report of each operand states them. The result is empty if either operand has no such cost.
func marginal(a, b Configuration, confidence float64) (all []FigureChange) {
	for _, before := range a.Costs {
		for _, after := range b.Costs {
			if before.Name != after.Name || !before.Estimate.Value.Known() && !after.Estimate.Value.Known() {
				continue
			}
			d := tuning.CompareSlopes(before.Line, after.Line, confidence)
			if !before.Estimate.Value.Known() || !after.Estimate.Value.Known() {
				d.NotCompared("the cost per query was not determined in both runs")
			} else if min(len(a.Launches), len(b.Launches)) < 2 {
				d.WithoutInterval()
			}
			d.Before, d.After = before.Estimate.Value, after.Estimate.Value
			all = append(all, FigureChange{Name: before.Name, Unit: "ms/min", Worse: before.Worse,
				LaunchesBefore: len(a.Launches), LaunchesAfter: len(b.Launches), Difference: d,
				EstimateBefore: &before.Estimate, EstimateAfter: &after.Estimate})
		}
	}
	return all
}

// capacities compares the capacities. It returns nil if the steps have no capacity or if its units differ.
func capacities(a, b Configuration) *CapacityChange {
	if a.Unit == "" || a.Unit != b.Unit {
		return nil
	}
	known := func(i tuning.Interval) bool { return i.LastOK != nil || i.FirstFail != nil }
	c := &CapacityChange{Unit: a.Unit, Before: a.Capacity, After: b.Capacity}
	if known(c.Before) && known(c.After) {
		overlap := c.Before.Overlaps(c.After)
		c.Overlap = &overlap
	}
	return c
}
