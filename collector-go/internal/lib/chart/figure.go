package chart

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Sizes in points.
const (
	textSize   = vg.Length(10)
	titleSize  = vg.Length(11)
	titleRow   = vg.Length(14)
	sideMargin = vg.Length(8)
	legendRow  = vg.Length(15)
)

func style(size vg.Length, c Colour) text.Style {
	face := font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
	return text.Style{Color: c, Font: face, Handler: plot.DefaultTextHandler}
}

// otherFonts is how much wider letters may be if the reader has none of the fonts that were used for measuring.
const otherFonts = 1.15

// wrapped breaks a text into lines that fit into the width room.
func wrapped(size, room vg.Length, words string) (lines []string) {
	pen := style(size, Ink)
	room /= otherFonts
	for _, word := range strings.Fields(words) {
		if last := len(lines) - 1; last >= 0 && pen.Width(lines[last]+" "+word) <= room {
			lines[last] += " " + word
		} else {
			lines = append(lines, clipped(pen, room, word))
		}
	}
	return lines
}

// clipped returns a text that fits into the width room. A longer text is cut and ends with "…".
func clipped(label text.Style, room vg.Length, name string) string {
	if label.Width(name) <= room {
		return name
	}
	letters := []rune(name)
	for len(letters) > 1 && label.Width(string(letters)+"…") > room {
		letters = letters[:len(letters)-1]
	}
	return string(letters) + "…"
}

// fitting returns the name if it fits into the width room, otherwise its first word, and otherwise "".
func fitting(label text.Style, room vg.Length, name string) string {
	first, _, _ := strings.Cut(name, " ")
	for _, text := range []string{name, first} {
		if label.Width(text)*otherFonts <= room {
			return text
		}
	}
	return ""
}

func stroke(c Colour, w vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: w, Dashes: dashes}
}

func rectangle(c draw.Canvas, colour Colour, x0, y0, x1, y1 vg.Length) {
	c.SetColor(colour)
	c.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}

// newPlot returns an empty plot with the lines and fonts of all figures, and with a labelled x axis.
func newPlot(xLabel string, width vg.Length) *plot.Plot {
	plt := plot.New()
	plt.BackgroundColor = nil
	plt.X.Padding, plt.Y.Padding = 0, 0
	for _, axis := range []*plot.Axis{&plt.X, &plt.Y} {
		axis.LineStyle = stroke(Muted, 0.6)
		axis.Tick.LineStyle = stroke(Muted, 0.6)
		axis.Tick.Length = 4
		axis.Tick.Label = like(axis.Tick.Label)
		axis.Label.TextStyle = like(axis.Label.TextStyle)
	}
	plt.X.Label.Text = clipped(plt.X.Label.TextStyle, width-60, xLabel)
	return plt
}

// parts returns how many labels of a given width fit on an axis of a given length, and at least 2.
func parts(length, label vg.Length) int { return max(2, int(length/label)) }

// like returns our text style with the alignment of another one.
func like(other text.Style) text.Style {
	ours := style(textSize, Muted)
	ours.XAlign, ours.YAlign, ours.Rotation = other.XAlign, other.YAlign, other.Rotation
	return ours
}

func annotationPen(c Colour) draw.LineStyle { return stroke(c, 1.1, 5, 2, 1, 2) }

// Figure is a picture that can be drawn in several formats and widths. A Plot, Bars, Ranges or a Timeline makes one.
type Figure struct {
	// Name is the name of its files without suffix. Title is written above the picture.
	Name, Title string
	// Alt is the description for readers who cannot see the figure; "" means the title.
	Alt string

	height func(width vg.Length) vg.Length // of the part below the title
	draw   func(draw.Canvas)               // draws the part below the title
}

// Widths of a figure: broad for files and large screens, and narrow for telephones, where the letters are as large as
// those of the page.
const (
	broad  = vg.Length(760)
	narrow = vg.Length(340)
)

// pngDPI is high enough for sharp pictures on current screens.
const pngDPI = 144

// SVG returns the figure as a vector drawing.
func (f Figure) SVG() ([]byte, error) { return f.svg(broad) }

func (f Figure) svg(width vg.Length) ([]byte, error) {
	canvas := vgsvg.New(width, f.headHeight(width)+f.height(width))
	f.on(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("draw %s.svg: %w", f.Name, err)
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans"), []byte(svgFonts)), nil
}

// PNG returns the figure as a bitmap.
func (f Figure) PNG() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(broad, f.headHeight(broad)+f.height(broad)), vgimg.UseDPI(pngDPI))
	f.on(draw.New(canvas))
	var out bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&out); err != nil {
		return nil, fmt.Errorf("draw %s.png: %w", f.Name, err)
	}
	return out.Bytes(), nil
}

// Inline returns the figure for an HTML page, in the page's colours. The result has two svg elements without a size,
// with the classes "broad" and "narrow". The page shows the one that fits the screen.
func (f Figure) Inline() (page string, err error) {
	for i, width := range []vg.Length{broad, narrow} {
		svg, err := f.svg(width)
		if err != nil {
			return "", err
		}
		start := bytes.Index(svg, []byte("viewBox="))
		if start < 0 {
			return "", fmt.Errorf("draw %s: the SVG has no viewBox", f.Name)
		}
		page += inPage(fmt.Sprintf(`<svg class="%s" role="img" aria-label="%s" %s`, []string{"broad", "narrow"}[i],
			html.EscapeString(f.Shows()), svg[start:]))
	}
	return page, nil
}

