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

// Figure is a picture that can be drawn in each form. A Plot, Bars, Ranges or a Timeline makes one.
type Figure struct {
	// Name is that of its files, without their suffix; Title is written above it.
	Name, Title string
	// Alt is what it shows, for a reader who does not see it; "" for the title.
	Alt string

	height vg.Length
	draw   func(draw.Canvas) // draws what stands below the title
}

// pngDPI makes pictures that are sharp on today's screens.
const pngDPI = 144

// svgFonts is what stands for the font that the drawing was measured with, best first.
const svgFonts = "font-family:'Liberation Sans',Arial,Helvetica,sans-serif"

// SVG is the figure as a vector drawing.
func (f Figure) SVG() ([]byte, error) {
	canvas := vgsvg.New(width, f.height)
	f.on(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("draw %s.svg: %w", f.Name, err)
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans"), []byte(svgFonts)), nil
}

// PNG is the figure as a picture.
func (f Figure) PNG() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(width, f.height), vgimg.UseDPI(pngDPI))
	f.on(draw.New(canvas))
	var out bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&out); err != nil {
		return nil, fmt.Errorf("draw %s.png: %w", f.Name, err)
	}
	return out.Bytes(), nil
}

// Inline is the figure for an HTML page: an svg element without a size of its own, in the page's colours.
func (f Figure) Inline() (string, error) {
	svg, err := f.SVG()
	if err != nil {
		return "", err
	}
	start := bytes.Index(svg, []byte("viewBox="))
	if start < 0 {
		return "", fmt.Errorf("draw %s: the SVG has no viewBox", f.Name)
	}
	return inPage(`<svg role="img" aria-label="` + html.EscapeString(f.Shows()) + `" ` + string(svg[start:])), nil
}

// Shows is what the figure shows, in words.
func (f Figure) Shows() string { return cmp.Or(f.Alt, f.Title) }

func (f Figure) on(c draw.Canvas) {
	rectangle(c, paper, c.Min.X, c.Min.Y, c.Max.X, c.Max.Y)
	c.FillText(style(titleSize, Ink), vg.Point{X: sideMargin, Y: c.Max.Y - 15}, f.Title)
	f.draw(c)
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
