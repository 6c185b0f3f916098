package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// The states of a collection.
const (
	complete = "complete"
	gaps     = "gaps"
)

// stateOf is the state of a collection in a cell. That a collector reported no health is not the same as gaps.
func stateOf(c *collection.Collection) string {
	switch {
	case c == nil:
		return "not reported"
	case c.Complete:
		return complete
	}
	return gaps
}

// completeness is a collection's health in a sentence, with its state. It separates what was lost before the collector
// from what came too late, since these have different remedies.
func completeness(c *collection.Collection) string {
	if c.Complete {
		return fmt.Sprintf("Collection %s: all %s samples of %d workers are there.", complete, samples(c.Samples),
			len(c.Workers))
	}
	parts := []string{
		fmt.Sprintf("%s of %s samples of %d workers are missing (%s), %s of them since they came late",
			samples(c.Missing), samples(c.Expected()), len(c.Workers), percentOf(c.Missing, c.Expected()),
			samples(c.Late)),
	}
	if dropped := reasonsOf(c.Dropped); dropped != "" {
		parts = append(parts, "the plugin dropped "+dropped)
	}
	if c.StormDropped > 0 {
		parts = append(parts, fmt.Sprintf("Storm dropped %s reports before the metrics consumer", samples(c.StormDropped)))
	}
	return fmt.Sprintf("Collection with %s: %s.", gaps, strings.Join(parts, "; "))
}

// percentOf is a part in per cent with two decimals, Unknown of nothing.
func percentOf(part, all uint64) string {
	return knownOr(all > 0, func() string { return number(Figure(part)/Figure(all)*100, 2) + "%" })
}

// reasonsOf is "3 queue_full, 1 expired"; "" for none.
func reasonsOf(counts map[string]uint64) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[reason]; n > 0 {
			parts = append(parts, samples(n)+" "+reason)
		}
	}
	return strings.Join(parts, ", ")
}

// mostGaps are as many rows as the first page has of what is missing.
const mostGaps = 12

// collectionBlocks are the collection's health for the first page: the sentence, a line for each worker, and where
// there are gaps. Gaps are bounded by mostGaps; the table of all is with the trial.
func collectionBlocks(c *collection.Collection) []document.Block {
	if c == nil {
		return nil
	}
	type worker = collection.Worker
	blocks := []document.Block{document.Paragraph("%s", completeness(c)), document.Tabled(document.TableOf(c.Workers,
		document.Text("Worker", func(w worker) string { return w.Worker }),
		samplesColumn("Samples", func(w worker) uint64 { return w.Samples }),
		samplesColumn("Missing", func(w worker) uint64 { return w.Missing }),
		samplesColumn("Late", func(w worker) uint64 { return w.Late }),
		document.Text("Refused", func(w worker) string { return reasonsOf(w.Refused) }),
		secondsColumn("Seen, longest", "intervals", func(w worker) *float64 { return w.IntervalSeenRatio }),
		secondsColumn("Clock skew", "s", func(w worker) *float64 { return w.SkewSeconds }),
		samplesColumn("Restarts", func(w worker) uint64 { return w.Restarts }),
	))}
	missing := slices.DeleteFunc(metricsOf(c), func(m workerMetric) bool { return m.IsComplete() && !m.Silent })
	if len(missing) == 0 {
		return blocks
	}
	// The metrics with the most missing samples come first, since the table is bounded.
	slices.SortStableFunc(missing, func(a, b workerMetric) int { return -cmp.Compare(a.Missing, b.Missing) })
	more := ""
	if n := len(missing) - mostGaps; n > 0 {
		more, missing = fmt.Sprintf("%d more are in the table of all below.", n), missing[:mostGaps]
	}
	return append(blocks, document.Heading("Where samples are missing"), document.Tabled(metricTable(missing)),
		document.Paragraph("%s", more))
}

// collectedBlocks are how often each metric is expected, and all metrics with which something was wrong.
func collectedBlocks(c *collection.Collection) []document.Block {
	if c == nil {
		return nil
	}
	blocks := []document.Block{document.Tabled(document.TableOf(slices.Sorted(maps.Keys(c.IntervalSeconds)),
		document.Text("Metric", func(metric string) string { return metric }),
		secondsColumn("Interval", "s", func(metric string) *float64 {
			interval := c.IntervalSeconds[metric]
			return &interval
		})))}
	if wrong := metricsOf(c); len(wrong) > 0 {
		blocks = append(blocks, document.Heading("Metrics with which something was wrong"),
			document.Tabled(metricTable(wrong)))
	}
	return blocks
}

// workerMetric is the health of one metric of one worker, with the worker's name for the table.
type workerMetric struct {
	worker string
	*collection.Metric
}

