// Package chart draws figures as SVG and PNG: lines over time, points with a fitted curve, bars and ranges. Each kind
// is a struct with everything that it shows, and makes a Figure, so a caller chooses the values and this package
// chooses axes, colours and sizes.
//
// It must not know what its numbers mean. Start with Figure; plot.go, bars.go, ranges.go and timeline.go are the kinds.
package chart

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// Unknown is a value that is not known: it is a gap in a line, and no limit.
var Unknown = math.NaN()

func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Thousands writes 60000 as "60K", as the document does.
func Thousands(v float64) string {
	switch {
	case math.Abs(v) >= 1e6:
		return Plain(v/1e6) + "M"
	case math.Abs(v) >= 1e3:
		return Plain(v/1e3) + "K"
	}
	return Plain(v)
}

// Plain writes a number without the digits that only rounding made; adding 0 makes -0 a plain 0.
func Plain(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6+0, 'f', -1, 64) }

// Clock writes seconds as minutes and seconds: -30 is "-0:30", 90 is "1:30".
func Clock(seconds float64) string {
	sign, s := "", int(math.Round(seconds))
	if s < 0 {
		sign, s = "-", -s
	}
	return fmt.Sprintf("%s%d:%02d", sign, s/60, s%60)
}

// niceStep is the smallest of 1, 2, 2.5, 5 times a power of ten that divides length into at most parts.
func niceStep(length float64, parts int) float64 {
	if !(length > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(length/float64(parts))))
	for _, factor := range []float64{1, 2, 2.5, 5} {
		if length/(factor*power) <= float64(parts)+1e-9 {
			return factor * power
		}
	}
	return 10 * power
}

// niceTime is the smallest usual number of seconds that divides length into at most parts.
func niceTime(length float64, parts int) float64 {
	for _, step := range []float64{5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200} {
		if length/step <= float64(parts) {
			return step
		}
	}
	return niceStep(length, parts)
}

// ticks are labelled at every multiple of step in [low, high].
func ticks(low, high, step float64, label func(float64) string) plot.ConstantTicks {
	var out plot.ConstantTicks
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9; i++ {
		out = append(out, plot.Tick{Value: i * step, Label: label(i * step)})
	}
	return out
}

// decades are labelled at every power of ten in [low, high], with unlabelled ticks between them.
func decades(low, high float64) plot.ConstantTicks {
	var out plot.ConstantTicks
	for power := low; power <= high*1.001; power *= 10 {
		out = append(out, plot.Tick{Value: power, Label: Plain(power)})
		for i := 2.0; i < 10 && i*power <= high; i++ {
			out = append(out, plot.Tick{Value: i * power})
		}
	}
	return out
}

// Nine is the place of a share below 1 on an axis on which each unit is another nine: 1 for 0.9, 2 for 0.99.
func Nine(share float64) float64 { return -math.Log10(1 - share) }

// nines are labelled with the shares that people ask for.
func nines(high float64) (out plot.ConstantTicks) {
	for _, percent := range []float64{50, 90, 99, 99.9, 99.99, 99.999} {
		if at := Nine(percent / 100); at <= high+1e-9 {
			out = append(out, plot.Tick{Value: at, Label: Plain(percent) + "%"})
		}
	}
	return out
}

func unlabelled(labelled plot.ConstantTicks) plot.ConstantTicks {
	out := make(plot.ConstantTicks, len(labelled))
	for i, tick := range labelled {
		out[i] = plot.Tick{Value: tick.Value}
	}
	return out
}

// rowTicks name rows from the top down: the first stands at n, the last at 1.
func rowTicks(names []string) plot.ConstantTicks {
	var out plot.ConstantTicks
	for i, name := range names {
		out = append(out, plot.Tick{Value: float64(len(names) - i), Label: name})
	}
	return out
}

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

// span is the least and the largest of finite numbers.
type span struct{ low, high, lowPositive float64 }

func newSpan(values ...float64) *span {
	s := &span{math.Inf(1), math.Inf(-1), math.Inf(1)}
	s.add(values...)
	return s
}

func (s *span) add(values ...float64) {
	for _, v := range values {
		if !known(v) {
			continue
		}
		s.low, s.high = min(s.low, v), max(s.high, v)
		if v > 0 {
			s.lowPositive = min(s.lowPositive, v)
		}
	}
}

// nice widens the span to whole steps.
func (s *span) nice(parts int) (low, high float64) {
	if !(s.high > s.low) {
		return min(0, s.low), max(s.high, 1)
	}
	step := niceStep((s.high-s.low)*1.04, parts)
	return step * math.Floor(s.low/step), step * math.Ceil(s.high*1.02/step)
}

// positive is what a logarithmic axis can show.
func (s *span) positive() (low, high float64) {
	if math.IsInf(s.lowPositive, 1) {
		return 1, 10
	}
	return s.lowPositive, s.high
}
