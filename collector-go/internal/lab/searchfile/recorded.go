package searchfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Recorded returns a space file whose rows are trials at the file's target; Simulation can replay them. The text is
// written line by line and not marshalled. Each row is therefore one line with its cells in the order of the columns.
// ReadSpace reads it. The search runner writes it after each trial, so that it exists even if the search is
// interrupted.
func (f *File) Recorded(source string, trials []optimize.Trial) []byte {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("space: %s", cell(f.Name))
	line("source: %s", strconv.Quote(source))
	line("table:\n  columns: [%s]\n  rows:", strings.Join(append(f.names(), columns...), ", "))
	space, target := f.Settings.space(), f.OptimizeTarget()
	for _, t := range trials {
		var cells []string
		for i, level := range t.Point {
			cells = append(cells, cell(space.Settings[i].Values[level].Text))
		}
		for _, name := range columns {
			cells = append(cells, map[string]string{
				"records_per_second": figureCell(target.RecordsPerSecond), "queries": figureCell(target.Queries),
				"latency_ms":   figureCell(t.LatencyMs),
				"completeness": figureCell(t.Completeness), "catch_up": figureCell(t.CatchUp),
				"noise":   figureCell(t.Noise),
				"verdict": cell(string(t.Verdict)), "limiter": limiterCell(t.Limiter),
				"seconds": figureCell(tuning.Figure(t.Seconds)),
			}[name])
		}
		line("    - [%s]", strings.Join(cells, ", "))
	}
	return []byte(text.String())
}

// figureCell formats a figure with all its digits, so that a search on the recorded trials makes the same decisions. An
// unknown figure is an empty cell.
func figureCell(f tuning.Figure) string {
	if !f.Known() {
		return `""`
	}
	return strconv.FormatFloat(float64(f), 'g', -1, 64)
}

// limiterCell formats a limiter. A limiter that files may not name becomes an empty cell, because ReadSpace would
// refuse it.
func limiterCell(l tuning.Limiter) string {
	if !slices.Contains(limiters, l) {
		l = ""
	}
	return cell(string(l))
}

// cell formats a text for a flow sequence in YAML: a number as it is, any other text in quotes. Words are always
// quoted, because some, such as no and null, have a different meaning in YAML.
func cell(text string) string {
	if _, is := number(text); is {
		return text
	}
	return strconv.Quote(text)
}
