package chart

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// TimeAxis is the axis that all panels of a timeline share, in seconds since its origin. Times are in ms since the
// Unix epoch.
type TimeAxis struct {
	// EndsMs are the ends of the slices for which lines have a value. Each slice is SliceMs wide.
	EndsMs   []int64
	SliceMs  int64
	OriginMs int64
	// Steps has at least one step. The axis ends with the last one.
	Steps       []Step
	Restarts    []Restart
	Annotations []Annotation
	Label       string // "" means the default label
}

// Step is a band. The warm-up until MeasuredFromMs is darker.
type Step struct {
	Name                           string
	StartMs, MeasuredFromMs, EndMs int64
}

// Restart is a dotted vertical line.
type Restart struct {
	Ms     int64
	Colour Colour
}

// Annotation is a vertical line with a short name. The legend shows its title.
type Annotation struct {
	Ms          int64
	Name, Title string
	Colour      Colour
}

// Key returns the annotation's key for a legend.
func (a Annotation) Key() Key {
	return Key{Name: fmt.Sprintf("%s  %s", a.Name, a.Title), Colour: a.Colour, Annotation: true}
}

func (a TimeAxis) seconds(ms int64) float64 { return float64(ms-a.OriginMs) / 1000 }

// middle returns the middle of slice i, where its value is drawn.
func (a TimeAxis) middle(i int) float64 { return a.seconds(a.EndsMs[i] - a.SliceMs/2) }

func (a TimeAxis) span() (low, high float64) {
	high = a.seconds(a.Steps[len(a.Steps)-1].EndMs)
	if len(a.EndsMs) > 0 {
		low = a.seconds(a.EndsMs[0] - a.SliceMs)
	}
	return min(low, 0), high
}

// labels is an axis whose plotters also write names if labelled is set.
type labels struct {
	TimeAxis
	labelled bool
}

// bands shades every second step and the warm-up of each step, and writes the names of the steps.
func (b labels) bands(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for i, step := range b.Steps {
		from, to := x(b.seconds(step.StartMs)), x(b.seconds(step.EndMs))
		if i%2 == 0 {
			rectangle(c, shade, from, c.Min.Y, to, c.Max.Y)
		}
		rectangle(c, warmUp, from, c.Min.Y, x(b.seconds(step.MeasuredFromMs)), c.Max.Y)
		if b.labelled {
			label := style(textSize, Muted)
			label.XAlign, label.YAlign = text.XCenter, text.YTop
			c.FillText(label, vg.Point{X: (from + to) / 2, Y: c.Max.Y - 2}, fitting(label, to-from, step.Name))
		}
	}
}

// moments draws the vertical lines of restarts and annotations. The name of an annotation, which it always writes, is
// above the position of a restart's label.
func (m labels) moments(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, r := range m.Restarts {
		at := x(m.seconds(r.Ms))
		c.StrokeLine2(stroke(r.Colour, 1, 2, 2), at, c.Min.Y, at, c.Max.Y)
		if m.labelled {
			c.FillText(momentStyle(r.Colour), vg.Point{X: at + 3, Y: c.Min.Y + 2}, "restart")
		}
	}
	for _, a := range m.Annotations {
		at := x(m.seconds(a.Ms))
		c.StrokeLine2(annotationPen(a.Colour), at, c.Min.Y, at, c.Max.Y)
		label := momentStyle(a.Colour)
		if width := label.Width(a.Name); at+3+width > c.Max.X {
			at -= width + 6
		}
		c.FillText(label, vg.Point{X: at + 3, Y: c.Min.Y + textSize + 4}, a.Name)
	}
}

func momentStyle(c Colour) text.Style {
	label := style(textSize, c)
	label.YAlign = text.YBottom
	return label
}

// Panel is one plot of lines over a timeline's axis.
type Panel struct {
	Name   string // file name if the panel is drawn alone
	Title  string
	YLabel string
	// Text formats the ticks at the left. Right formats the ticks at the right, which show the same values in another
	// unit; nil for none.
	Text, Right func(float64) string
	Lines       []Line
	Limit       Limit
	Log         bool    // logarithmic axis, for values that span decades
	Unit        float64 // value of one unit that Text shows; 0 means 1
}

// Line is one curve, with a value for each slice of the axis.
type Line struct {
	Colour Colour
	Values []float64
	Dashed bool
	Plain  bool // without points at the slices
	Thin   bool // for one of many lines
}

// width returns the width of the line.
func (l Line) width() vg.Length {
	if l.Thin {
		return 0.7
	}
	return 1.6
}

// heading returns the text above the panel: its title with the unit.
func (p Panel) heading(width vg.Length) heading {
	return wrapped(titleSize, width-2*sideMargin-rightRoom, p.Title+"; "+p.YLabel)
}

