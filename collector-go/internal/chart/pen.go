package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes, in points.
const (
	textSize   = vg.Length(9)
	titleSize  = vg.Length(10)
	width      = vg.Length(760)
	sideMargin = vg.Length(8)
	headHeight = vg.Length(26) // with no legend below it
	legendRow  = vg.Length(14)
)

func style(size vg.Length, c Colour) text.Style {
	face := font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
	return text.Style{Color: c, Font: face, Handler: plot.DefaultTextHandler}
}

func stroke(c Colour, w vg.Length) draw.LineStyle { return draw.LineStyle{Color: c, Width: w} }

func dashed(c Colour, w vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: w, Dashes: dashes}
}

func rectangle(c draw.Canvas, colour Colour, x0, y0, x1, y1 vg.Length) {
	c.SetColor(colour)
	c.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}

// newPlot is an empty plot with the lines and letters of all figures.
func newPlot() *plot.Plot {
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
	return plt
}

// like has our letters with another text's place.
func like(other text.Style) text.Style {
	ours := style(textSize, Muted)
	ours.XAlign, ours.YAlign, ours.Rotation = other.XAlign, other.YAlign, other.Rotation
	return ours
}

func annotationPen(c Colour) draw.LineStyle { return dashed(c, 1.1, 5, 2, 1, 2) }
