package chart

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Points are points, a line or vertical intervals of one kind.
type Points struct {
	Name   string // in the legend; "" means no entry
	Colour Colour
	X, Y   []float64
	// Low and High, if not nil, are the ends of vertical intervals that replace the points. An infinite High is drawn
	// as an arrow.
	Low, High []float64
	Joined    bool // drawn as a line instead of points
	Dashed    bool
	Full      []bool // for each point: false means hollow; nil means that all are filled
}

// Straight returns a line over [from, to] that follows the function at.
func Straight(name string, colour Colour, from, to float64, at func(x float64) float64) Points {
	line := Points{Name: name, Colour: colour, Joined: true}
	const parts = 64
	for i := range parts + 1 {
		x := from + (to-from)*float64(i)/parts
		line.X, line.Y = append(line.X, x), append(line.Y, at(x))
	}
	return line
}

// key draws the sample for the legend.
func (p Points) key(canvas draw.Canvas, at vg.Point) {
	if p.Joined || p.Low != nil {
		canvas.StrokeLine2(p.pen(), at.X, at.Y, at.X+14, at.Y)
		return
	}
	p.dot(canvas, vg.Point{X: at.X + 7, Y: at.Y}, true)
}

func (p Points) pen() draw.LineStyle {
	if p.Dashed {
		return stroke(p.Colour, 1.6, 5, 3)
	}
	return stroke(p.Colour, 1.6)
}

// Plot implements plot.Plotter. It omits everything outside the axes and values that are not finite.
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

// line draws the part of the line within the axes.
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
	if full {
		c.DrawGlyph(draw.GlyphStyle{Color: p.Colour, Radius: 3, Shape: draw.CircleGlyph{}}, at)
		return
	}
	c.SetLineStyle(stroke(p.Colour, 1.4)) // a RingGlyph is too thin on a dark page
	ring := vg.Path{}
	ring.Move(vg.Point{X: at.X + 3, Y: at.Y})
	ring.Arc(at, 3, 0, 2*math.Pi)
	ring.Close()
	c.Stroke(ring)
}

// upright draws a vertical interval. One without an upper end is drawn as an arrow.
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

// Mark is a vertical line at a value of the x axis. Its name is in the legend.
type Mark struct {
	Name   string
	Colour Colour
	At     float64
}

// Plot implements plot.Plotter.
func (m Mark) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	c.StrokeLine2(stroke(m.Colour, 1.4), x(m.At), c.Min.Y, x(m.At), c.Max.Y)
}

// keys returns the legend's keys for all marks, and for all points with a name.
func (p Plot) keys() (k Keys) {
	for _, m := range p.Marks {
		k.Keys = append(k.Keys, Key{Name: m.Name, Colour: m.Colour})
	}
	for _, points := range p.Points {
		if points.Name != "" {
			k.Keys = append(k.Keys, Key{Name: points.Name, draw: points.key})
		}
	}
	return k
}

// Plot is a figure of measured points and fitted curves.
type Plot struct {
	Name, Title    string
	XLabel, YLabel string
	LogY           bool
	Crop           bool // the x axis begins at the first point instead of 0
	Limit          Limit
	Points         []Points
	Marks          []Mark
	// XNames are labels of the x axis at 1, 2, ... that replace numbers.
	XNames []string
	Nines  bool // the x axis shows shares; Nine computes the positions
}

// Figure returns the plot as a figure.
func (p Plot) Figure() Figure {
	return Figure{Name: p.Name, Title: p.Title, draw: p.draw, height: func(width vg.Length) vg.Length {
		return p.headHeight(width) + min(290, 0.75*width)
	}}
}

// headHeight returns the height of the part above the plot, which is the legend and the label of the y axis.
func (p Plot) headHeight(width vg.Length) vg.Length {
	return newLegend(width, p.keys()).height() + legendRow + 4
}

func (p Plot) draw(canvas draw.Canvas) {
	width := canvas.Max.X - canvas.Min.X
	newLegend(width, p.keys()).draw(canvas)
	top := p.headHeight(width)
	label := clipped(style(textSize, Muted), width-2*sideMargin, p.YLabel)
	canvas.FillText(style(textSize, Muted), vg.Point{X: sideMargin, Y: canvas.Max.Y - top + 5}, label)
	below(top, p.plot(width), canvas)
}

// below draws a plot below a free space of the height top.
func below(top vg.Length, plt *plot.Plot, canvas draw.Canvas) {
	plt.Draw(draw.Crop(canvas, sideMargin, -sideMargin-8, 4, -top))
}

func (p Plot) plot(width vg.Length) *plot.Plot {
	plt := newPlot(p.XLabel, width)
	p.scale(plt, width)
	plt.Add(plotter(rules), p.Limit)
	for _, mark := range p.Marks {
		plt.Add(mark)
	}
	for _, points := range p.Points {
		plt.Add(points)
	}
	return plt
}

// scale sets the axes to the range of all finite values. An axis begins at 0, unless there are negative values or it
// is logarithmic.
func (p Plot) scale(plt *plot.Plot, width vg.Length) {
	x, y := newSpan(), newSpan(p.Limit.At)
	if !p.Crop {
		x.add(0)
	}
	for _, points := range p.Points {
		x.add(points.X...)
		if points.Joined { // a fitted line may be negative where nothing was measured
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

// Bars is a figure of rows with horizontal bars. All rows have the same shares.
type Bars struct {
	Name, Title, XLabel string
	Shares              []string // names of the shares
	Rows                []Bar
}

// Bar is a row with its shares, each from 0 to 1.
type Bar struct {
	Name   string
	Shares []float64
}

const barHeight = vg.Length(26)

// rowsHeight returns the height of n rows with an x axis.
func rowsHeight(n int, row vg.Length) vg.Length { return row*vg.Length(n) + 50 }

// Figure returns the bars as a figure.
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
	plt.Add(plotter(b.rows))
	below(legend.height()+4, plt, canvas)
}

// rowPlot returns a plot with one row per name, the first at the top.
func rowPlot(xLabel string, names []string, width vg.Length) *plot.Plot {
	plt := newPlot(xLabel, width)
	plt.Y.Min, plt.Y.Max = 0.4, float64(len(names))+0.6
	var labels plot.ConstantTicks
	for i, name := range names {
		labels = append(labels, plot.Tick{Value: float64(len(names) - i), Label: name})
	}
	plt.Y.Tick.Marker, plt.Y.Tick.LineStyle.Width = labels, 0
	return plt
}

// rows draws the bars of a row one below the other.
func (b Bars) rows(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, row := range b.Rows {
		middle := y(float64(len(b.Rows) - i))
		for j, share := range row.Shares {
			if known(share) {
				top := middle + 8 - 8*vg.Length(j)
				rectangle(c, Series(j), x(0), top-7, x(share), top)
			}
		}
	}
}

// Ranges is a figure of rows, each with a mean, the deviation of its values, and their range. The axis includes 0.
type Ranges struct {
	Name, Title, XLabel string
	Unit                string // written after each mean
	Rows                []Range
}

// Range is one row. Text is the formatted mean.
type Range struct {
	Name, Text                   string
	Mean, Deviation, Least, Most float64
}

// Figure returns the ranges as a figure.
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
	plt.Add(plotter(r.rows))
	below(4, plt, canvas)
}

// rows draws the range of each row, then the deviation, and then the mean on top.
func (r Ranges) rows(c draw.Canvas, p *plot.Plot) {
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
