package chart

import (
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes, in points.
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

// otherFonts is how much wider letters may be where the reader has none of the fonts that were measured.
const otherFonts = 1.15

// wrapped are the lines of a text that has so much room.
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

// clipped is a text that fits into the room, cut where it does not.
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

// fitting is the name, its first word where all of it is wider than the room, nothing where that is too.
func fitting(label text.Style, room vg.Length, name string) string {
	first, _, _ := strings.Cut(name, " ")
	for _, text := range []string{name, first} {
		if label.Width(text)*otherFonts <= room {
			return text
		}
	}
	return ""
}

func stroke(c Colour, w vg.Length) draw.LineStyle { return draw.LineStyle{Color: c, Width: w} }

func dashed(c Colour, w vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: w, Dashes: dashes}
}

func rectangle(c draw.Canvas, colour Colour, x0, y0, x1, y1 vg.Length) {
	c.SetColor(colour)
	c.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}

// newPlot is an empty plot with the lines and letters of all figures, over an x axis with a label.
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

// parts are as many as an axis of a length has room for labels that are so wide.
func parts(length, label vg.Length) int { return max(2, int(length/label)) }

// like has our letters with another text's place.
func like(other text.Style) text.Style {
	ours := style(textSize, Muted)
	ours.XAlign, ours.YAlign, ours.Rotation = other.XAlign, other.YAlign, other.Rotation
	return ours
}

func annotationPen(c Colour) draw.LineStyle { return dashed(c, 1.1, 5, 2, 1, 2) }
