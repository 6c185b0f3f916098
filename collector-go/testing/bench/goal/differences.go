package goal

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// Base is the subject of another build of our collector.
const Base = "base"

// Difference is a value of a scenario in two builds.
type Difference struct {
	Scenario, Value string
	Base, Ours      Figure
}

// Change is ours over the base's, as a ratio.
func (d Difference) Change() float64 { return d.Ours.Value / d.Base.Value }

// Apart reports whether the ranges of the rounds have nothing in common: the value has changed by more than it differs
// between rounds. One round has no range.
func (d Difference) Apart() bool {
	return min(d.Base.Rounds, d.Ours.Rounds) > 1 && (d.Ours.Least > d.Base.Most || d.Ours.Most < d.Base.Least)
}

// Differences are all values that were measured in both builds.
func (all Pieces) Differences() (out []Difference) {
	var scenarios []string
	values := map[string]map[string]bool{}
	for _, p := range all {
		if values[p.Scenario] == nil {
			scenarios, values[p.Scenario] = append(scenarios, p.Scenario), map[string]bool{}
		}
		for name := range p.Values {
			values[p.Scenario][name] = true
		}
	}
	for _, scenario := range scenarios {
		for _, value := range slices.Sorted(maps.Keys(values[scenario])) {
			d := Difference{scenario, value, all.Figure(scenario, Base, value), all.Figure(scenario, Ours, value)}
			if d.Base.Why == "" && d.Ours.Why == "" {
				out = append(out, d)
			}
		}
	}
	return out
}

// PrintDifferences prints each value of both builds with its range, and whether it has changed.
func PrintDifferences(to io.Writer, all []Difference) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "scenario\tvalue\tbase (range)\tours (range)\tratio\tchanged")
	figure := func(f Figure) string {
		return fmt.Sprintf("%s (%s to %s)", Number(&f.Value), Number(&f.Least), Number(&f.Most))
	}
	for _, d := range all {
		change, changed := d.Change(), yes(d.Apart())
		if min(d.Base.Rounds, d.Ours.Rounds) < 2 {
			changed = "-" // one round has no range
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", d.Scenario, d.Value, figure(d.Base), figure(d.Ours),
			Number(known(change)), changed)
	}
	return table.Flush()
}
