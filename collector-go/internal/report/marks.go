package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// marks are points of one kind, with the name that the legend gives them.
type marks struct {
	name   string
	colour color.RGBA
	x, y   []float64
	// low and high are the ends of upright intervals in the place of points; an infinite high is drawn as an arrow.
	low, high []float64
	joined    bool // as a line rather than as points
	dashed    bool
	verdicts  []bool // of each point; false is drawn hollow
}

func (m marks) key(canvas draw.Canvas, at vg.Point) {
	if m.joined || m.low != nil {
		canvas.StrokeLine2(m.pen(), at.X, at.Y, at.X+14, at.Y)
		return
	}
	canvas.DrawGlyph(draw.GlyphStyle{Color: m.colour, Radius: 3, Shape: draw.CircleGlyph{}}, vg.Point{X: at.X + 7, Y: at.Y})
}

func (m marks) pen() draw.LineStyle {
	pen := stroke(m.colour, 1.6)
	if m.dashed {
		pen.Dashes = []vg.Length{5, 3}
	}
	return pen
}

// Plot draws the marks; what is outside the axes or not finite is left out.
func (m marks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	if m.joined {
		m.line(c, x, y)
		return
	}
	if m.low != nil {
		for i := range m.x {
			m.upright(c, x(m.x[i]), y(math.Max(m.low[i], p.Y.Min)), m.high[i], y, p)
		}
		return
	}
	for i := range m.x {
		if Figure(m.y[i]).Known() {
			m.dot(c, vg.Point{X: x(m.x[i]), Y: y(math.Max(m.y[i], p.Y.Min))}, m.verdicts == nil || m.verdicts[i])
		}
	}
}

// line joins the points, as far as it is within the axes.
func (m marks) line(c draw.Canvas, x, y func(float64) vg.Length) {
	var line []vg.Point
	for i := range m.x {
		if Figure(m.y[i]).Known() {
			line = append(line, vg.Point{X: x(m.x[i]), Y: y(m.y[i])})
		}
	}
	if len(line) > 1 {
		c.StrokeLines(m.pen(), c.ClipLinesXY(line)...)
	}
}

func (m marks) dot(c draw.Canvas, at vg.Point, full bool) {
	shape := draw.GlyphDrawer(draw.CircleGlyph{})
	if !full {
		shape = draw.RingGlyph{}
	}
	c.DrawGlyph(draw.GlyphStyle{Color: m.colour, Radius: 3, Shape: shape}, at)
}

// upright draws an interval; one without an upper end becomes an arrow.
func (m marks) upright(c draw.Canvas, x, low vg.Length, high float64, y func(float64) vg.Length, p *plot.Plot) {
	pen := stroke(m.colour, 2)
	if math.IsInf(high, 1) {
		top := min(c.Max.Y, low+28)
		c.StrokeLine2(pen, x, low, x, top)
		c.StrokeLines(pen, []vg.Point{{X: x - 4, Y: top - 6}, {X: x, Y: top}, {X: x + 4, Y: top - 6}})
		c.StrokeLine2(pen, x-4, low, x+4, low)
		return
	}
	top := y(math.Min(high, p.Y.Max))
	c.StrokeLine2(pen, x, low, x, top)
	c.StrokeLine2(pen, x-4, low, x+4, low)
	c.StrokeLine2(pen, x-4, top, x+4, top)
}

// Plot draws the bars.
func (b barMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, component := range b {
		middle := y(float64(len(b) - i))
		for j, share := range component.shares {
			if share.Known() {
				top := middle + 8 - 8*vg.Length(j)
				rectangle(c, workerColour(j), x(0), top-7, x(float64(share)), top)
			}
		}
	}
}