// plot returns the panel over an axis. The first panel has the names of the steps, and the last one the time labels.
func (p Panel) plot(a TimeAxis, first, last bool, width vg.Length) *plot.Plot {
	plt := newPlot("", width)
	plt.X.Min, plt.X.Max = a.span()
	label := func(float64) string { return "" }
	if last {
		label = Clock
		plt.X.Label.Text = cmp.Or(a.Label, "time since the first step began, minutes:seconds")
	}
	plt.X.Tick.Marker = ticks(plt.X.Min, plt.X.Max, niceTime(plt.X.Max-plt.X.Min, parts(width, 63)), label)
	p.scaleY(plt)
	named := labels{a, first}
	plt.Add(plotter(named.bands), plotter(rules), p.heading(width), rightMargin{}, rightTicks(p.Right), p.Limit)
	for _, l := range p.Lines {
		plt.Add(curve{a, l})
	}
	plt.Add(plotter(named.moments))
	return plt
}

// scaleY sets the y axis. It begins at 0, or covers whole decades if it is logarithmic.
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
		plt.Add(plotter(emptyPanel))
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

// emptyPanel says that there are no data.
func emptyPanel(c draw.Canvas, _ *plot.Plot) {
	label := style(textSize, Muted)
	label.XAlign, label.YAlign = text.XCenter, text.YCenter
	c.FillText(label, c.Center(), "nothing was reported")
}

// curve draws the known values of a line. It draws no line across a gap.
type curve struct {
	TimeAxis
	Line
}

func (v curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	pen := stroke(v.Colour, v.width())
	if v.Dashed {
		pen = stroke(v.Colour, v.width(), 4, 3)
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

// heading draws the lines of the panel's title above its upper left corner.
type heading []string

func (h heading) Plot(c draw.Canvas, _ *plot.Plot) {
	for i, line := range h {
		at := vg.Point{X: c.Min.X - headingIndent, Y: c.Max.Y + 5 + titleRow*vg.Length(len(h)-1-i)}
		c.FillText(style(titleSize, Ink), at, line)
	}
}

// headingIndent is how far a heading begins to the left of the axis, above the ticks' labels.
const headingIndent = vg.Length(18)

func (h heading) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 0, Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{Y: titleRow*vg.Length(len(h)) + 4}}}}
}

// rightTicks draws the ticks of the left axis in another unit at the right.
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

// rightMargin reserves space at the right of every panel, so that all axes have the same length.
type rightMargin struct{}

func (rightMargin) Plot(draw.Canvas, *plot.Plot) {}

func (rightMargin) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: rightRoom, Y: 1}}}}
}

// Timeline is a figure of panels that are stacked over one time axis.
type Timeline struct {
	Name, Title, Alt string
	Axis             TimeAxis
	Legend           []Keys
	Panels           []Panel
}

const (
	panelHeight = vg.Length(104) // without its heading
	panelGap    = vg.Length(10)
	axisHeight  = vg.Length(38) // of the last panel
)

// Figure returns the timeline as a figure.
func (t Timeline) Figure() Figure {
	return Figure{
		Name: t.Name, Title: t.Title, Alt: t.Alt, height: func(width vg.Length) vg.Length {
			rows, panel := vg.Length(len(t.Panels)), panelHeight
			for _, p := range t.Panels {
				panel = max(panel, panelHeight+titleRow*vg.Length(len(p.heading(width))))
			}
			return newLegend(width, t.Legend...).height() + rows*panel + (rows-1)*panelGap + axisHeight
		},
		draw: t.draw,
	}
}

func (t Timeline) draw(c draw.Canvas) {
	width := c.Max.X - c.Min.X
	legend := newLegend(width, t.Legend...)
	legend.draw(c)
	rows := make([][]*plot.Plot, len(t.Panels))
	for i, p := range t.Panels {
		rows[i] = []*plot.Plot{p.plot(t.Axis, i == 0, i == len(t.Panels)-1, width)}
	}
	tiles := draw.Tiles{
		Rows: len(rows), Cols: 1, PadY: panelGap, PadLeft: sideMargin, PadRight: sideMargin, PadBottom: 4,
	}
	for i, canvases := range plot.Align(rows, tiles, draw.Crop(c, 0, 0, 0, -legend.height())) {
		rows[i][0].Draw(canvases[0])
	}
}

// Alone returns a timeline with only one panel, with the panel's name.
func (t Timeline) Alone(p Panel) Timeline {
	t.Name, t.Alt, t.Panels = p.Name, p.Name+" over time", []Panel{p}
	return t
}
