package report

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Chart is a figure of measured points and what was fitted to them.
type Chart struct {
	// Name is that of its files, Title what is seen.
	Name, Title    string
	xLabel, yLabel string
	logY           bool
	crop           bool   // the x axis begins where the marks do, not at 0
	limit          Figure // a line across; Unknown for none
	limitAs        string
	marks          []marks
	bars           []bar
	stages         []tuning.Stage
	// xNames stand at the x axis in the place of numbers.
	xNames plot.ConstantTicks
	// own draws a figure that is no plot of marks, as high as ownHeight.
	own       func(draw.Canvas)
	ownHeight vg.Length
}

// bar is a component's shares, each from 0 to 1.
type bar struct {
	name   string
	shares []Figure
}

// Sizes of a chart, in points.
const (
	chartHeight = vg.Length(330)
	barHeight   = vg.Length(26)
	legendRow   = vg.Length(14)
)

func (c *Chart) height() vg.Length {
	if len(c.bars) > 0 {
		return headHeight + legendRow + barHeight*vg.Length(len(c.bars)) + 50
	}
	if c.own != nil {
		return c.ownHeight
	}
	if len(c.stages) > 0 {
		return headHeight + legendRow + 2*barHeight*vg.Length(len(c.stages)) + 50
	}
	return chartHeight
}

// WriteCharts writes each chart as SVG and PNG into dir.
func WriteCharts(charts []Chart, dir string) error {
	var all []*drawing
	for i := range charts {
		d := charts[i].drawing()
		all = append(all, &d)
	}
	return writeDrawings(all, dir)
}

func (c *Chart) drawing() drawing { return drawing{name: c.Name, alt: c.Title, svg: c.SVG, png: c.PNG} }

// SVG is the chart as a vector drawing.
func (c *Chart) SVG() ([]byte, error) { return svgOf(c.height(), c.draw) }

// PNG is the chart as a picture.
func (c *Chart) PNG() ([]byte, error) { return pngOf(c.height(), c.draw) }

func (c *Chart) draw(canvas draw.Canvas) {
	if c.own != nil {
		c.own(canvas)
		return
	}
	rectangle(canvas, paper, canvas.Min.X, canvas.Min.Y, canvas.Max.X, canvas.Max.Y)
	canvas.FillText(style(titleSize, ink), vg.Point{X: sideMargin, Y: canvas.Max.Y - 15}, c.Title)
	rows := c.drawLegend(canvas)
	top := 22 + legendRow*vg.Length(rows) + 4
	if c.logY {
		canvas.FillText(style(textSize, muted), vg.Point{X: sideMargin, Y: canvas.Max.Y - top - 9}, c.yLabel)
		top += legendRow + 4
	}
	c.plot().Draw(draw.Crop(canvas, sideMargin, -sideMargin-8, 4, -top))
}

// drawLegend names the marks, in as many rows as they take.
func (c *Chart) drawLegend(canvas draw.Canvas) (rows int) {
	label := style(textSize, ink)
	label.YAlign = text.YCenter
	x, y := canvas.Min.X+sideMargin, canvas.Max.Y-22-legendRow/2
	rows = 1
	for _, m := range c.legend() {
		needed := 18 + label.Width(m.name) + 16
		if x > sideMargin && x+needed > canvas.Max.X {
			x, y, rows = canvas.Min.X+sideMargin, y-legendRow, rows+1
		}
		m.key(canvas, vg.Point{X: x, Y: y})
		canvas.FillText(label, vg.Point{X: x + 18, Y: y}, m.name)
		x += needed
	}
	return rows
}

func (c *Chart) legend() []marks {
	if len(c.bars) > 0 {
		return []marks{{name: "CPU cores", colour: workerColour(0), joined: true}, {name: "memory", colour: workerColour(1), joined: true}}
	}
	var named []marks
	for _, m := range c.marks {
		if m.name != "" {
			named = append(named, m)
		}
	}
	return named
}

