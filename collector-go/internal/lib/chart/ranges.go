package chart

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Ranges is a figure of rows, each with a mean, how far its values scatter, and their range, over an axis that holds 0.
type Ranges struct {
	Name, Title, XLabel string
	Unit                string // written behind each mean
	Rows                []Range
}

// Range is one row. Text is its mean as it is written.
type Range struct {
	Name, Text                   string
	Mean, Deviation, Least, Most float64
}

// Figure is the ranges as a picture.
func (r Ranges) Figure() Figure {
	return Figure{Name: r.Name, Title: r.Title, draw: r.draw, height: func(vg.Length) vg.Length {
		return rowsHeight(len(r.Rows), 2*barHeight)
	}}
}

func (r Ranges) draw(canvas draw.Canvas) {
	x, names := newSpan(0), []string{}
	for _, row := range r.Rows {
		names = append(names, row.Name)
		x.add(row.Mean, row.Least, row.Most, row.Mean-row.Deviation, row.Mean+row.Deviation)
	}
	width := canvas.Max.X - canvas.Min.X
	plt, n := rowPlot(r.XLabel, names, width), parts(width, 90)
	plt.X.Min, plt.X.Max = x.nice(n)
	plt.X.Tick.Marker = ticks(plt.X.Min, plt.X.Max, niceStep(plt.X.Max-plt.X.Min, n), Plain)
	plt.Add(rangeRows(r))
	below(4, plt, canvas)
}

type rangeRows Ranges

// Plot draws each row's range, its deviation over that, and its mean over both.
func (r rangeRows) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	if zero := x(0); zero > c.Min.X {
		c.StrokeLine2(stroke(limitColour, 1), zero, c.Min.Y, zero, c.Max.Y)
	}
	for i, row := range r.Rows {
		at := y(float64(len(r.Rows) - i))
		bar := func(low, high float64, thick vg.Length) {
			if known(low) && known(high) {
				c.StrokeLine2(stroke(Series(0), thick), x(low), at, x(math.Max(low, high)), at)
			}
		}
		bar(row.Least, row.Most, 1)
		bar(row.Mean-row.Deviation, row.Mean+row.Deviation, 4)
		if !known(row.Mean) {
			continue
		}
		c.DrawGlyph(draw.GlyphStyle{Color: Ink, Radius: 3.4, Shape: draw.CircleGlyph{}},
			vg.Point{X: x(row.Mean), Y: at})
		beside := vg.Point{X: min(x(row.Mean)+6, c.Max.X-60), Y: at + 5}
		c.FillText(style(textSize, Muted), beside, row.Text+" "+r.Unit)
	}
}
