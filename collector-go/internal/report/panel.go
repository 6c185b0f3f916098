package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// panel is one figure over the run's time axis.
type panel struct {
	name    string // of its files
	title   string
	yLabel  string
	text    func(float64) string // of the ticks at the left
	right   func(float64) string // of the ticks at the right, which show the same in another unit; nil for none
	lines   []line
	limit   Figure // a line across; Unknown for none
	limitAs string
	log     bool // a logarithmic axis, for what spans decades
}

// line is one curve; figures are aligned with the report's slices.
type line struct {
	colour  color.RGBA
	figures []Figure
	dashed  bool
	plain   bool // without marks at the slices
	thin    bool // one of many
}

// pen is the line's width.
func (l line) pen() vg.Length {
	if l.thin {
		return 0.7
	}
	return 1.6
}

// panels are the report's figures from top to bottom.
func (r *Report) panels() []panel {
	byWorker := func(figures func(WorkerReport) []Figure) (lines []line) {
		many := len(r.Workers) > manyWorkers
		for i, w := range r.Workers {
			lines = append(lines, line{colour: workerColour(i), figures: figures(w), thin: many, plain: many})
		}
		if many {
			lines = append(lines, line{colour: ink, figures: r.overWorkers(figures, average), plain: true})
		}
		return lines
	}
	return []panel{
		{name: "queries", title: "Queries running: sum over the JoinBolt's tasks (grey: asked for)", yLabel: "queries", text: trim, limit: Unknown,
			lines: []line{{colour: muted, figures: r.asked(), plain: true}, {colour: ink, figures: r.QueriesRunning}}},
		{name: "cpu", title: "CPU time per worker, user and system", yLabel: "ms per minute", text: thousands, right: coresTick, limit: Unknown,
			lines: byWorker(func(w WorkerReport) []Figure { return w.CPUMsPerMinute })},
		{name: "heap", title: "Heap used per worker, mean of the slice", yLabel: "MiB", text: mebibytes, limit: Unknown,
			lines: byWorker(func(w WorkerReport) []Figure { return w.HeapUsedBytes })},
		{name: "gc", title: "GC time per worker, all collectors", yLabel: "ms per minute", text: thousands, limit: Unknown,
			lines: byWorker(func(w WorkerReport) []Figure { return w.GCMsPerMinute })},
		{name: "latency", title: "Filter latency: mean over tasks (dashed: the slowest task)", yLabel: "ms, logarithmic", text: trim, log: true,
			limit: r.Goals.FilterLatencyLimitMs, limitAs: "limit " + trim(float64(r.Goals.FilterLatencyLimitMs)) + " ms",
			lines: []line{{colour: muted, figures: r.FilterLatencyMaxMs, dashed: true, plain: true}, {colour: ink, figures: r.FilterLatencyMeanMs}}},
	}
}

func coresTick(msPerMinute float64) string {
	if msPerMinute == 0 {
		return "0 cores"
	}
	return cores(msPerMinute)
}

// asked is how many queries were to run in each slice; nothing where a slice spans two steps.
func (r *Report) asked() []Figure {
	return each(r.TimesMs, func(t int64) Figure {
		for _, step := range r.Steps {
			if t-r.SliceMs >= step.StartMs && t <= step.EndMs {
				return Figure(step.Queries)
			}
		}
		return Unknown
	})
}

// heading is what stands above the panel: its title, with the unit where that does not stand at the axis.
func (p panel) heading() string {
	if p.log {
		return p.title + "; " + p.yLabel
	}
	return p.title
}

// span is the least and the largest of the panel's figures, the limit included; false when nothing is known.
func (p panel) span() (low, high float64, known bool) {
	low, high = math.Inf(1), math.Inf(-1)
	include := func(f Figure) {
		if f.Known() && (f > 0 || !p.log) {
			low, high = min(low, float64(f)), max(high, float64(f))
		}
	}
	for _, l := range p.lines {
		for _, f := range l.figures {
			include(f)
		}
	}
	include(p.limit)
	return low, high, high >= low
}

// scaleY sets the axis: from 0, or over whole decades.
func (p panel) scaleY(plt *plot.Plot) {
	low, high, known := p.span()
	if !known {
		low, high = 1, p.unit()
		plt.Add(emptyPanel{})
	}
	if p.log {
		plt.Y.Scale = plot.LogScale{}
		plt.Y.Min, plt.Y.Max = math.Pow(10, math.Floor(math.Log10(low))), max(high*1.6, math.Pow(10, math.Ceil(math.Log10(high))))
		plt.Y.Tick.Marker = decades(plt.Y.Min, plt.Y.Max)
		return
	}
	step := p.step(high)
	plt.Y.Min, plt.Y.Max = 0, step*math.Ceil(max(high, step)*1.02/step)
	plt.Y.Tick.Marker = ticks(0, plt.Y.Max, step, p.text)
}

const yParts = 4

// step is a nice distance of ticks in the unit that the ticks show.
func (p panel) step(high float64) float64 { return niceStep(high*1.02/p.unit(), yParts) * p.unit() }

// unit is one of what the ticks show.
func (p panel) unit() float64 {
	if p.name == "heap" {
		return 1 << 20
	}
	return 1
}

// emptyPanel says that there is nothing to see.
type emptyPanel struct{}

// Plot writes it into the middle.
func (emptyPanel) Plot(c draw.Canvas, _ *plot.Plot) {
	label := style(textSize, muted)
	label.XAlign, label.YAlign = text.XCenter, text.YCenter
	c.FillText(label, c.Center(), "nothing was reported")
}

// Sizes, in points.
const (
	textSize    = vg.Length(9)
	titleSize   = vg.Length(10)
	panelHeight = 118 * vg.Length(1)
	panelGap    = vg.Length(10)
	headHeight  = vg.Length(26) // with no legend below it
	width       = vg.Length(760)
	sideMargin  = vg.Length(8)
)
