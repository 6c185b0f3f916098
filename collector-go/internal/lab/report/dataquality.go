package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// dataQualityBlocks are what the figures are worth: how busy the host was and with what, and how whole the collection
// was.
func (r *RunReport) dataQualityBlocks() []document.Block {
	blocks := []document.Block{document.Tabled(r.dataQualityTable()), document.List(r.stepNotes())}
	if shares, left := r.busiestTable(); shares.Rows() > 0 {
		blocks = append(blocks,
			document.Heading("Share of "+withArticle(r.host())+"'s processors in each trial's step with the least idle"),
			document.Tabled(shares), document.Paragraph("%s", r.sharesNote(left)))
	}
	return append(blocks, r.healthBlocks()...)
}

func (r *RunReport) dataQualityTable() document.Table {
	type trial = *TrialReport
	return document.TableOf(r.reported(), document.Text("Trial", func(t trial) string { return t.name() }),
		document.Text("Collection", func(t trial) string { return stateOf(t.Report.Collection.Health) }),
		document.Number("Missing slices", "", func(t trial) string {
			return fmt.Sprintf("%d of %d", t.Report.Collection.MissingSlices, t.Report.Collection.ExpectedSlices)
		}),
		document.Number("Between launches, a known gap", "",
			func(t trial) string { return t.Report.Collection.betweenLaunches() }),
		wholeColumn("Collector restarts", func(t trial) int { return t.Report.Collection.CollectorRestarts }),
		wholeColumn("Worker restarts", func(t trial) (restarts int) {
			for _, w := range t.Report.Workers {
				restarts += len(w.RestartsMs)
			}
			return restarts
		}),
		percentColumn("Least "+r.host()+" idle", func(t trial) Figure {
			if step := t.Report.busiestStep(); step != nil {
				return step.HostIdle
			}
			return Unknown
		})).WithoutBlank()
}

// stepNotes are what the engine noted of its steps.
func (r *RunReport) stepNotes() (notes []string) {
	for _, t := range r.reported() {
		for _, s := range t.Report.Steps {
			for _, note := range s.Notes {
				notes = append(notes, fmt.Sprintf("%s, %s: %s.", t.name(), s.name(), note))
			}
		}
	}
	return notes
}

// healthBlocks are the collection's health in detail, for the first page.
func (r *RunReport) healthBlocks() (blocks []document.Block) {
	for _, t := range r.reported() {
		whole := wholeBlocks(t.Report.Collection.Health)
		if len(r.Trials) > 1 && len(whole) > 0 {
			whole[0].Text = t.name() + ": " + whole[0].Text
		}
		blocks = append(blocks, whole...)
	}
	return blocks
}

// mostShareColumns is of how many trials the first page shows the processes: of those with the least idle.
const mostShareColumns = 6

// busy is a trial's busiest step.
type busy struct {
	name string
	step *StepReport
}

// busiestTable is what took the host in each trial's busiest step: a column a trial, which adds up to the whole host.
// left counts the trials for which there is no room.
func (r *RunReport) busiestTable() (t document.Table, left int) {
	var all []busy
	for _, t := range r.reported() {
		if step := t.Report.busiestStep(); step != nil && len(step.Shares) > 0 {
			all = append(all, busy{fmt.Sprintf("%s: %s", t.name(), step.name()), step})
		}
	}
	if left = len(all) - mostShareColumns; left > 0 {
		slices.SortStableFunc(all, func(a, b busy) int { return cmp.Compare(a.step.HostIdle, b.step.HostIdle) })
		all = all[:mostShareColumns]
	}
	return sharesOf(all), max(0, left)
}

// sharesOf lays the steps' processes beside each other, what took most first; what was idle stands above them.
func sharesOf(all []busy) document.Table {
	var heads []string
	for _, b := range all {
		heads = append(heads, b.name)
	}
	t, most := newGrid(heads, "Process"), map[string]Figure{}
	for i, b := range all {
		for _, s := range b.step.Shares {
			t.set(i, tuning.Percent(s.Ratio), s.Process)
			if before, seen := most[s.Process]; !seen || s.Ratio > before {
				most[s.Process] = s.Ratio
			}
		}
	}
	slices.SortStableFunc(t.names, func(a, b string) int { return cmp.Compare(most[b], most[a]) })
	for i, b := range all {
		t.set(i, tuning.Percent(b.step.HostIdle), "idle")
	}
	t.first("idle")
	return t.table()
}

// sharesNote is of which host the shares are, and how many trials the table leaves out.
func (r *RunReport) sharesNote(left int) string {
	note := "The host is the one that everything ran on."
	if hostOfRun(r.plan) {
		note = "No worker runs on that host; the cluster's own hosts are not looked at."
	}
	if left > 0 {
		note += fmt.Sprintf(" %s with more idle stand only below, with the trials.", numbered(left, "trial"))
	}
	return note
}
