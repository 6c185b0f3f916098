package chart

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Plot is a figure of measured points and what was fitted to them.
type Plot struct {
	Name, Title    string
	XLabel, YLabel string
	LogY           bool
	Crop           bool // the x axis begins where the points do, not at 0
	Limit          Limit
	Points         []Points
	// XNames stand at the x axis at 1, 2, ... in the place of numbers.
	XNames []string
	Nines  bool // the x axis is of shares, each unit another nine: Nine has their places
}

// Figure is the plot as a picture.
func (p Plot) Figure() Figure {
	return Figure{Name: p.Name, Title: p.Title, draw: p.draw, height: func(width vg.Length) vg.Length {
		return p.headHeight(width) + min(290, 0.75*width)
	}}
}

// headHeight is that of what stands above the plot: its legend, and what its y axis is.
func (p Plot) headHeight(width vg.Length) vg.Length {
	return newLegend(width, keys(p.Points)).height() + legendRow + 4
}

func (p Plot) draw(canvas draw.Canvas) {
	width := canvas.Max.X - canvas.Min.X
	newLegend(width, keys(p.Points)).draw(canvas)
	top := p.headHeight(width)
	label := clipped(style(textSize, Muted), width-2*sideMargin, p.YLabel)
	canvas.FillText(style(textSize, Muted), vg.Point{X: sideMargin, Y: canvas.Max.Y - top + 5}, label)
	below(top, p.plot(width), canvas)
}

// below draws a plot with so much left above it.
func below(top vg.Length, plt *plot.Plot, canvas draw.Canvas) {
	plt.Draw(draw.Crop(canvas, sideMargin, -sideMargin-8, 4, -top))
}

func (p Plot) plot(width vg.Length) *plot.Plot {
	plt := newPlot(p.XLabel, width)
	p.scale(plt, width)
	plt.Add(rules{}, p.Limit)
	for _, points := range p.Points {
		plt.Add(points)
	}
	return plt
}

// scale lays the axes over everything finite, from 0 unless what is there is negative or the axis is logarithmic.
func (p Plot) scale(plt *plot.Plot, width vg.Length) {
	x, y := newSpan(), newSpan(p.Limit.At)
	if !p.Crop {
		x.add(0)
	}
	for _, points := range p.Points {
		x.add(points.X...)
		if points.Joined { // a line may run below 0 where nothing was measured there
			y.add(slices.Max(append([]float64{0}, points.Y...)))
		} else {
			y.add(points.Y...)
		}
		y.add(points.Low...)
		y.add(points.High...)
	}
	n := parts(width, 90)
	plt.X.Min, plt.X.Max = x.nice(n)
	plt.X.Tick.Marker = ticks(plt.X.Min, plt.X.Max, niceStep(plt.X.Max-plt.X.Min, n), Thousands)
	switch {
	case len(p.XNames) > 0:
		plt.X.Min, plt.X.Max, plt.X.Tick.Marker = 0.5, float64(len(p.XNames))+0.5, p.xNames(width)
	case p.Nines:
		plt.X.Tick.Marker = nines(plt.X.Max)
	}
	if p.LogY {
		least, most := y.positive()
		plt.Y.Scale = plot.LogScale{}
		plt.Y.Min, plt.Y.Max = math.Pow(10, math.Floor(math.Log10(least))), math.Pow(10,
			math.Ceil(math.Log10(most*1.01)))
		plt.Y.Tick.Marker = decades(plt.Y.Min, plt.Y.Max)
		return
	}
	y.add(0)
	plt.Y.Min, plt.Y.Max = y.nice(6)
	plt.Y.Tick.Marker = ticks(plt.Y.Min, plt.Y.Max, niceStep(plt.Y.Max-plt.Y.Min, 6), Thousands)
}

func (p Plot) xNames(width vg.Length) (out plot.ConstantTicks) {
	room := (width-60)/vg.Length(len(p.XNames)) - 4
	for i, name := range p.XNames {
		out = append(out, plot.Tick{Value: float64(i + 1), Label: fitting(style(textSize, Muted), room, name)})
	}
	return out
}
