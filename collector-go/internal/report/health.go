package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collection"
)

// The marks of a collection.
const (
	markComplete = "complete"
	markGaps     = "gaps"
)

func markOf(c *collection.Collection) string {
	switch {
	case c == nil:
		return "not told"
	case c.Complete:
		return markComplete
	}
	return markGaps
}

// howWhole is a collection's health in a sentence, with its mark.
func howWhole(c *collection.Collection) string {
	metrics := map[string]bool{}
	for _, w := range c.Workers {
		for _, m := range w.Metrics {
			metrics[m.Metric] = true
		}
	}
	if c.Complete {
		return fmt.Sprintf("Collection %s: all %s samples of %d metrics of %d workers are there.", markComplete, samples(c.Samples), len(metrics), len(c.Workers))
	}
	parts := []string{fmt.Sprintf("%s of %s samples of %d metrics of %d workers are missing (%s), %s of them since they came late", samples(c.Missing), samples(c.Expected()),
		len(metrics), len(c.Workers), percentOf(c.Missing, c.Expected()), samples(c.Late))}
	if dropped := reasonsOf(c.Dropped); dropped != "" {
		parts = append(parts, "the plugin dropped "+dropped)
	}
	if c.StormDropped > 0 {
		parts = append(parts, fmt.Sprintf("Storm dropped %s reports before the metrics consumer", samples(c.StormDropped)))
	}
	return fmt.Sprintf("Collection with %s: %s.", markGaps, strings.Join(parts, "; "))
}

func samples(n uint64) string { return number(Figure(n), 0) }

func percentOf(part, whole uint64) string {
	if whole == 0 {
		return "–"
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

// wholeBlocks are the collection's health for the first page: the sentence, a line a worker, and where there are gaps.
func wholeBlocks(c *collection.Collection) []block {
	if c == nil {
		return nil
	}
	workers := table{Heads: []string{"Worker", "Samples", "Missing", "Late", "Refused", "Clock skew s", "Restarts"}, Numeric: []bool{false, true, true, true, false, true, true}}
	for _, w := range c.Workers {
		workers.Rows = append(workers.Rows, []string{w.Worker, samples(w.Samples), samples(w.Missing), samples(w.Late), reasonsOf(w.Refused), secondsOf(w.SkewSeconds), samples(w.Restarts)})
	}
	blocks := []block{paragraph("%s", howWhole(c)), tabled(workers)}
	if gaps := metricTable(c, func(m *collection.Metric) bool { return !m.Whole() || m.Silent }); len(gaps.Rows) > 0 {
		slices.SortStableFunc(gaps.Rows, func(a, b []string) int { return -cmp.Compare(missingIn(a), missingIn(b)) })
		more := ""
		if n := len(gaps.Rows) - mostGaps; n > 0 {
			more, gaps.Rows = fmt.Sprintf("%d more are in the table of all below.", n), gaps.Rows[:mostGaps]
		}
		blocks = append(blocks, heading4("Where samples are missing"), tabled(gaps), block{Text: more})
	}
	return blocks
}

// mostGaps are as many rows as the first page has of what is missing.
const mostGaps = 12

const missingColumn = 6

func missingIn(row []string) int {
	n, _ := strconv.Atoi(strings.ReplaceAll(row[missingColumn], ",", ""))
	return n
}

// metricTable has a row for each metric of a worker that is chosen.
func metricTable(c *collection.Collection, chosen func(*collection.Metric) bool) table {
	t := table{Heads: []string{"Worker", "Metric", "Interval s", "Seen, median s", "Seen, longest s", "Samples", "Missing", "Late", "Refused"},
		Numeric: []bool{false, false, true, true, true, true, true, true, false}}
	for _, w := range c.Workers {
		for i := range w.Metrics {
			m := &w.Metrics[i]
			if !chosen(m) {
				continue
			}
			name := m.Metric
			if m.Silent {
				name += " (silent at the end)"
			}
			t.Rows = append(t.Rows, []string{w.Worker, name, secondsOf(m.IntervalSeconds), secondsOf(m.SeenMedianSeconds), secondsOf(m.SeenMaxSeconds),
				samples(m.Samples), samples(m.Missing), samples(m.Late), reasonsOf(m.Refused)})
		}
	}
	return t
}

func secondsOf(v *float64) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

// addCollected adds the table of all that was collected, folded.
func (p *page) addCollected(title string, c *collection.Collection) {
	if c != nil {
		p.add(title, tabled(metricTable(c, func(*collection.Metric) bool { return true }))).folded = true
	}
}

// healthBlocks are the collection's health in detail, for the first page.
func (r *RunReport) healthBlocks() (blocks []block) {
	for _, trial := range r.Trials {
		if trial.Report == nil || trial.Report.Collection.Health == nil {
			continue
		}
		whole := wholeBlocks(trial.Report.Collection.Health)
		if len(r.Trials) > 1 {
			whole[0].Text = trial.name() + ": " + whole[0].Text
		}
		blocks = append(blocks, whole...)
	}
	return blocks
}
