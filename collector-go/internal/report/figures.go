package report

import (
	"bytes"
	"cmp"
	"fmt"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// timeline is the name of the figure that holds all panels over one axis.
const timeline = "timeline"

// pngDPI makes pictures that are sharp on today's screens.
const pngDPI = 144

// figure is a named picture of one panel or more.
type figure struct {
	name   string
	panels []panel
}

// figures are the timeline with all panels, then each panel alone.
func (r *Report) figures() []figure {
	all := r.panels()
	out := []figure{{timeline, all}}
	for _, p := range all {
		out = append(out, figure{p.name, []panel{p}})
	}
	return out
}

// WriteFigures writes every figure as SVG and PNG into dir.
func (r *Report) WriteFigures(dir string) error {
	var all []*drawing
	for _, f := range r.figures() {
		d := r.drawing(f)
		all = append(all, &d)
	}
	return writeDrawings(all, dir)
}

// drawing is a figure with its forms.
func (r *Report) drawing(f figure) drawing {
	legend := r.legend()
	height := f.height(legend.height())
	draws := func(c draw.Canvas) { r.draw(f, legend, c) }
	return drawing{
		name: f.name, alt: f.name + " over time",
		svg: func() ([]byte, error) { return svgOf(height, draws) },
		png: func() ([]byte, error) { return pngOf(height, draws) },
	}
}

// height is that of the panels below a head.
func (f figure) height(head vg.Length) vg.Length {
	n := vg.Length(len(f.panels))
	return head + n*panelHeight + (n-1)*panelGap + 38 // the last panel's axis
}

// svgFonts is what stands for the font that the drawing was measured with, best first.
const svgFonts = "font-family:'Liberation Sans',Arial,Helvetica,sans-serif"

// svgOf draws a picture of the usual width as SVG.
func svgOf(height vg.Length, draws func(draw.Canvas)) ([]byte, error) {
	canvas := vgsvg.New(width, height)
	draws(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans"), []byte(svgFonts)), nil
}

// pngOf draws it as PNG.
func pngOf(height vg.Length, draws func(draw.Canvas)) ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI))
	draws(draw.New(canvas))
	var out bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(&out)
	return out.Bytes(), err
}

func (r *Report) draw(f figure, legend legend, c draw.Canvas) {
	head := legend.height()
	rectangle(c, paper, c.Min.X, c.Min.Y, c.Max.X, c.Max.Y)
	r.drawHead(draw.Crop(c, sideMargin, -sideMargin, f.height(0), 0), legend)
	r.timeAxis().drawPanels(f, head, c)
}

// timeAxis is that of the report's figures.
func (r *Report) timeAxis() axis {
	return axis{timesMs: r.TimesMs, sliceMs: r.SliceMs, originMs: r.StartedMs, steps: r.Steps, restarts: r.restarts(), marks: r.axisMarks()}
}

// drawPanels draws the panels below the head, over one axis.
func (a axis) drawPanels(f figure, head vg.Length, c draw.Canvas) {
	rows := make([][]*plot.Plot, len(f.panels))
	for i, p := range f.panels {
		rows[i] = []*plot.Plot{p.plot(a, i == 0, i == len(f.panels)-1)}
	}
	tiles := draw.Tiles{Rows: len(rows), Cols: 1, PadY: panelGap, PadLeft: sideMargin, PadRight: sideMargin, PadBottom: 4}
	canvases := plot.Align(rows, tiles, draw.Crop(c, 0, 0, 0, -head))
	for i, row := range rows {
		row[0].Draw(canvases[i][0])
	}
}

// drawHead says what is seen and which colour is which worker.
func (r *Report) drawHead(c draw.Canvas, legend legend) {
	started := time.UnixMilli(r.StartedMs).UTC().Format("2006-01-02 15:04:05 UTC")
	c.FillText(style(titleSize, ink), vg.Point{X: c.Min.X, Y: c.Max.Y - 15}, fmt.Sprintf(
		"Topology %s, slices of %d s, steps of %s from %s (darker: warm-up)", r.Topology, r.SliceMs/1000, r.axisName(), started))
	legend.draw(c)
}

// plot is the panel as a plot; labelled writes the steps, last the time.
func (p panel) plot(a axis, labelled, last bool) *plot.Plot {
	plt := plot.New()
	plt.BackgroundColor = nil
	plt.X.Min, plt.X.Max = a.span()
	plt.X.Padding, plt.Y.Padding = 0, 0
	plt.X.Tick.Marker = ticks(plt.X.Min, plt.X.Max, niceTime(plt.X.Max-plt.X.Min, 12), clock)
	p.scaleY(plt)
	p.dress(plt, a, last)
	plt.Add(bands{a, labelled}, rules{}, heading(p.heading()), rightMargin{})
	if p.right != nil {
		plt.Add(rightTicks(p.right))
	}
	if p.limit.Known() {
		plt.Add(limit{float64(p.limit), p.limitAs})
	}
	for _, l := range p.lines {
		plt.Add(curve{a, l})
	}
	plt.Add(restartMarks{a, labelled}, annotationMarks{a})
	return plt
}

func (p panel) dress(plt *plot.Plot, a axis, last bool) {
	dressAxes(plt)
	if !p.log { // see Chart.plot
		plt.Y.Label.Text = p.yLabel
	}
	if last {
		plt.X.Label.Text = cmp.Or(a.label, "time since the first step began, minutes:seconds")
		return
	}
	plt.X.Tick.Marker = unlabelled(plt.X.Tick.Marker.(plot.ConstantTicks))
}

// dressAxes gives the axes the lines and letters of all figures.
func dressAxes(plt *plot.Plot) {
	for _, axis := range []*plot.Axis{&plt.X, &plt.Y} {
		axis.LineStyle = stroke(muted, 0.6)
		axis.Tick.LineStyle = stroke(muted, 0.6)
		axis.Tick.Length = 4
		label := axis.Tick.Label
		axis.Tick.Label = style(textSize, muted)
		axis.Tick.Label.XAlign, axis.Tick.Label.YAlign = label.XAlign, label.YAlign
		align := axis.Label.TextStyle
		axis.Label.TextStyle = style(textSize, muted)
		axis.Label.TextStyle.XAlign, axis.Label.TextStyle.YAlign, axis.Label.TextStyle.Rotation = align.XAlign, align.YAlign, align.Rotation
	}
}

func unlabelled(marks plot.ConstantTicks) plot.ConstantTicks {
	out := make(plot.ConstantTicks, len(marks))
	for i, tick := range marks {
		out[i] = plot.Tick{Value: tick.Value}
	}
	return out
}
