package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Limit is a line across a plot, with its name.
type Limit struct {
	At   float64 // Unknown for none
	Name string
}

// NoLimit draws nothing.
var NoLimit = Limit{At: Unknown}

// Plot draws the line.
func (l Limit) Plot(c draw.Canvas, p *plot.Plot) {
	if !known(l.At) {
		return
	}
	_, y := p.Transforms(&c)
	c.StrokeLine2(stroke(limitColour, 1), c.Min.X, y(l.At), c.Max.X, y(l.At))
	label := style(textSize, limitColour)
	label.YAlign = text.YTop
	c.FillText(label, vg.Point{X: c.Min.X + 4, Y: y(l.At) - 2}, l.Name)
}

// rules are the horizontal lines at the labelled ticks.
type rules struct{}

func (rules) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if tick.Label != "" {
			c.StrokeLine2(stroke(rule, 0.5), c.Min.X, y(tick.Value), c.Max.X, y(tick.Value))
		}
	}
}
