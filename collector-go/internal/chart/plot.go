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
}

const plotHeight = vg.Length(330)

// Figure is the plot as a picture.
func (p Plot) Figure() Figure {
	return Figure{Name: p.Name, Title: p.Title, height: plotHeight, draw: p.draw}
}

func (p Plot) draw(canvas draw.Canvas) {
	top := 22 + legendRow*vg.Length(drawLegend(canvas, p.Points)) + 4
	if p.LogY {
		canvas.FillText(style(textSize, Muted), vg.Point{X: sideMargin, Y: canvas.Max.Y - top - 9}, p.YLabel)
		top += legendRow + 4
	}
	below(top, p.plot(), canvas)
}

// below draws a plot with so much left above it.
func below(top vg.Length, plt *plot.Plot, canvas draw.Canvas) {
	plt.Draw(draw.Crop(canvas, sideMargin, -sideMargin-8, 4, -top))
}

func (p Plot) plot() *plot.Plot {
	plt := newPlot()
	plt.X.Label.Text = p.XLabel
	// The library makes room for a label beside the middle of the values, which on a logarithmic axis is near its top.
	if !p.LogY {
		plt.Y.Label.Text = p.YLabel
	}
	p.scale(plt)
	plt.Add(rules{}, p.Limit)
	for _, points := range p.Points {
		plt.Add(points)
	}
	return plt
}

// scale lays the axes over everything finite, from 0 unless what is there is negative or the axis is logarithmic.
func (p Plot) scale(plt *plot.Plot) {
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
	plt.X.Min, plt.X.Max = x.nice(8)
	plt.X.Tick.Marker = ticks(plt.X.Min, plt.X.Max, niceStep(plt.X.Max-plt.X.Min, 8), Thousands)
	if len(p.XNames) > 0 {
		plt.X.Min, plt.X.Max, plt.X.Tick.Marker = 0.5, float64(len(p.XNames))+0.5, p.xNames()
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

func (p Plot) xNames() (out plot.ConstantTicks) {
	for i, name := range p.XNames {
		out = append(out, plot.Tick{Value: float64(i + 1), Label: name})
	}
	return out
}