// metricsOf are the metrics of all workers in one list, in the order of the workers.
func metricsOf(c *collection.Collection) (all []workerMetric) {
	for _, w := range c.Workers {
		for i := range w.Metrics {
			all = append(all, workerMetric{w.Worker, &w.Metrics[i]})
		}
	}
	return all
}

// metricTable has a row for each metric of a worker.
func metricTable(all []workerMetric) document.Table {
	return document.TableOf(all,
		document.Text("Worker", func(m workerMetric) string { return m.worker }),
		document.Text("Metric", func(m workerMetric) string {
			if m.Silent {
				return m.Metric.Metric + " (silent at the end)"
			}
			return m.Metric.Metric
		}),
		secondsColumn("Interval", "s", func(m workerMetric) *float64 { return m.IntervalSeconds }),
		secondsColumn("Seen, median", "s", func(m workerMetric) *float64 { return m.SeenMedianSeconds }),
		secondsColumn("Seen, longest", "s", func(m workerMetric) *float64 { return m.SeenMaxSeconds }),
		samplesColumn("Samples", func(m workerMetric) uint64 { return m.Samples }),
		samplesColumn("Missing", func(m workerMetric) uint64 { return m.Missing }),
		samplesColumn("Late", func(m workerMetric) uint64 { return m.Late }),
		document.Text("Refused", func(m workerMetric) string { return reasonsOf(m.Refused) }),
	)
}

// secondsColumn is a column of numbers with all their digits; nil is not known.
func secondsColumn[T any](head, unit string, value func(T) *float64) document.Of[T] {
	return document.Number(head, unit, func(row T) string {
		v := value(row)
		return knownOr(v != nil, func() string { return strconv.FormatFloat(*v, 'f', -1, 64) })
	})
}

// dataQualityBlocks are what the figures are worth: how busy the host was and with what, and how complete the
// collection was. They come before the figures, since nothing below can be better than the samples that it is made of.
func (r *RunReport) dataQualityBlocks() []document.Block {
	blocks := []document.Block{document.Tabled(r.dataQualityTable()), document.List(r.stepNotes())}
	if shares, left := r.busiestTable(); shares.Rows() > 0 {
		blocks = append(blocks,
			document.Heading("Share of "+withArticle(r.host())+"'s processors in each trial's step with the least idle"),
			document.Tabled(shares), document.Paragraph("%s", r.sharesNote(left)))
	}
	return append(blocks, r.healthBlocks()...)
}

// dataQualityTable has a row for each measured trial: how complete its samples are, what restarted, and how busy the
// host was. These decide whether a figure says something about the topology.
func (r *RunReport) dataQualityTable() document.Table {
	type trial = *TrialReport
	return document.TableOf(r.reported(), document.Text("Trial", func(t trial) string { return t.name() }),
		document.Text("Collection", func(t trial) string { return stateOf(t.Report.Collection.Health) }),
		document.Number("Missing slices", "", func(t trial) string {
			return fmt.Sprintf("%d of %d", t.Report.Collection.MissingSlices, t.Report.Collection.ExpectedSlices)
		}),
		document.Number("Between launches, a known gap", "",
			func(t trial) string { return t.Report.Collection.betweenLaunches() }),
		countColumn("Collector restarts", func(t trial) int { return t.Report.Collection.CollectorRestarts }),
		countColumn("Worker restarts", func(t trial) (restarts int) {
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

// stepNotes are what was noted while the steps ran, each with its trial and step.
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

// healthBlocks are the collection's health in detail, for the first page. Where there are several trials each sentence
// begins with the name of its own.
func (r *RunReport) healthBlocks() (blocks []document.Block) {
	for _, t := range r.reported() {
		health := collectionBlocks(t.Report.Collection.Health)
		if len(r.Trials) > 1 && len(health) > 0 {
			health[0].Text = t.name() + ": " + health[0].Text
		}
		blocks = append(blocks, health...)
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

// busiestTable is what took the host in each trial's busiest step: a column for each trial, which adds up to the
// complete host. left counts the trials beyond mostShareColumns; those with the least idle are shown.
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

// sharesOf lays the steps' processes beside each other, the one that took most first. What was idle stands above them,
// so that each column adds up to the complete host.
func sharesOf(all []busy) document.Table {
	t := newGrid(each(all, func(b busy) string { return b.name }), "Process")
	most := map[string]Figure{}
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

// sharesNote is of which host the shares are, and how many trials the table leaves out. On a cluster the host is that
// of the load, which must not be taken for a worker's.
func (r *RunReport) sharesNote(left int) string {
	note := "The host is the one that everything ran on."
	if hostOfRun(r.plan) {
		note = "No worker runs on that host; the cluster's own hosts are not looked at."
	}
	if left > 0 {
		note += fmt.Sprintf(" %s with more idle stand only below, with the trials.", counted(left, "trial"))
	}
	return note
}
