package searchfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Recorded is a space as data whose rows are trials of the file's own settings at the file's target: what Simulation
// gives them back from. It is text and not marshalled, so that a row is one line and the cells stand in the order of
// the columns. ReadSpace reads it back. The search runner writes it after each trial, so that it is there when a search
// is interrupted.
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

// figureCell writes a figure with all its digits, so that a search on the recorded trials takes the same way. An
// unknown one is an empty cell.
func figureCell(f tuning.Figure) string {
	if !f.Known() {
		return `""`
	}
	return strconv.FormatFloat(float64(f), 'g', -1, 64)
}

// limiterCell leaves out a limiter that no file names. The file would otherwise be refused when it is read back.
func limiterCell(l tuning.Limiter) string {
	if !slices.Contains(limiters, l) {
		l = ""
	}
	return cell(string(l))
}

// cell is a text on a line of YAML: a plain number or word, or in quotes. Words are always quoted: some, such as no or
// null, mean something else to YAML.
func cell(text string) string {
	if _, is := number(text); is {
		return text
	}
	return strconv.Quote(text)
}
