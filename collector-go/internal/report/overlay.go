package report

import (
	"fmt"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// changeCharts is none where no step is in both.
func (p *ComparedConfiguration) changeCharts(suffix string) []Chart {
	if len(p.Steps) == 0 {
		return nil
	}
	return []Chart{p.changeChart(suffix)}
}

// changeChart shows by how much the figures that matter changed in each step.
func (p *ComparedConfiguration) changeChart(suffix string) Chart {
	chart := Chart{Name: "changes" + nameSuffix(suffix), Title: "Relative change of each step, with its interval" + suffix, xLabel: "steps, each figure beside the others", yLabel: "% of what it was before",
		limit: 0, limitAs: "no change", crop: true}
	names := []string{"CPU of all workers", "GC of all workers", "filter latency, mean", "heap used, mean of a worker"}
	for i, name := range names {
		at := marks{name: name, colour: workerColour(i)}
		bars := marks{colour: workerColour(i), low: []float64{}}
		for n, s := range p.Steps {
			for _, f := range s.Figures {
				x := float64(n+1) + 0.12*float64(i) - 0.18
				if f.Name != name || !f.Ratio.Value.Known() {
					continue
				}
				at.x, at.y = append(at.x, x), append(at.y, 100*float64(f.Ratio.Value))
				if f.Ratio.Low.Known() && f.Ratio.High.Known() {
					bars.x, bars.low, bars.high = append(bars.x, x), append(bars.low, 100*float64(f.Ratio.Low)), append(bars.high, 100*float64(f.Ratio.High))
				}
			}
		}
		chart.marks = append(chart.marks, bars, at)
	}
	for n, s := range p.Steps {
		chart.xNames = append(chart.xNames, plot.Tick{Value: float64(n + 1), Label: s.Name})
	}
	return chart
}

func nameSuffix(suffix string) string {
	if suffix == "" {
		return ""
	}
	return "-" + fileName(suffix[2:])
}

// overlay draws the figures of both over the time since each one's first step began.
func (p *ComparedConfiguration) overlay(suffix string) Chart {
	before, after := p.before.launches[0].report, p.after.launches[0].report
	draws := func(c draw.Canvas) { drawOverlay(before, after, suffix, c) }
	return Chart{Name: "overlay" + nameSuffix(suffix), Title: "Both over time" + suffix, own: draws, ownHeight: figure{panels: overlayPanels(before, after)}.height(overlayLegend(overlayMarks(before, after)).height())}
}

// overlayMarks are the annotations of both, each in its side's colour, at their times since each one's first step began.
func overlayMarks(before, after *Report) (all []axisMark) {
	for side, r := range []*Report{before, after} {
		for _, m := range r.axisMarks() {
			m.ms += before.StartedMs - r.StartedMs
			m.name, m.colour = strconv.Itoa(len(all)+1), workerColour(side)
			m.title = []string{"before: ", "after: "}[side] + m.title
			all = append(all, m)
		}
	}
	return all
}

func overlayLegend(marks []axisMark) legend {
	l := legend{rows: 1, keys: []key{{name: "before", colour: workerColour(0)}, {name: "after", colour: workerColour(1), x: keyWidth + 60}}}
	l.addMarks(marks, markRows)
	return l
}

// overlayPanels are the figures of the topology as a whole, those before in blue, those after in orange.
func overlayPanels(before, after *Report) []panel {
	both := func(figures func(*Report) []Figure) []line {
		return []line{{colour: workerColour(0), figures: figures(before)}, {colour: workerColour(1), figures: before.shifted(after, figures(after))}}
	}
	sum := func(figures func(WorkerReport) []Figure) func(*Report) []Figure {
		return func(r *Report) []Figure { return r.overWorkers(figures, totalOrUnknown) }
	}
	return []panel{
		{name: "queries", title: "Queries running", yLabel: "queries", text: trim, limit: Unknown, lines: both(func(r *Report) []Figure { return r.QueriesRunning })},
		{name: "cpu", title: "CPU time of all workers", yLabel: "ms per minute", text: thousands, right: coresTick, limit: Unknown,
			lines: both(sum(func(w WorkerReport) []Figure { return w.CPUMsPerMinute }))},
		{name: "heap", title: "Heap used, mean of a worker", yLabel: "MiB", text: mebibytes, limit: Unknown,
			lines: both(func(r *Report) []Figure {
				return r.overWorkers(func(w WorkerReport) []Figure { return w.HeapUsedBytes }, average)
			})},
		{name: "gc", title: "GC time of all workers", yLabel: "ms per minute", text: thousands, limit: Unknown, lines: both(sum(func(w WorkerReport) []Figure { return w.GCMsPerMinute }))},
		{name: "latency", title: "Filter latency: mean over tasks", yLabel: "ms, logarithmic", text: trim, log: true, limit: before.Goals.FilterLatencyLimitMs,
			limitAs: "limit " + trim(float64(before.Goals.FilterLatencyLimitMs)) + " ms", lines: both(func(r *Report) []Figure { return r.FilterLatencyMeanMs })},
	}
}

// overWorkers puts the workers' figures together, slice by slice.
func (r *Report) overWorkers(figures func(WorkerReport) []Figure, together func([]Figure) Figure) []Figure {
	out := make([]Figure, len(r.TimesMs))
	for i := range out {
		var all []Figure
		for _, w := range r.Workers {
			all = append(all, figures(w)[i])
		}
		out[i] = together(all)
	}
	return out
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

func drawOverlay(before, after *Report, suffix string, c draw.Canvas) {
	f := figure{panels: overlayPanels(before, after)}
	rectangle(c, paper, c.Min.X, c.Min.Y, c.Max.X, c.Max.Y)
	head := draw.Crop(c, sideMargin, -sideMargin, f.height(0), 0)
	head.FillText(style(titleSize, ink), vg.Point{X: head.Min.X, Y: head.Max.Y - 15},
		fmt.Sprintf("Before and after%s, slices of %d s; the steps are those before (darker: warm-up)", suffix, before.SliceMs/1000))
	axis := before.timeAxis()
	axis.marks = overlayMarks(before, after)
	legend := overlayLegend(axis.marks)
	legend.draw(head)
	axis.drawPanels(f, legend.height(), c)
}
