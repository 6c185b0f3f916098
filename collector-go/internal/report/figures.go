package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
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
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range r.figures() {
		svg, err := r.svg(f)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.name+".svg"), svg, 0o644); err != nil {
			return err
		}
		if err := r.writePNG(f, filepath.Join(dir, f.name+".png")); err != nil {
			return err
		}
	}
	return nil
}

func (f figure) height() vg.Length {
	n := vg.Length(len(f.panels))
	return headHeight + n*panelHeight + (n-1)*panelGap + 38 // the last panel's axis
}

// svgFonts is what stands for the font that the drawing was measured with, best first.
const svgFonts = "font-family:'Liberation Sans',Arial,Helvetica,sans-serif"

func (r *Report) svg(f figure) ([]byte, error) {
	canvas := vgsvg.New(width, f.height())
	r.draw(f, draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("draw %s: %w", f.name, err)
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans"), []byte(svgFonts)), nil
}

// inlineSVG is the figure for a page: without a size of its own, and in the page's colours.
func (r *Report) inlineSVG(f figure) (string, error) {
	svg, err := r.svg(f)
	if err != nil {
		return "", err
	}
	drawing := string(svg)
	start := strings.Index(drawing, "viewBox=")
	if start < 0 {
		return "", fmt.Errorf("draw %s: the SVG has no viewBox", f.name)
	}
	drawing = `<svg role="img" aria-label="` + f.name + ` over time" ` + drawing[start:]
	for colour, variable := range variables {
		drawing = strings.ReplaceAll(drawing, hex(colour), variable)
	}
	return drawing, nil
}

func (r *Report) writePNG(f figure, path string) error {
	canvas := vgimg.NewWith(vgimg.UseWH(width, f.height()), vgimg.UseDPI(pngDPI))
	r.draw(f, draw.New(canvas))
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = vgimg.PngCanvas{Canvas: canvas}.WriteTo(file)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("draw %s: %w", path, err)
	}
	return nil
}

func (r *Report) draw(f figure, c draw.Canvas) {
	rectangle(c, paper, c.Min.X, c.Min.Y, c.Max.X, c.Max.Y)
	r.drawHead(draw.Crop(c, sideMargin, -sideMargin, f.height()-headHeight, 0))
	axis := axis{timesMs: r.TimesMs, sliceMs: r.SliceMs, originMs: r.StartedMs, steps: r.Steps}
	rows := make([][]*plot.Plot, len(f.panels))
	for i, p := range f.panels {
		rows[i] = []*plot.Plot{p.plot(axis, i == 0, i == len(f.panels)-1)}
	}
	tiles := draw.Tiles{Rows: len(rows), Cols: 1, PadY: panelGap, PadLeft: sideMargin, PadRight: sideMargin, PadBottom: 4}
	canvases := plot.Align(rows, tiles, draw.Crop(c, 0, 0, 0, -headHeight))
	for i, row := range rows {
		row[0].Draw(canvases[i][0])
	}
}

// drawHead says what is seen and which colour is which worker.
func (r *Report) drawHead(c draw.Canvas) {
	started := time.UnixMilli(r.StartedMs).UTC().Format("2006-01-02 15:04:05 UTC")
	c.FillText(style(titleSize, ink), vg.Point{X: c.Min.X, Y: c.Max.Y - 15}, fmt.Sprintf(
		"Topology %s, slices of %d s, steps of simultaneous queries from %s (darker: warm-up)", r.Topology, r.SliceMs/1000, started))
	x := c.Min.X
	label := style(textSize, ink)
	label.YAlign = text.YCenter
	for i, w := range r.Workers {
		y := c.Max.Y - 29
		c.StrokeLine2(stroke(workerColour(i), 2.4), x, y, x+14, y)
		name := fmt.Sprintf("worker %s (pid %d)", w.Worker, w.Pid)
		c.FillText(label, vg.Point{X: x + 18, Y: y}, name)
		x += 18 + label.Width(name) + 16
	}
}

// plot is the panel as a plot; labelled writes the steps, last the time.
func (p panel) plot(a axis, labelled, last bool) *plot.Plot {
	plt := plot.New()
	plt.BackgroundColor = nil
	plt.X.Min, plt.X.Max = a.span()
	plt.X.Padding, plt.Y.Padding = 0, 0
	plt.X.Tick.Marker = ticks(plt.X.Min, plt.X.Max, niceTime(plt.X.Max-plt.X.Min, 12), clock)
	p.scaleY(plt)
	p.dress(plt, last)
	plt.Add(bands{a, labelled}, rules{}, heading(p.title), rightMargin{})
	if p.right != nil {
		plt.Add(rightTicks(p.right))
	}
	if p.limit.Known() {
		plt.Add(limit{float64(p.limit), p.limitAs})
	}
	for _, l := range p.lines {
		plt.Add(curve{a, l})
	}
	return plt
}

func (p panel) dress(plt *plot.Plot, last bool) {
	dressAxes(plt)
	plt.Y.Label.Text = p.yLabel
	if last {
		plt.X.Label.Text = "time since the first step began, minutes:seconds"
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