// Shows returns a description of the figure.
func (f Figure) Shows() string { return cmp.Or(f.Alt, f.Title) }

// title returns the lines of the title.
func (f Figure) title(width vg.Length) []string {
	return wrapped(titleSize, width-2*sideMargin, f.Title)
}

func (f Figure) headHeight(width vg.Length) vg.Length {
	return titleRow*vg.Length(len(f.title(width))) + 8
}

func (f Figure) on(c draw.Canvas) {
	width := c.Max.X - c.Min.X
	rectangle(c, paper, c.Min.X, c.Min.Y, c.Max.X, c.Max.Y)
	for i, line := range f.title(width) {
		c.FillText(style(titleSize, Ink), vg.Point{X: sideMargin, Y: c.Max.Y - titleRow*vg.Length(i+1) - 1}, line)
	}
	f.draw(draw.Crop(c, 0, 0, 0, -f.headHeight(width)))
}

// WriteFigures writes each figure as SVG and PNG into dir, which it creates if necessary.
func WriteFigures(all []Figure, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range all {
		for suffix, form := range map[string]func() ([]byte, error){".svg": f.SVG, ".png": f.PNG} {
			picture, err := form()
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, f.Name+suffix), picture, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// Limit is a horizontal line across a plot, with its name.
type Limit struct {
	At   float64 // Unknown means no limit
	Name string
}

// NoLimit draws nothing.
var NoLimit = Limit{At: Unknown}

// Plot implements plot.Plotter.
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

// plotter is a function that draws a part of a plot.
type plotter func(draw.Canvas, *plot.Plot)

// Plot implements plot.Plotter.
func (f plotter) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }

// rules draws the horizontal lines at the labelled ticks.
func rules(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if tick.Label != "" {
			c.StrokeLine2(stroke(rule, 0.5), c.Min.X, y(tick.Value), c.Max.X, y(tick.Value))
		}
	}
}

// Keys are names of lines or annotations that share rows of a legend. They take at most MostRows rows; 0 means any
// number. If the rows are not sufficient, the legend says how many keys are missing.
type Keys struct {
	Keys     []Key
	MostRows int
}

// Key is a name with the line that it explains.
type Key struct {
	Name       string
	Colour     Colour
	Annotation bool // draws the line of an annotation

	draw func(draw.Canvas, vg.Point) // replaces the line; may be nil
}

const keyWidth = vg.Length(18)

func legendStyle() text.Style {
	label := style(textSize, Ink)
	label.YAlign = text.YCenter
	return label
}

// legend is a list of keys with their positions in a given width.
type legend struct {
	room vg.Length
	keys []placedKey
	rows int
}

// placedKey is a key with its position, relative to the legend's left end and first row.
type placedKey struct {
	Key
	bare bool // without a line
	x    vg.Length
	row  int
}

func newLegend(width vg.Length, groups ...Keys) legend {
	l := legend{room: (width - 2*sideMargin) / otherFonts}
	for _, g := range groups {
		if len(g.Keys) > 0 {
			l.add(g.Keys, cmp.Or(g.MostRows, math.MaxInt32))
		}
	}
	return l
}

// add places keys in at most mostRows additional rows.
func (l *legend) add(keys []Key, mostRows int) {
	label := legendStyle()
	x, last := vg.Length(0), l.rows+mostRows
	l.rows++
	for i, k := range keys {
		more := fmt.Sprintf("and %d more", len(keys)-i)
		room := l.room - keyWidth
		if mostRows < math.MaxInt32 {
			room -= label.Width(more) + 32
		}
		k.Name = clipped(label, room, k.Name)
		needed := keyWidth + label.Width(k.Name) + 16
		left := l.room - x
		if l.rows == last && i < len(keys)-1 {
			left -= label.Width(more)
		}
		if needed-16 > left {
			if l.rows == last {
				l.keys = append(l.keys, placedKey{Key: Key{Name: more}, bare: true, x: x, row: l.rows - 1})
				return
			}
			x, l.rows = 0, l.rows+1
		}
		l.keys = append(l.keys, placedKey{Key: k, x: x, row: l.rows - 1})
		x += needed
	}
}

func (l legend) height() vg.Length { return legendRow * vg.Length(l.rows) }

// draw draws the keys at the top of the canvas.
func (l legend) draw(c draw.Canvas) {
	label := legendStyle()
	for _, k := range l.keys {
		at := vg.Point{X: c.Min.X + sideMargin + k.x*otherFonts, Y: c.Max.Y - 5 - legendRow*vg.Length(k.row)}
		switch {
		case k.bare:
			at.X -= keyWidth
		case k.Key.draw != nil:
			k.Key.draw(c, at)
		case k.Annotation:
			c.StrokeLine2(annotationPen(k.Colour), at.X, at.Y, at.X+14, at.Y)
		default:
			c.StrokeLine2(stroke(k.Colour, 2.4), at.X, at.Y, at.X+14, at.Y)
		}
		at.X += keyWidth
		c.FillText(label, at, k.Name)
	}
}
