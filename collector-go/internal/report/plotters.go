package report

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// axis is the time axis that all panels share: seconds since the first step began.
type axis struct {
	timesMs  []int64
	sliceMs  int64
	originMs int64
	steps    []StepReport
	restarts []restart
	marks    []axisMark
	label    string // of the axis; "" for the usual
}

func (a axis) seconds(ms int64) float64 { return float64(ms-a.originMs) / 1000 }

// middle is where the figure of slice i is drawn: it speaks for the whole slice.
func (a axis) middle(i int) float64 { return a.seconds(a.timesMs[i] - a.sliceMs/2) }

func (a axis) span() (low, high float64) {
	high = a.seconds(a.steps[len(a.steps)-1].EndMs)
	if len(a.timesMs) > 0 {
		low = a.seconds(a.timesMs[0] - a.sliceMs)
	}
	return min(low, 0), high
}

func style(size vg.Length, c color.Color) text.Style {
	return text.Style{Color: c, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size), Handler: plot.DefaultTextHandler}
}

func stroke(c color.Color, w vg.Length) draw.LineStyle { return draw.LineStyle{Color: c, Width: w} }

func rectangle(c draw.Canvas, colour color.Color, x0, y0, x1, y1 vg.Length) {
	c.SetColor(colour)
	c.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}

// bands shade every second step and each step's warm-up, and write the steps' names where labelled.
type bands struct {
	axis
	labelled bool
}

func (b bands) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for i, step := range b.steps {
		from, measured, to := x(b.seconds(step.StartMs)), x(b.seconds(step.MeasuredFromMs)), x(b.seconds(step.EndMs))
		if i%2 == 0 {
			rectangle(c, shade, from, c.Min.Y, to, c.Max.Y)
		}
		rectangle(c, warmUp, from, c.Min.Y, measured, c.Max.Y)
		if b.labelled {
			label := style(textSize, muted)
			label.XAlign, label.YAlign = text.XCenter, text.YTop
			c.FillText(label, vg.Point{X: (from + to) / 2, Y: c.Max.Y - 2}, fitting(label, to-from, stepName(step)))
		}
	}
}

// fitting is the name, its first word where all of it is wider than the room, nothing where that is too.
func fitting(label text.Style, room vg.Length, name string) string {
	first, _, _ := strings.Cut(name, " ")
	for _, text := range []string{name, first} {
		if label.Width(text) <= room {
			return text
		}
	}
	return ""
}

// stepName is what the step is called in figures and tables.
func stepName(s StepReport) string {
	if s.Label != "" {
		return s.Label
	}
	return fmt.Sprintf("%d queries", s.Queries)
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

// curve draws a line's known figures; it does not draw across a gap.
type curve struct {
	axis
	line
}

func (v curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	pen := stroke(v.colour, v.pen())
	if v.dashed {
		pen.Dashes = []vg.Length{4, 3}
	}
	var run []vg.Point
	flush := func() {
		v.draw(c, pen, run)
		run = nil
	}
	for i, f := range v.figures {
		if !f.Known() {
			flush()
			continue
		}
		run = append(run, vg.Point{X: x(v.middle(i)), Y: y(math.Max(float64(f), p.Y.Min))})
	}
	flush()
}

func (v curve) draw(c draw.Canvas, pen draw.LineStyle, run []vg.Point) {
	if len(run) > 1 {
		c.StrokeLines(pen, run)
	}
	if v.plain && len(run) > 1 {
		return
	}
	for _, point := range run {
		c.DrawGlyph(draw.GlyphStyle{Color: v.colour, Radius: v.pen() * 1.2, Shape: draw.CircleGlyph{}}, point)
	}
}

// limit draws a line across at a height, with its name.
type limit struct {
	at   float64
	name string
}

func (l limit) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	c.StrokeLine2(stroke(limitColour, 1), c.Min.X, y(l.at), c.Max.X, y(l.at))
	label := style(textSize, limitColour)
	label.YAlign = text.YTop
	c.FillText(label, vg.Point{X: c.Min.X + 4, Y: y(l.at) - 2}, l.name)
}

// heading writes the panel's title above its upper left corner.
type heading string

func (h heading) Plot(c draw.Canvas, _ *plot.Plot) {
	c.FillText(style(titleSize, ink), vg.Point{X: c.Min.X, Y: c.Max.Y + 5}, string(h))
}

func (h heading) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 0, Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{Y: titleSize + 7}}}}
}

// rightTicks write the left axis' ticks in another unit at the right.
type rightTicks func(float64) string

func (r rightTicks) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	label := style(textSize, muted)
	label.YAlign = text.YCenter
	for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if tick.Label != "" {
			c.FillText(label, vg.Point{X: c.Max.X + 5, Y: y(tick.Value)}, r(tick.Value))
		}
	}
}

// rightWidth is kept free at the right of every panel, so that all axes have the same length.
const rightWidth = vg.Length(40)

type rightMargin struct{}

func (rightMargin) Plot(draw.Canvas, *plot.Plot) {}

func (rightMargin) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: rightWidth, Y: 1}}}}
}
