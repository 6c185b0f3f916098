package chart

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"os"
	"path/filepath"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a picture that can be drawn in each form, at each width. A Plot, Bars, Ranges or a Timeline makes one.
type Figure struct {
	// Name is that of its files, without their suffix; Title is written above it.
	Name, Title string
	// Alt is what it shows, for a reader who does not see it; "" for the title.
	Alt string

	height func(width vg.Length) vg.Length // of what stands below the title
	draw   func(draw.Canvas)               // draws that
}

// Widths of a figure: in a file and on a broad screen, and on a telephone, whose letters are as large as the page's.
const (
	broad  = vg.Length(760)
	narrow = vg.Length(340)
)

// pngDPI makes pictures that are sharp on today's screens.
const pngDPI = 144

// SVG is the figure as a vector drawing.
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

// PNG is the figure as a picture.
func (f Figure) PNG() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(broad, f.headHeight(broad)+f.height(broad)), vgimg.UseDPI(pngDPI))
	f.on(draw.New(canvas))
	var out bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&out); err != nil {
		return nil, fmt.Errorf("draw %s.png: %w", f.Name, err)
	}
	return out.Bytes(), nil
}

// Inline is the figure for an HTML page, in the page's colours: two svg elements without a size of their own, of which
// the page shows the one of the class that fits the screen, "broad" or "narrow".
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

// Shows is what the figure shows, in words.
func (f Figure) Shows() string { return cmp.Or(f.Alt, f.Title) }

// title are the lines of the title.
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

// WriteFigures writes each figure as SVG and PNG into dir, which it makes.
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
