package chart

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bars is a figure of rows that have a horizontal bar for each of the same few shares.
type Bars struct {
	Name, Title, XLabel string
	Shares              []string // their names
	Rows                []Bar
}

// Bar is a row with its shares, each from 0 to 1.
type Bar struct {
	Name   string
	Shares []float64
}

const barHeight = vg.Length(26)

// rowsHeight is the height of n rows over an x axis.
func rowsHeight(n int, row vg.Length) vg.Length { return row*vg.Length(n) + 50 }

// Figure is the bars as a picture.
func (b Bars) Figure() Figure {
	return Figure{Name: b.Name, Title: b.Title, draw: b.draw, height: func(width vg.Length) vg.Length {
		return b.legend(width).height() + rowsHeight(len(b.Rows), barHeight)
	}}
}

func (b Bars) legend(width vg.Length) legend {
	var k Keys
	for i, name := range b.Shares {
		k.Keys = append(k.Keys, Key{Name: name, Colour: Series(i)})
	}
	return newLegend(width, k)
}

func (b Bars) draw(canvas draw.Canvas) {
	width := canvas.Max.X - canvas.Min.X
	legend := b.legend(width)
	legend.draw(canvas)
	most, names := newSpan(0.05), []string{}
	for _, row := range b.Rows {
		names = append(names, row.Name)
		most.add(row.Shares...)
	}
	plt := rowPlot(b.XLabel, names, width)
	step := niceStep(most.high, parts(width, 90))
	plt.X.Min, plt.X.Max = 0, step*math.Ceil(most.high*1.02/step)
	plt.X.Tick.Marker = ticks(0, plt.X.Max, step, func(v float64) string { return Plain(100*v) + "%" })
	plt.Add(barRows(b.Rows))
	below(legend.height()+4, plt, canvas)
}

// rowPlot has a row for each name, the first at the top.
func rowPlot(xLabel string, names []string, width vg.Length) *plot.Plot {
	plt := newPlot(xLabel, width)
	plt.Y.Min, plt.Y.Max = 0.4, float64(len(names))+0.6
	plt.Y.Tick.Marker, plt.Y.Tick.LineStyle.Width = rowTicks(names), 0
	return plt
}

type barRows []Bar

// Plot draws each row's bars below each other.
func (b barRows) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, row := range b {
		middle := y(float64(len(b) - i))
		for j, share := range row.Shares {
			if known(share) {
				top := middle + 8 - 8*vg.Length(j)
				rectangle(c, Series(j), x(0), top-7, x(share), top)
			}
		}
	}
}
