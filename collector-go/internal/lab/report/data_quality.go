package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
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

// stateOf returns the state of a collection for a table cell. "not reported" differs from gaps: the collector then
// reported no health at all.
func stateOf(c *collection.Collection) string {
	switch {
	case c == nil:
		return "not reported"
	case c.Complete:
		return complete
	}
	return gaps
}

// completeness describes the state of a collection in a sentence. It separates samples that were lost before the
// collector from samples that came too late, because the remedies differ.
func completeness(c *collection.Collection) string {
	if c.Complete {
		return fmt.Sprintf("Collection %s: all %s samples of %d workers arrived.", complete, samples(c.Samples),
			len(c.Workers))
	}
	parts := []string{
		fmt.Sprintf("%s of %s samples of %d workers are missing (%s); %s of them came too late",
			samples(c.Missing), samples(c.Expected()), len(c.Workers),
			tuning.PercentIn(Figure(c.Missing)/Figure(c.Expected()), 2),
			samples(c.Late)),
	}
	if dropped := reasonsOf(c.Dropped); dropped != "" {
		parts = append(parts, "the plugin dropped "+dropped)
	}
	if c.StormDropped > 0 {
		parts = append(parts, fmt.Sprintf("Storm dropped %s reports before they reached the metrics consumer", samples(c.StormDropped)))
	}
	return fmt.Sprintf("Collection with %s: %s.", gaps, strings.Join(parts, "; "))
}

// reasonsOf formats counts by reason: "3 queue_full, 1 expired". It returns "" if all are 0.
func reasonsOf(counts map[string]uint64) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[reason]; n > 0 {
			parts = append(parts, samples(n)+" "+reason)
		}
	}
	return strings.Join(parts, ", ")
}

// mostGaps is how many incomplete metrics the first page lists.
const mostGaps = 12

// collectionBlocks returns the state of the collection for the first page: a sentence, a row for each worker, and the
// metrics with missing samples. It lists at most mostGaps metrics; the trial's own section lists all.
func collectionBlocks(c *collection.Collection) []document.Block {
	if c == nil {
		return nil
	}
	type worker = collection.Worker
	workers := document.TableOf(c.Workers,
		document.Text("Worker", func(w worker) string { return w.Worker }),
		samplesColumn("Samples", func(w worker) uint64 { return w.Samples }),
		samplesColumn("Missing", func(w worker) uint64 { return w.Missing }),
		samplesColumn("Late", func(w worker) uint64 { return w.Late }),
		document.Text("Refused", func(w worker) string { return reasonsOf(w.Refused) }),
		secondsColumn("Longest / nominal interval", "", func(w worker) *float64 { return w.IntervalSeenRatio }),
		secondsColumn("Clock skew", "s", func(w worker) *float64 { return w.SkewSeconds }),
		samplesColumn("Restarts", func(w worker) uint64 { return w.Restarts }),
	)
	missing := slices.DeleteFunc(metricsOf(c), func(m workerMetric) bool { return m.IsComplete() && !m.Silent })
	// The metrics with the most missing samples come first, because the table is limited.
	slices.SortStableFunc(missing, func(a, b workerMetric) int { return -cmp.Compare(a.Missing, b.Missing) })
	more := ""
	if n := len(missing) - mostGaps; n > 0 {
		more, missing = fmt.Sprintf("%d more are in the section \"Collected metrics\" of the trial.", n), missing[:mostGaps]
	}
	return []document.Block{document.Paragraph("%s", completeness(c)), document.Tabled(workers),
		document.Heading("Metrics with missing samples"), document.Tabled(metricTable(missing)),
		document.Paragraph("%s", more)}
}

// collectedBlocks returns the expected interval of each metric, and all metrics that had a problem.
func collectedBlocks(c *collection.Collection) []document.Block {
	if c == nil {
		return nil
	}
	intervals := document.TableOf(slices.Sorted(maps.Keys(c.IntervalSeconds)),
		document.Text("Metric", func(metric string) string { return metric }),
		secondsColumn("Interval", "s", func(metric string) *float64 {
			interval := c.IntervalSeconds[metric]
			return &interval
		}))
	return []document.Block{document.Tabled(intervals), document.Heading("Metrics with problems"),
		document.Tabled(metricTable(metricsOf(c)))}
}

// workerMetric is the health of one metric of one worker.
type workerMetric struct {
	worker string
	*collection.Metric
}

// metricsOf returns the metrics of all workers in one list, in the order of the workers.
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
		secondsColumn("Median interval", "s", func(m workerMetric) *float64 { return m.SeenMedianSeconds }),
		secondsColumn("Longest interval", "s", func(m workerMetric) *float64 { return m.SeenMaxSeconds }),
		samplesColumn("Samples", func(m workerMetric) uint64 { return m.Samples }),
		samplesColumn("Missing", func(m workerMetric) uint64 { return m.Missing }),
		samplesColumn("Late", func(m workerMetric) uint64 { return m.Late }),
		document.Text("Refused", func(m workerMetric) string { return reasonsOf(m.Refused) }),
	)
}

