package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
)

// overlay draws the figures of two trials over the time since each one's first step began.
func overlay(before, after *Report, suffix string) chart.Figure {
	axis := before.timeAxis()
	axis.Annotations = bothAnnotations(before, after)
	sides := []chart.Key{{Name: "before", Colour: chart.Series(0)}, {Name: "after", Colour: chart.Series(1)}}
	return chart.Timeline{
		Name: "overlay" + nameSuffix(suffix), Alt: "Both over time" + suffix,
		Title: fmt.Sprintf("Before and after%s, slices of %d s; the steps are those before (darker: warm-up)",
			suffix, before.SliceMs/1000),
		Axis: axis, Panels: overlayPanels(before, after),
		Legend: []chart.Keys{{Keys: sides, MostRows: 1}, annotationKeys(axis.Annotations, annotationRows)},
	}.Figure()
}

// bothAnnotations are the annotations of both, each in its side's colour, at their times since each one's first step
// began.
func bothAnnotations(before, after *Report) (all []chart.Annotation) {
	for side, r := range []*Report{before, after} {
		for _, a := range r.annotations() {
			a.Ms += before.StartedMs - r.StartedMs
			a.Name, a.Colour = strconv.Itoa(len(all)+1), chart.Series(side)
			a.Title = []string{"before: ", "after: "}[side] + a.Title
			all = append(all, a)
		}
	}
	return all
}

// overlayPanels are the figures of the topology as a whole, those before in blue, those after in orange.
func overlayPanels(before, after *Report) []chart.Panel {
	both := func(figures func(*Report) []Figure) []chart.Line {
		return []chart.Line{
			line(chart.Series(0), figures(before)), line(chart.Series(1), before.shifted(after, figures(after))),
		}
	}
	workers := func(figures func(WorkerReport) []Figure, together func([]Figure) Figure) []chart.Line {
		return both(func(r *Report) []Figure { return r.overWorkers(figures, together) })
	}
	return []chart.Panel{
		panel(queriesPanel, "Queries running", both(func(r *Report) []Figure { return r.QueriesRunning })...),
		panel(cpuPanel, "CPU time of all workers",
			workers(func(w WorkerReport) []Figure { return w.CPUMsPerMinute }, totalOrUnknown)...),
		panel(heapPanel, "Heap used, mean of a worker",
			workers(func(w WorkerReport) []Figure { return w.HeapUsedBytes }, runstore.Average)...),
		panel(gcPanel, "GC time of all workers",
			workers(func(w WorkerReport) []Figure { return w.GCMsPerMinute }, totalOrUnknown)...),
		latencyPanel(before.Goals.FilterLatencyLimitMs,
			both(func(r *Report) []Figure { return r.FilterLatencyMeanMs })...),
	}
}

// shifted lays another report's figures over this one's slices, by the time since each one's first step began.
func (r *Report) shifted(other *Report, figures []Figure) []Figure {
	at := map[int64]Figure{}
	for i, t := range other.TimesMs {
		at[t-other.StartedMs] = figures[i]
	}
	return each(r.TimesMs, func(t int64) Figure {
		if f, found := at[t-r.StartedMs]; found && r.SliceMs == other.SliceMs {
			return f
		}
		return Unknown
	})
}

func nameSuffix(suffix string) string {
	if suffix == "" {
		return ""
	}
	return "-" + fileName(suffix[2:])
}

// fileName keeps what is safe in the name of a file.
func fileName(label string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' {
			return c
		}
		return '-'
	}, label)
}
