package chart

import (
	"fmt"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Keys are names of lines or annotations that share rows of a legend. Those for which there is no room in MostRows are
// counted.
type Keys struct {
	Keys     []Key
	MostRows int
}

// Key is a name with the line that it stands for.
type Key struct {
	Name       string
	Colour     Colour
	Annotation bool // with the line of an annotation
}

const keyWidth = vg.Length(18)

func legendStyle() text.Style {
	label := style(textSize, Ink)
	label.YAlign = text.YCenter
	return label
}

// legend are keys at their places.
type legend struct {
	keys []placedKey
	rows int
}

// placedKey is a key at its place, counted from the legend's left end and row.
type placedKey struct {
	Key
	bare bool // without a line
	x    vg.Length
	row  int
}

func newLegend(groups []Keys) (l legend) {
	for _, g := range groups {
		if len(g.Keys) > 0 {
			l.add(g.Keys, g.MostRows)
		}
	}
	return l
}

// add places keys in at most so many further rows.
func (l *legend) add(keys []Key, mostRows int) {
	label, room := legendStyle(), width-2*sideMargin
	x, last := vg.Length(0), l.rows+mostRows
	l.rows++
	for i, k := range keys {
		more := fmt.Sprintf("and %d more", len(keys)-i)
		k.Name = clipped(label, room-keyWidth-label.Width(more)-32, k.Name)
		needed := keyWidth + label.Width(k.Name) + 16
		left := room - x
		if l.rows == last && i < len(keys)-1 {
			left -= label.Width(more)
		}
		if needed-16 > left {
			if l.rows == last {
				l.keys = append(l.keys, placedKey{Key: Key{Name: more}, bare: true, x: x, row: l.rows - 1})
				return
			}
			x, l.rows = 0, l.rows+1
		}
		l.keys = append(l.keys, placedKey{Key: k, x: x, row: l.rows - 1})
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

// height is that of a figure's head with the legend.
func (l legend) height() vg.Length { return headHeight + legendRow*vg.Length(l.rows) }

func (l legend) draw(c draw.Canvas) {
	label := legendStyle()
	for _, k := range l.keys {
		at := vg.Point{X: c.Min.X + sideMargin + k.x, Y: c.Max.Y - 29 - legendRow*vg.Length(k.row)}
		if !k.bare {
			pen := stroke(k.Colour, 2.4)
			if k.Annotation {
				pen = annotationPen(k.Colour)
			}
			c.StrokeLine2(pen, at.X, at.Y, at.X+14, at.Y)
			at.X += keyWidth
		}
		c.FillText(label, at, k.Name)
	}
}
