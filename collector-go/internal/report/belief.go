package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// beliefBlocks tell what the figures are worth: how busy the host was and with what, and how whole the collection was.
func (r *RunReport) beliefBlocks() []block {
	blocks := []block{tabled(r.beliefTable())}
	if shares, left := r.busiestTable(); len(shares.Rows) > 0 {
		blocks = append(blocks, heading4("Share of the "+r.host()+"'s processors in each trial's step with the least idle"), tabled(shares), paragraph("%s", r.sharesNote(left)))
	}
	return append(blocks, r.healthBlocks()...)
}

func (r *RunReport) beliefTable() table {
	t := table{Heads: []string{"Trial", "Collection", "Missing slices", "Between launches, a known gap", "Collector restarts", "Worker restarts", "Least " + r.host() + " idle"},
		Numeric: []bool{false, false, true, true, true, true, true}}
	for _, trial := range r.Trials {
		if trial.Report == nil {
			continue
		}
		c, restarts := trial.Report.Collection, 0
		for _, w := range trial.Report.Workers {
			restarts += len(w.RestartsMs)
		}
		idle := Unknown
		if step := trial.Report.busiestStep(); step != nil {
			idle = step.HostIdle
		}
		t.Rows = append(t.Rows, []string{trial.name(), markOf(c.Health), fmt.Sprintf("%d of %d", c.MissingSlices, c.ExpectedSlices), c.betweenLaunches(),
			strconv.Itoa(c.CollectorRestarts), strconv.Itoa(restarts), percent(idle)})
	}
	return t.withoutBlank()
}

// name tells the trial from the other launches of its configuration.
func (t *TrialReport) name() string {
	if t.Repeat > 1 {
		return fmt.Sprintf("%s (repeat %d)", t.Label, t.Repeat)
	}
	return t.Label
}

// busiestStep is the one in which the least of the host was idle; nil where no step knows.
func (r *Report) busiestStep() (busiest *StepReport) {
	for i := range r.Steps {
		if s := &r.Steps[i]; s.HostIdle.Known() && (busiest == nil || s.HostIdle < busiest.HostIdle) {
			busiest = s
		}
	}
	return busiest
}

// mostShareColumns is of how many trials the first page shows the processes: of those with the least idle.
const mostShareColumns = 6

// busy is a trial's busiest step.
type busy struct {
	name string
	step *StepReport
}

// busiestTable is what took the host in each trial's busiest step: a column a trial, which adds up to the whole host. left counts the
// trials for which there is no room.
func (r *RunReport) busiestTable() (t table, left int) {
	var all []busy
	for i := range r.Trials {
		trial := &r.Trials[i]
		if trial.Report == nil {
			continue
		}
		if step := trial.Report.busiestStep(); step != nil && len(step.Shares) > 0 {
			all = append(all, busy{fmt.Sprintf("%s: %s", trial.name(), stepName(*step)), step})
		}
	}
	if left = len(all) - mostShareColumns; left > 0 {
		slices.SortStableFunc(all, func(a, b busy) int { return cmp.Compare(a.step.HostIdle, b.step.HostIdle) })
		all = all[:mostShareColumns]
	}
	return sharesOf(all), max(0, left)
}

// sharesOf lays the steps' processes beside each other, what took most first; what was idle stands above them.
func sharesOf(all []busy) table {
	t := table{Heads: []string{"Process"}, Numeric: []bool{false}}
	if len(all) == 0 {
		return t
	}
	idle, most := []string{"idle"}, map[string]Figure{}
	var names []string
	for _, b := range all {
		t.Heads, t.Numeric, idle = append(t.Heads, b.name), append(t.Numeric, true), append(idle, percent(b.step.HostIdle))
		for _, s := range b.step.Shares {
			before, seen := most[s.Process]
			if !seen {
				names = append(names, s.Process)
			}
			if !seen || s.Ratio > before {
				most[s.Process] = s.Ratio
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(most[b], most[a]) })
	t.Rows = [][]string{idle}
	for _, name := range names {
		row := blanks(name, len(all))
		for i, b := range all {
			for _, s := range b.step.Shares {
				if s.Process == name {
					row[i+1] = percent(s.Ratio)
				}
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// sharesNote says of which host the shares are, and how many trials the table leaves out.
func (r *RunReport) sharesNote(left int) string {
	note := "The host is the one that everything ran on."
	if hostOfClient(r.plan) {
		note = "No worker runs on that host; the cluster's own hosts are not looked at."
	}
	if left > 0 {
		note += fmt.Sprintf(" %s with more idle stand only below, with the trials.", numbered(left, "trial"))
	}
	return note
}

// numbered is "1 trial", "2 trials".
func numbered(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", number(Figure(n), 0), what)
}
