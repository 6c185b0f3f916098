package chart

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// TimeAxis is the axis that all panels of a timeline share, in seconds since its origin. Times are ms since the Unix
// epoch.
type TimeAxis struct {
	// EndsMs are the ends of the slices that lines have a value for, each SliceMs wide.
	EndsMs   []int64
	SliceMs  int64
	OriginMs int64
	// Steps are at least one; the axis ends with the last.
	Steps       []Step
	Restarts    []Restart
	Annotations []Annotation
	Label       string // "" for the usual one
}

// Step is a band, of which the warm-up until MeasuredFromMs is darker.
type Step struct {
	Name                           string
	StartMs, MeasuredFromMs, EndMs int64
}

// Restart is a dotted upright line.
type Restart struct {
	Ms     int64
	Colour Colour
}

// Annotation is an upright line with a short name; the title is for the legend.
type Annotation struct {
	Ms          int64
	Name, Title string
	Colour      Colour
}

// Key names the annotation in a legend.
func (a Annotation) Key() Key {
	return Key{Name: fmt.Sprintf("%s  %s", a.Name, a.Title), Colour: a.Colour, Annotation: true}
}

func (a TimeAxis) seconds(ms int64) float64 { return float64(ms-a.OriginMs) / 1000 }

// middle is where the value of slice i is drawn: it stands for the whole slice.
func (a TimeAxis) middle(i int) float64 { return a.seconds(a.EndsMs[i] - a.SliceMs/2) }

func (a TimeAxis) span() (low, high float64) {
	high = a.seconds(a.Steps[len(a.Steps)-1].EndMs)
	if len(a.EndsMs) > 0 {
		low = a.seconds(a.EndsMs[0] - a.SliceMs)
	}
	return min(low, 0), high
}

// bands shade every second step and each step's warm-up, and write the steps' names where labelled.
type bands struct {
	TimeAxis
	labelled bool
}

func (b bands) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for i, step := range b.Steps {
		from, to := x(b.seconds(step.StartMs)), x(b.seconds(step.EndMs))
		if i%2 == 0 {
			rectangle(c, shade, from, c.Min.Y, to, c.Max.Y)
		}
		rectangle(c, warmUp, from, c.Min.Y, x(b.seconds(step.MeasuredFromMs)), c.Max.Y)
		if b.labelled {
			label := style(textSize, Muted)
			label.XAlign, label.YAlign = text.XCenter, text.YTop
			c.FillText(label, vg.Point{X: (from + to) / 2, Y: c.Max.Y - 2}, fitting(label, to-from, step.Name))
		}
	}
}

// moments are the upright lines of restarts and annotations.
type moments struct {
	TimeAxis
	labelled bool
}

// Plot draws the lines; an annotation's name stands above where a restart's would.
func (m moments) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, r := range m.Restarts {
		at := x(m.seconds(r.Ms))
		c.StrokeLine2(dashed(r.Colour, 1, 2, 2), at, c.Min.Y, at, c.Max.Y)
		if m.labelled {
			c.FillText(momentStyle(r.Colour), vg.Point{X: at + 3, Y: c.Min.Y + 2}, "restart")
		}
	}
	for _, a := range m.Annotations {
		at := x(m.seconds(a.Ms))
		c.StrokeLine2(annotationPen(a.Colour), at, c.Min.Y, at, c.Max.Y)
		label := momentStyle(a.Colour)
		if width := label.Width(a.Name); at+3+width > c.Max.X {
			at -= width + 6
		}
		c.FillText(label, vg.Point{X: at + 3, Y: c.Min.Y + textSize + 4}, a.Name)
	}
}

func momentStyle(c Colour) text.Style {
	label := style(textSize, c)
	label.YAlign = text.YBottom
	return label
}
