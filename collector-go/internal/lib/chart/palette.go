package chart

import (
	"fmt"
	"image/color"
	"strings"
)

// Colour is that of a line, a point or a letter.
type Colour = color.RGBA

func rgb(hex uint32) Colour {
	return Colour{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}

// The colours of the figures. InPage replaces the first group by the page's variables, so that the figures follow light
// and dark; the lines' colours keep their contrast on both.
var (
	Ink    = rgb(0x1f2328)
	Muted  = rgb(0x656d76)
	rule   = rgb(0xd8dee4)
	shade  = rgb(0xf0f3f6)
	warmUp = rgb(0xe2e7ec)
	paper  = rgb(0xffffff)

	limitColour = rgb(0xd13b3b)
	// Change is the colour of an annotation.
	Change = rgb(0x8f5ae8)
)

// variables are the page's names of the colours that change between light and dark.
var variables = map[Colour]string{
	Ink: "var(--ink)", Muted: "var(--muted)", rule: "var(--rule)",
	shade: "var(--shade)", warmUp: "var(--warm-up)", paper: "var(--paper)",
}

// series can be distinguished by most colour-blind readers (after Okabe and Ito), and repeat.
var series = []Colour{
	rgb(0x2b7bd6), rgb(0xd97706), rgb(0x129c78), rgb(0xb85ca8),
	rgb(0x8a8f1e), rgb(0x3da9c9), rgb(0xc44e52), rgb(0x7a68c8),
}

// Series is the colour of the i-th of several lines.
func Series(i int) Colour { return series[i%len(series)] }

// hex is the colour as the SVG canvas writes it.
func hex(c Colour) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// svgFonts is what stands for the font that the drawing was measured with, best first.
const svgFonts = "font-family:'Liberation Sans',Arial,Helvetica,sans-serif"

// inPage gives a drawing the page's colours, and leaves its letters to the page.
func inPage(svg string) string {
	svg = strings.ReplaceAll(svg, svgFonts+";font-variant:normal;font-weight:normal;font-style:normal;", "")
	for colour, variable := range variables {
		svg = strings.ReplaceAll(svg, hex(colour), variable)
	}
	return svg
}
