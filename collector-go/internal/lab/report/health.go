package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// The states of a collection.
const (
	complete = "complete"
	gaps     = "gaps"
)

func stateOf(c *collection.Collection) string {
	switch {
	case c == nil:
		return "not reported"
	case c.Complete:
		return complete
	}
	return gaps
}

// howWhole is a collection's health in a sentence, with its state.
func howWhole(c *collection.Collection) string {
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
		parts = append(parts,
			fmt.Sprintf("Storm dropped %s reports before the metrics consumer", samples(c.StormDropped)))
	}
	return fmt.Sprintf("Collection with %s: %s.", gaps, strings.Join(parts, "; "))
}

func samples(n uint64) string { return number(Figure(n), 0) }

func percentOf(part, whole uint64) string {
	if whole == 0 {
		return document.Unknown
	}
	return number(Figure(part)/Figure(whole)*100, 2) + "%"
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

// wholeBlocks are the collection's health for the first page: the sentence, a line a worker, and where there are gaps.
func wholeBlocks(c *collection.Collection) []document.Block {
	if c == nil {
		return nil
	}
	type worker = collection.Worker
	blocks := []document.Block{document.Paragraph("%s", howWhole(c)), document.Tabled(document.TableOf(c.Workers,
		document.Text("Worker", func(w worker) string { return w.Worker }),
		document.Number("Samples", "", func(w worker) string { return samples(w.Samples) }),
		document.Number("Missing", "", func(w worker) string { return samples(w.Missing) }),
		document.Number("Late", "", func(w worker) string { return samples(w.Late) }),
		document.Text("Refused", func(w worker) string { return reasonsOf(w.Refused) }),
		document.Number("Seen, longest", "intervals", func(w worker) string {
			return secondsOf(w.IntervalSeenRatio)
		}),
		document.Number("Clock skew", "s", func(w worker) string { return secondsOf(w.SkewSeconds) }),
		document.Number("Restarts", "", func(w worker) string { return samples(w.Restarts) }),
	))}
	missing := slices.DeleteFunc(metricsOf(c), func(m workerMetric) bool { return m.Whole() && !m.Silent })
	if len(missing) == 0 {
		return blocks
	}
	slices.SortStableFunc(missing, func(a, b workerMetric) int { return -cmp.Compare(a.Missing, b.Missing) })
	more := ""
	if n := len(missing) - mostGaps; n > 0 {
		more, missing = fmt.Sprintf("%d more are in the table of all below.", n), missing[:mostGaps]
	}
	return append(blocks, document.Heading("Where samples are missing"), document.Tabled(metricTable(missing)),
		document.Paragraph("%s", more))
}

// collectedBlocks are how often each metric is to come, and all with which something was wrong.
func collectedBlocks(c *collection.Collection) []document.Block {
	if c == nil {
		return nil
	}
	blocks := []document.Block{document.Tabled(document.TableOf(slices.Sorted(maps.Keys(c.IntervalSeconds)),
		document.Text("Metric", func(metric string) string { return metric }),
		document.Number("Interval", "s", func(metric string) string {
			interval := c.IntervalSeconds[metric]
			return secondsOf(&interval)
		})))}
	if wrong := metricsOf(c); len(wrong) > 0 {
		blocks = append(blocks, document.Heading("Metrics with which something was wrong"),
			document.Tabled(metricTable(wrong)))
	}
	return blocks
}

// workerMetric is a metric of a worker.
type workerMetric struct {
	worker string
	*collection.Metric
}

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
		document.Number("Interval", "s", func(m workerMetric) string { return secondsOf(m.IntervalSeconds) }),
		document.Number("Seen, median", "s", func(m workerMetric) string { return secondsOf(m.SeenMedianSeconds) }),
		document.Number("Seen, longest", "s", func(m workerMetric) string { return secondsOf(m.SeenMaxSeconds) }),
		document.Number("Samples", "", func(m workerMetric) string { return samples(m.Samples) }),
		document.Number("Missing", "", func(m workerMetric) string { return samples(m.Missing) }),
		document.Number("Late", "", func(m workerMetric) string { return samples(m.Late) }),
		document.Text("Refused", func(m workerMetric) string { return reasonsOf(m.Refused) }),
	)
}

func secondsOf(v *float64) string {
	if v == nil {
		return document.Unknown
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}
