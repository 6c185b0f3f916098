// Package chart draws figures as SVG and PNG: lines over time, points with a fitted curve, bars and ranges. Each kind
// is a struct with everything that it shows, and makes a Figure. A caller therefore chooses the values, and this
// package chooses axes, colours and sizes.
//
// The package must not know what its numbers mean. Start with Figure. plot.go has Plot, Bars and Ranges, and
// timeline.go has Timeline.
package chart

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// Unknown is an unknown value. It is a gap in a line, and means no limit in Limit.
var Unknown = math.NaN()

func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Thousands formats 60000 as "60K", as "Tuning and Performance of Bullet in Storm" does.
func Thousands(v float64) string {
	switch {
	case math.Abs(v) >= 1e6:
		return Plain(v/1e6) + "M"
	case math.Abs(v) >= 1e3:
		return Plain(v/1e3) + "K"
	}
	return Plain(v)
}

// Plain formats a number rounded to six decimals, which removes rounding errors. Adding 0 changes -0 to 0.
func Plain(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6+0, 'f', -1, 64) }

// Clock formats seconds as minutes and seconds: -30 is "-0:30", 90 is "1:30".
func Clock(seconds float64) string {
	sign, s := "", int(math.Round(seconds))
	if s < 0 {
		sign, s = "-", -s
	}
	return fmt.Sprintf("%s%d:%02d", sign, s/60, s%60)
}

// niceStep returns the smallest of 1, 2, 2.5, 5 times a power of ten that divides length into at most parts parts.
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

// niceTime returns the smallest usual number of seconds that divides length into at most parts parts.
func niceTime(length float64, parts int) float64 {
	for _, step := range []float64{5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200} {
		if length/step <= float64(parts) {
			return step
		}
	}
	return niceStep(length, parts)
}

// ticks returns labelled ticks at every multiple of step in [low, high].
func ticks(low, high, step float64, label func(float64) string) plot.ConstantTicks {
	var out plot.ConstantTicks
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9; i++ {
		out = append(out, plot.Tick{Value: i * step, Label: label(i * step)})
	}
	return out
}

// decades returns labelled ticks at every power of ten in [low, high], with unlabelled ticks between them.
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

// Nine returns the position of a share below 1 on an axis where each unit is one more nine: 1 for 0.9, 2 for 0.99.
func Nine(share float64) float64 { return -math.Log10(1 - share) }

// nines returns ticks for such an axis, labelled with common shares.
func nines(high float64) (out plot.ConstantTicks) {
	for _, percent := range []float64{50, 90, 99, 99.9, 99.99, 99.999} {
		if at := Nine(percent / 100); at <= high+1e-9 {
			out = append(out, plot.Tick{Value: at, Label: Plain(percent) + "%"})
		}
	}
	return out
}

// Colour is the colour of a line, a point or a text.
type Colour = color.RGBA

func rgb(hex uint32) Colour {
	return Colour{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}

// The colours of the figures. inPage replaces the first group by variables of the page, so that the figures follow its
// light or dark mode. The colours of lines have enough contrast in both modes.
var (
	Ink    = rgb(0x1f2328)
	Muted  = rgb(0x656d76)
	rule   = rgb(0xd8dee4)
	shade  = rgb(0xf0f3f6)
	warmUp = rgb(0xe2e7ec)
	paper  = rgb(0xffffff)

	limitColour = rgb(0xd13b3b)
	// Good and Bad are the colours of marks at values that were good or bad.
	Good = rgb(0x1a7f37)
	Bad  = rgb(0xcf222e)
	// Change is the colour of an annotation.
	Change = rgb(0x8f5ae8)
)

// variables are the page's names of the colours that differ between light and dark mode.
var variables = map[Colour]string{
	Ink: "var(--ink)", Muted: "var(--muted)", rule: "var(--rule)",
	shade: "var(--shade)", warmUp: "var(--warm-up)", paper: "var(--paper)", Good: "var(--ok)", Bad: "var(--fail)",
}

// series are colours that most colour-blind readers can distinguish (after Okabe and Ito). They repeat after the last
// one.
var series = []Colour{
	rgb(0x2b7bd6), rgb(0xd97706), rgb(0x129c78), rgb(0xb85ca8),
	rgb(0x8a8f1e), rgb(0x3da9c9), rgb(0xc44e52), rgb(0x7a68c8),
}

// Series returns the colour of the i-th of several lines.
func Series(i int) Colour { return series[i%len(series)] }

// hex returns the colour in the form of the SVG canvas.
func hex(c Colour) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// svgFonts are the fonts that replace the one that was used for measuring, best first.
const svgFonts = "font-family:'Liberation Sans',Arial,Helvetica,sans-serif"

// inPage makes a drawing use the page's colours and fonts.
func inPage(svg string) string {
	svg = strings.ReplaceAll(svg, svgFonts+";font-variant:normal;font-weight:normal;font-style:normal;", "")
	for colour, variable := range variables {
		svg = strings.ReplaceAll(svg, hex(colour), variable)
	}
	return svg
}

// span is the range of finite numbers. lowPositive is the smallest positive one.
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

// nice returns the span extended to whole steps.
func (s *span) nice(parts int) (low, high float64) {
	if !(s.high > s.low) {
		return min(0, s.low), max(s.high, 1)
	}
	step := niceStep((s.high-s.low)*1.04, parts)
	return step * math.Floor(s.low/step), step * math.Ceil(s.high*1.02/step)
}

// positive returns the part of the span that a logarithmic axis can show.
func (s *span) positive() (low, high float64) {
	if math.IsInf(s.lowPositive, 1) {
		return 1, 10
	}
	return s.lowPositive, s.high
}
