package report

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bounds of what many workers take: from so many on their lines are thin, with the mean drawn over them, and the legend has so many
// rows of them, and so many of marks.
const (
	manyWorkers = 8
	legendRows  = 2
	markRows    = 4
	trialRows   = 12
)

// legend names lines by their colours, in rows, and marks by their names.
type legend struct {
	keys []key
	rows int
}

// key is a name at its place, counted from the legend's left end and row.
type key struct {
	name   string
	colour color.RGBA
	bare   bool // without a line
	mark   bool // with that of a mark
	x      vg.Length
	row    int
}

const keyWidth = vg.Length(18)

func legendStyle() text.Style {
	label := style(textSize, ink)
	label.YAlign = text.YCenter
	return label
}

// legend places the workers' names, as many as there is room for, and below them the marks'.
func (r *Report) legend() legend {
	l := legend{}
	var workers []key
	if len(r.Workers) > manyWorkers {
		workers = append(workers, key{name: "mean", colour: ink})
	}
	for i, w := range r.Workers {
		workers = append(workers, key{name: fmt.Sprintf("worker %s (pid %d)", w.Worker, w.Pid), colour: workerColour(i)})
	}
	l.add(workers, legendRows)
	l.addMarks(r.axisMarks(), markRows)
	return l
}

// addMarks names marks in at most so many rows of their own.
func (l *legend) addMarks(marks []axisMark, mostRows int) {
	var keys []key
	for _, m := range marks {
		keys = append(keys, key{name: m.text(), colour: m.colour, mark: true})
	}
	if len(keys) > 0 {
		l.add(keys, mostRows)
	}
}

// add places keys in at most so many further rows; those for which there is no room are counted. No keys take a row.
func (l *legend) add(keys []key, mostRows int) {
	label, room := legendStyle(), width-2*sideMargin
	x, last := vg.Length(0), l.rows+mostRows
	l.rows++
	for i, k := range keys {
		more := fmt.Sprintf("and %d more", len(keys)-i)
		k.name = clipped(label, room-keyWidth-label.Width(more)-32, k.name)
		needed := keyWidth + label.Width(k.name) + 16
		left := room - x
		if l.rows == last && i < len(keys)-1 {
			left -= label.Width(more)
		}
		if needed-16 > left {
			if l.rows == last {
				l.keys = append(l.keys, key{name: more, bare: true, x: x, row: l.rows - 1})
				return
			}
			x, l.rows = 0, l.rows+1
		}
		k.x, k.row = x, l.rows-1
		l.keys = append(l.keys, k)
		x += needed
	}
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

// height is that of the figure's head.
func (l legend) height() vg.Length { return headHeight + legendRow*vg.Length(l.rows) }

func (l legend) draw(c draw.Canvas) {
	label := legendStyle()
	for _, k := range l.keys {
		at := vg.Point{X: c.Min.X + k.x, Y: c.Max.Y - 29 - legendRow*vg.Length(k.row)}
		if !k.bare {
			pen := stroke(k.colour, 2.4)
			if k.mark {
				pen = axisMark{colour: k.colour}.pen()
			}
			c.StrokeLine2(pen, at.X, at.Y, at.X+14, at.Y)
			at.X += keyWidth
		}
		c.FillText(label, at, k.name)
	}
}
