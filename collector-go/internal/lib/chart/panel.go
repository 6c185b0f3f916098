package chart

import (
	"cmp"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Panel is one plot of lines over a timeline's axis.
type Panel struct {
	Name   string // of its files, where it stands alone
	Title  string
	YLabel string
	// Text writes the ticks at the left, Right those at the right, which show the same in another unit; nil for none.
	Text, Right func(float64) string
	Lines       []Line
	Limit       Limit
	Log         bool    // a logarithmic axis, for what spans decades
	Unit        float64 // how much is one of what Text shows; 0 for 1
}

// Line is one curve, with a value for each of the axis' slices.
type Line struct {
	Colour Colour
	Values []float64
	Dashed bool
	Plain  bool // without points at the slices
	Thin   bool // one of many
}

// width is that of the line.
func (l Line) width() vg.Length {
	if l.Thin {
		return 0.7
	}
	return 1.6
}

// heading is what stands above the panel: its title, with the unit.
func (p Panel) heading(width vg.Length) heading {
	return wrapped(titleSize, width-2*sideMargin-rightRoom, p.Title+"; "+p.YLabel)
}

// plot is the panel over an axis; first writes the steps' names, last the time.
func (p Panel) plot(a TimeAxis, first, last bool, width vg.Length) *plot.Plot {
	plt := newPlot("", width)
	plt.X.Min, plt.X.Max = a.span()
	times := ticks(plt.X.Min, plt.X.Max, niceTime(plt.X.Max-plt.X.Min, parts(width, 63)), Clock)
	plt.X.Tick.Marker = unlabelled(times)
	if last {
		plt.X.Tick.Marker = times
		plt.X.Label.Text = cmp.Or(a.Label, "time since the first step began, minutes:seconds")
	}
	p.scaleY(plt)
	plt.Add(bands{a, first}, rules{}, p.heading(width), rightMargin{}, rightTicks(p.Right), p.Limit)
	for _, l := range p.Lines {
		plt.Add(curve{a, l})
	}
	plt.Add(moments{a, first})
	return plt
}

// scaleY sets the axis: from 0, or over whole decades.
func (p Panel) scaleY(plt *plot.Plot) {
	unit, values := cmp.Or(p.Unit, 1), newSpan(p.Limit.At)
	for _, l := range p.Lines {
		values.add(l.Values...)
	}
	low, high := values.low, values.high
	if p.Log {
		low = values.lowPositive
	}
	if !(high >= low) {
		low, high = 1, unit
		plt.Add(emptyPanel{})
	}
	if p.Log {
		plt.Y.Scale = plot.LogScale{}
		plt.Y.Min = math.Pow(10, math.Floor(math.Log10(low)))
		plt.Y.Max = max(high*1.6, math.Pow(10, math.Ceil(math.Log10(high))))
		plt.Y.Tick.Marker = decades(plt.Y.Min, plt.Y.Max)
		return
	}
	const parts = 4
	step := niceStep(high*1.02/unit, parts) * unit
	plt.Y.Min, plt.Y.Max = 0, step*math.Ceil(max(high, step)*1.02/step)
	plt.Y.Tick.Marker = ticks(0, plt.Y.Max, step, p.Text)
}

// emptyPanel states that there is nothing to see.
type emptyPanel struct{}

// Plot writes it into the middle.
func (emptyPanel) Plot(c draw.Canvas, _ *plot.Plot) {
	label := style(textSize, Muted)
	label.XAlign, label.YAlign = text.XCenter, text.YCenter
	c.FillText(label, c.Center(), "nothing was reported")
}

// curve draws a line's known values; it does not draw across a gap.
type curve struct {
	TimeAxis
	Line
}

func (v curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	pen := stroke(v.Colour, v.width())
	if v.Dashed {
		pen = dashed(v.Colour, v.width(), 4, 3)
	}
	var run []vg.Point
	for i, value := range v.Values {
		if known(value) {
			run = append(run, vg.Point{X: x(v.middle(i)), Y: y(math.Max(value, p.Y.Min))})
			continue
		}
		v.draw(c, pen, run)
		run = nil
	}
	v.draw(c, pen, run)
}

func (v curve) draw(c draw.Canvas, pen draw.LineStyle, run []vg.Point) {
	if len(run) > 1 {
		c.StrokeLines(pen, run)
	}
	if v.Plain && len(run) > 1 {
		return
	}
	for _, point := range run {
		c.DrawGlyph(draw.GlyphStyle{Color: v.Colour, Radius: v.width() * 1.2, Shape: draw.CircleGlyph{}}, point)
	}
}

// heading writes the lines of the panel's title above its upper left corner.
type heading []string

func (h heading) Plot(c draw.Canvas, _ *plot.Plot) {
	for i, line := range h {
		at := vg.Point{X: c.Min.X - headingIndent, Y: c.Max.Y + 5 + titleRow*vg.Length(len(h)-1-i)}
		c.FillText(style(titleSize, Ink), at, line)
	}
}

// headingIndent is how far a heading begins before the axis, above the ticks' labels.
const headingIndent = vg.Length(18)

func (h heading) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 0, Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{Y: titleRow*vg.Length(len(h)) + 4}}}}
}

// rightTicks write the left axis' ticks in another unit at the right.
type rightTicks func(float64) string

func (r rightTicks) Plot(c draw.Canvas, p *plot.Plot) {
	if r == nil {
		return
	}
	_, y := p.Transforms(&c)
	label := style(textSize, Muted)
	label.YAlign = text.YCenter
	for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if tick.Label != "" {
			c.FillText(label, vg.Point{X: c.Max.X + 5, Y: y(tick.Value)}, r(tick.Value))
		}
	}
}

const rightRoom = vg.Length(44)

// rightMargin is kept free at the right of every panel, so that all axes have the same length.
type rightMargin struct{}

func (rightMargin) Plot(draw.Canvas, *plot.Plot) {}

func (rightMargin) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: rightRoom, Y: 1}}}}
}
