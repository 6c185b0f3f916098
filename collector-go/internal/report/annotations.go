package report

import (
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Mark is an annotation of the collector on the topology's time axis (docs/topologies.md).
type Mark struct {
	ID      string `json:"id"`
	StartMs int64  `json:"start_ms"`
	// EndMs is 0 of one that is a moment, or open.
	EndMs int64    `json:"end_ms,omitempty"`
	Title string   `json:"title"`
	Text  string   `json:"text"`
	Tags  []string `json:"tags"`
	// Origin is who made it: "registry" (the collector itself), "stream" or "api".
	Origin string `json:"origin"`
}

// The tags of annotations that the figures show in another way: steps as bands, restarts as lines in the worker's colour.
const (
	stepTag    = "step"
	restartTag = "restart"
)

// Bounds of what is shown; report.json has all.
const (
	mostAxisMarks = 30
	mostMarkRows  = 60
)

// axisMark is an upright line with a name on a time axis; the title is for the legend.
type axisMark struct {
	ms     int64
	name   string
	title  string
	colour color.RGBA
}

// annotated are the report's annotations but for its steps, by time.
func (r *Report) annotated() (all []Mark) {
	for _, m := range r.Marks {
		if !slices.Contains(m.Tags, stepTag) {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b Mark) int { return int(a.StartMs - b.StartMs) })
	return all
}

// axisMarks are the annotations on the figures' time axis, numbered; the table names them by the same numbers.
func (r *Report) axisMarks() (all []axisMark) {
	for _, m := range r.annotated() {
		if r.drawn(m) && len(all) < mostAxisMarks {
			all = append(all, axisMark{ms: m.StartMs, name: strconv.Itoa(len(all) + 1), title: m.Title, colour: changeColour})
		}
	}
	return all
}

// sameRestart is how far a restart's annotation may be from the worker's own start.
const sameRestart = int64(2000)

// drawn tells whether an annotation is on the time axis and not there already as a worker's restart.
func (r *Report) drawn(m Mark) bool {
	from, to := r.StartedMs, r.Steps[len(r.Steps)-1].EndMs
	if len(r.TimesMs) > 0 {
		from = min(from, r.TimesMs[0]-r.SliceMs)
	}
	if m.StartMs < from || m.StartMs > to {
		return false
	}
	return !slices.Contains(m.Tags, restartTag) || !slices.ContainsFunc(r.restarts(), func(s restart) bool {
		return s.ms-m.StartMs <= sameRestart && m.StartMs-s.ms <= sameRestart
	})
}

// markBlocks are the annotations with their texts, in words.
func (r *Report) markBlocks() []block {
	if r.Marks == nil {
		return []block{paragraph("What was annotated meanwhile is not kept with these figures.")}
	}
	t := table{Heads: []string{"Mark", "At", "What", "Text", "Tags"}, Numeric: []bool{true, true, false, false, false}}
	all, onAxis := r.annotated(), 0
	for _, m := range all[:min(len(all), mostMarkRows)] {
		name := "–"
		if r.drawn(m) && onAxis < mostAxisMarks {
			onAxis++
			name = strconv.Itoa(onAxis)
		}
		at := clock(float64(m.StartMs-r.StartedMs) / 1000)
		if m.EndMs > 0 {
			at += " to " + clock(float64(m.EndMs-r.StartedMs)/1000)
		}
		t.Rows = append(t.Rows, []string{name, at, m.Title, strings.Join(strings.Split(strings.TrimSpace(m.Text), "\n"), "; "), strings.Join(m.Tags, ", ")})
	}
	if len(t.Rows) == 0 {
		return []block{paragraph("Nothing was annotated meanwhile but the steps.")}
	}
	blocks := []block{tabled(t)}
	if more := len(all) - mostMarkRows; more > 0 {
		blocks = append(blocks, paragraph("%s more in report.json.", numbered(more, "annotation")))
	}
	return blocks
}

// annotationMarks are upright lines with their names.
type annotationMarks struct{ axis }

// Plot draws the lines; a name stands above where a restart's would.
func (m annotationMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, a := range m.marks {
		at := x(m.seconds(a.ms))
		c.StrokeLine2(a.pen(), at, c.Min.Y, at, c.Max.Y)
		label := style(textSize, a.colour)
		label.YAlign = text.YBottom
		if width := label.Width(a.name); at+3+width > c.Max.X {
			at -= width + 6
		}
		c.FillText(label, vg.Point{X: at + 3, Y: c.Min.Y + textSize + 4}, a.name)
	}
}

func (a axisMark) pen() draw.LineStyle {
	pen := stroke(a.colour, 1.1)
	pen.Dashes = []vg.Length{5, 2, 1, 2}
	return pen
}

// text names the mark in a legend.
func (a axisMark) text() string { return fmt.Sprintf("%s  %s", a.name, a.title) }
