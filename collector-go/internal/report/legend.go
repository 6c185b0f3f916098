package report

import (
	"fmt"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bounds of what many workers take: from so many on their lines are thin, with the mean drawn over them, and the legend has so many
// rows.
const (
	manyWorkers = 8
	legendRows  = 2
)

// legend names lines by their colours, in rows.
type legend struct {
	keys []key
	rows int
}

// key is a name at its place, counted from the legend's left end and row.
type key struct {
	name   string
	colour int // of a worker; -1 for none
	x      vg.Length
	row    int
	ink    bool
}

const keyWidth = vg.Length(18)

func legendStyle() text.Style {
	label := style(textSize, ink)
	label.YAlign = text.YCenter
	return label
}

// legend places the workers' names, as many as there is room for.
func (r *Report) legend() legend {
	label, room := legendStyle(), width-2*sideMargin
	l := legend{rows: 1}
	x := vg.Length(0)
	if len(r.Workers) > manyWorkers {
		l.keys, x = append(l.keys, key{name: "mean", ink: true}), keyWidth+label.Width("mean")+16
	}
	for i, w := range r.Workers {
		name := fmt.Sprintf("worker %s (pid %d)", w.Worker, w.Pid)
		needed, more := keyWidth+label.Width(name)+16, fmt.Sprintf("and %d more", len(r.Workers)-i)
		left := room - x
		if l.rows == legendRows && i < len(r.Workers)-1 {
			left -= label.Width(more)
		}
		if needed-16 > left {
			if l.rows == legendRows {
				l.keys = append(l.keys, key{name: more, colour: -1, x: x, row: l.rows - 1})
				return l
			}
			x, l.rows = 0, l.rows+1
		}
		l.keys = append(l.keys, key{name: name, colour: i, x: x, row: l.rows - 1})
		x += needed
	}
	return l
}

// height is that of the figure's head.
func (l legend) height() vg.Length { return headHeight + legendRow*vg.Length(l.rows) }

func (l legend) draw(c draw.Canvas) {
	label := legendStyle()
	for _, k := range l.keys {
		at := vg.Point{X: c.Min.X + k.x, Y: c.Max.Y - 29 - legendRow*vg.Length(k.row)}
		colour := ink
		if !k.ink && k.colour >= 0 {
			colour = workerColour(k.colour)
		}
		if k.colour >= 0 {
			c.StrokeLine2(stroke(colour, 2.4), at.X, at.Y, at.X+14, at.Y)
			at.X += keyWidth
		}
		c.FillText(label, at, k.name)
	}
}