// secondsColumn is a column of numbers with all their digits. nil means unknown.
func secondsColumn[T any](head, unit string, value func(T) *float64) document.Of[T] {
	return document.Number(head, unit, func(row T) string {
		v := value(row)
		return knownOr(v != nil, func() string { return strconv.FormatFloat(*v, 'f', -1, 64) })
	})
}

// dataQualityBlocks says how far the figures can be trusted: how busy the host was and with which processes, and how
// complete the collection was. The section comes before the figures, because they cannot be better than their samples.
func (r *RunReport) dataQualityBlocks() []document.Block {
	blocks := []document.Block{document.Tabled(r.dataQualityTable()), document.List(r.stepNotes())}
	if shares, left := r.busiestTable(); shares.Rows() > 0 {
		blocks = append(blocks,
			document.Heading("CPU of "+withArticle(r.host())+" by process, in the busiest step of each trial"),
			document.Tabled(shares), document.Paragraph("%s", r.sharesNote(left)))
	}
	return append(blocks, r.healthBlocks()...)
}

// dataQualityTable has a row for each measured trial: how complete its samples are, what restarted, and how busy the
// host was. These decide whether a figure says anything about the topology.
func (r *RunReport) dataQualityTable() document.Table {
	type trial = *TrialReport
	return document.TableOf(r.reported(), document.Text("Trial", func(t trial) string { return t.name() }),
		document.Text("Collection", func(t trial) string { return stateOf(t.Report.Collection.Health) }),
		document.Number("Missing slices", "", func(t trial) string {
			return fmt.Sprintf("%d of %d", t.Report.Collection.MissingSlices, t.Report.Collection.ExpectedSlices)
		}),
		document.Number("Gap between launches", "",
			func(t trial) string { return t.Report.Collection.betweenLaunches() }),
		countColumn("Collector restarts", func(t trial) int { return t.Report.Collection.CollectorRestarts }),
		countColumn("Worker restarts", func(t trial) (restarts int) {
			for _, w := range t.Report.Workers {
				restarts += len(w.RestartsMs)
			}
			return restarts
		}),
		percentColumn(idleHead(r.host())+", minimum", func(t trial) Figure {
			if step := t.Report.busiestStep(); step != nil {
				return step.HostIdle
			}
			return Unknown
		})).WithoutBlank()
}

// stepNotes returns the notes of all steps, each with its trial and step.
func (r *RunReport) stepNotes() (notes []string) {
	for _, t := range r.reported() {
		for _, s := range t.Report.Steps {
			for _, note := range s.Notes {
				notes = append(notes, fmt.Sprintf("%s, %s: %s.", t.name(), s.Label, note))
			}
		}
	}
	return notes
}

// healthBlocks returns the state of the collection for the first page. If there are several trials, the first sentence
// of each begins with the trial's name.
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

// mostShareColumns is the number of trials for which the first page shows the processes. They are those with the least
// idle host.
const mostShareColumns = 6

// busiestTable shows which processes used the host in each trial's busiest step. It has a column for each trial, which
// adds up to the whole host. It shows the mostShareColumns trials with the least idle host; left counts the others.
func (r *RunReport) busiestTable() (t document.Table, left int) {
	var all []StepReport
	for _, t := range r.reported() {
		if busiest := t.Report.busiestStep(); busiest != nil && len(busiest.Shares) > 0 {
			step := *busiest
			step.Label = t.name() + ": " + step.Label
			all = append(all, step)
		}
	}
	if left = len(all) - mostShareColumns; left > 0 {
		slices.SortStableFunc(all, func(a, b StepReport) int { return cmp.Compare(a.HostIdle, b.HostIdle) })
		all = all[:mostShareColumns]
	}
	return sharesOf(all), max(0, left)
}

// sharesOf shows the processes of several steps side by side, the largest share first. A row above them has the idle
// share, so that each column adds up to the whole host.
func sharesOf(steps []StepReport) document.Table {
	t := newGrid(steps, "Process")
	most := map[string]Figure{}
	for i, step := range steps {
		for _, s := range step.Shares {
			t.set(i, tuning.Percent(s.Ratio), s.Process)
			if before, seen := most[s.Process]; !seen || s.Ratio > before {
				most[s.Process] = s.Ratio
			}
		}
		t.set(i, tuning.Percent(step.HostIdle), "idle")
	}
	most["idle"] = Figure(math.Inf(1))
	slices.SortStableFunc(t.names, func(a, b string) int { return cmp.Compare(most[b], most[a]) })
	return t.table()
}

// sharesNote says which host the shares are for and how many trials the table omits. On a cluster it is the host of the
// load, which a reader must not take for a worker host.
func (r *RunReport) sharesNote(left int) string {
	note := "Everything ran on this host."
	if hostOfRun(r.plan) {
		note = "No worker runs on this host. The hosts of the cluster are not measured."
	}
	if left > 0 {
		note += fmt.Sprintf(" %s with a less busy host only show it in their own sections.", tuning.Counted(left, "trial"))
	}
	return note
}
