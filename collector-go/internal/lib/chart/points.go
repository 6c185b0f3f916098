package chart

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Points are points, a line or upright intervals of one kind.
type Points struct {
	Name   string // in the legend; "" for none
	Colour Colour
	X, Y   []float64
	// Low and High, where they are not nil, are the ends of upright intervals in the place of points; an infinite High
	// is drawn as an arrow.
	Low, High []float64
	Joined    bool // as a line rather than as points
	Dashed    bool
	Full      []bool // of each point, false for a hollow one; nil where all are full
}

// Straight is a line over [from, to].
func Straight(name string, colour Colour, from, to float64, at func(x float64) float64) Points {
	line := Points{Name: name, Colour: colour, Joined: true}
	const parts = 64
	for i := range parts + 1 {
		x := from + (to-from)*float64(i)/parts
		line.X, line.Y = append(line.X, x), append(line.Y, at(x))
	}
	return line
}

// key draws the sample of a legend.
func (p Points) key(canvas draw.Canvas, at vg.Point) {
	if p.Joined || p.Low != nil {
		canvas.StrokeLine2(p.pen(), at.X, at.Y, at.X+14, at.Y)
		return
	}
	p.dot(canvas, vg.Point{X: at.X + 7, Y: at.Y}, true)
}

func (p Points) pen() draw.LineStyle {
	if p.Dashed {
		return dashed(p.Colour, 1.6, 5, 3)
	}
	return stroke(p.Colour, 1.6)
}

// Plot draws the points; what is outside the axes or not finite is left out.
func (p Points) Plot(c draw.Canvas, plt *plot.Plot) {
	x, y := plt.Transforms(&c)
	switch {
	case p.Joined:
		p.line(c, x, y)
	case p.Low != nil:
		for i := range p.X {
			p.upright(c, x(p.X[i]), y(math.Max(p.Low[i], plt.Y.Min)), y(math.Min(p.High[i], plt.Y.Max)),
				math.IsInf(p.High[i], 1))
		}
	default:
		for i := range p.X {
			if known(p.Y[i]) {
				p.dot(c, vg.Point{X: x(p.X[i]), Y: y(math.Max(p.Y[i], plt.Y.Min))}, p.Full == nil || p.Full[i])
			}
		}
	}
}

// line joins the points, as far as it is within the axes.
func (p Points) line(c draw.Canvas, x, y func(float64) vg.Length) {
	var line []vg.Point
	for i := range p.X {
		if known(p.Y[i]) {
			line = append(line, vg.Point{X: x(p.X[i]), Y: y(p.Y[i])})
		}
	}
	if len(line) > 1 {
		c.StrokeLines(p.pen(), c.ClipLinesXY(line)...)
	}
}

func (p Points) dot(c draw.Canvas, at vg.Point, full bool) {
	shape := draw.GlyphDrawer(draw.CircleGlyph{})
	if !full {
		shape = draw.RingGlyph{}
	}
	c.DrawGlyph(draw.GlyphStyle{Color: p.Colour, Radius: 3, Shape: shape}, at)
}

// upright draws an interval; one without an upper end becomes an arrow.
func (p Points) upright(c draw.Canvas, x, low, high vg.Length, open bool) {
	pen := stroke(p.Colour, 2)
	if open {
		high = min(c.Max.Y, low+28)
	}
	c.StrokeLine2(pen, x, low, x, high)
	if open {
		c.StrokeLines(pen, []vg.Point{{X: x - 4, Y: high - 6}, {X: x, Y: high}, {X: x + 4, Y: high - 6}})
	}
	c.StrokeLine2(pen, x-4, low, x+4, low)
	if !open {
		c.StrokeLine2(pen, x-4, high, x+4, high)
	}
}

// keys name the points that have a name.
func keys(all []Points) (k Keys) {
	for _, p := range all {
		if p.Name != "" {
			k.Keys = append(k.Keys, Key{Name: p.Name, draw: p.key})
		}
	}
	return k
}