func (c *Chart) plot() *plot.Plot {
	plt := plot.New()
	plt.BackgroundColor = nil
	plt.X.Padding, plt.Y.Padding = 0, 0
	plt.X.Label.Text = c.xLabel
	if !c.logY { // the library makes room for a label beside the middle of the values, which on a logarithmic axis is near its top
		plt.Y.Label.Text = c.yLabel
	}
	dressAxes(plt)
	switch {
	case len(c.bars) > 0:
		c.scaleBars(plt)
		plt.Add(barMarks(c.bars))
		return plt
	case len(c.stages) > 0:
		c.scaleStages(plt)
		plt.Add(stageMarks(c.stages))
		return plt
	}
	c.scale(plt)
	plt.Add(rules{})
	if c.limit.Known() {
		plt.Add(limit{float64(c.limit), c.limitAs})
	}
	for _, m := range c.marks {
		plt.Add(m)
	}
	return plt
}

// scale lays the axes over everything finite, from 0 unless what is there is negative or the axis is logarithmic.
func (c *Chart) scale(plt *plot.Plot) {
	x, y := newSpan(), newSpan()
	if !c.crop {
		x.add(0)
	}
	for _, m := range c.marks {
		x.add(m.x...)
		if m.joined { // a line may run below 0 where nothing was measured there
			y.add(slices.Max(append([]float64{0}, m.y...)))
		} else {
			y.add(m.y...)
		}
		y.add(m.low...)
		y.add(m.high...)
	}
	y.add(float64(c.limit))
	plt.X.Min, plt.X.Max = x.nice(8)
	plt.X.Tick.Marker = ticks(plt.X.Min, plt.X.Max, niceStep(plt.X.Max-plt.X.Min, 8), thousands)
	if len(c.xNames) > 0 {
		plt.X.Min, plt.X.Max, plt.X.Tick.Marker = 0.5, float64(len(c.xNames))+0.5, c.xNames
	}
	if c.logY {
		least, most := y.positive()
		plt.Y.Scale = plot.LogScale{}
		plt.Y.Min, plt.Y.Max = math.Pow(10, math.Floor(math.Log10(least))), math.Pow(10, math.Ceil(math.Log10(most*1.01)))
		plt.Y.Tick.Marker = decades(plt.Y.Min, plt.Y.Max)
		return
	}
	y.add(0)
	plt.Y.Min, plt.Y.Max = y.nice(6)
	plt.Y.Tick.Marker = ticks(plt.Y.Min, plt.Y.Max, niceStep(plt.Y.Max-plt.Y.Min, 6), thousands)
}

// span is the least and the largest of finite numbers.
type span struct{ low, high, lowPositive float64 }

func newSpan() *span { return &span{math.Inf(1), math.Inf(-1), math.Inf(1)} }

func (s *span) add(values ...float64) {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		s.low, s.high = min(s.low, v), max(s.high, v)
		if v > 0 {
			s.lowPositive = min(s.lowPositive, v)
		}
	}
}

// nice widens the span to whole steps.
func (s *span) nice(parts int) (low, high float64) {
	if !(s.high > s.low) {
		return min(0, s.low), max(s.high, 1)
	}
	step := niceStep((s.high-s.low)*1.04, parts)
	return step * math.Floor(s.low/step), step * math.Ceil(s.high*1.02/step)
}

func (s *span) positive() (low, high float64) {
	if math.IsInf(s.lowPositive, 1) {
		return 1, 10
	}
	return s.lowPositive, s.high
}

// scaleBars puts a component a row, the first at the top.
func (c *Chart) scaleBars(plt *plot.Plot) {
	most := newSpan()
	most.add(0.05)
	var names plot.ConstantTicks
	for i, b := range c.bars {
		names = append(names, plot.Tick{Value: float64(len(c.bars) - i), Label: b.name})
		for _, s := range b.shares {
			most.add(float64(s))
		}
	}
	plt.Y.Min, plt.Y.Max = 0.4, float64(len(c.bars))+0.6
	plt.Y.Tick.Marker, plt.Y.Tick.LineStyle.Width = names, 0
	plt.X.Min = 0
	step := niceStep(most.high, 8)
	plt.X.Max = step * math.Ceil(most.high*1.02/step)
	plt.X.Tick.Marker = ticks(0, plt.X.Max, step, func(v float64) string { return trim(100*v) + "%" })
}

// barMarks are horizontal bars, CPU above memory.
type barMarks []bar
