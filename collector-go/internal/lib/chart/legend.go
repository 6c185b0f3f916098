package chart

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Keys are names of lines or annotations that share rows of a legend. Those for which there is no room in MostRows (0
// for as many as it takes) are counted.
type Keys struct {
	Keys     []Key
	MostRows int
}

// Key is a name with the line that it stands for.
type Key struct {
	Name       string
	Colour     Colour
	Annotation bool // with the line of an annotation

	draw func(draw.Canvas, vg.Point) // in the place of a line
}

const keyWidth = vg.Length(18)

func legendStyle() text.Style {
	label := style(textSize, Ink)
	label.YAlign = text.YCenter
	return label
}

// legend are keys at their places in so much room.
type legend struct {
	room vg.Length
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

func newLegend(width vg.Length, groups ...Keys) legend {
	l := legend{room: (width - 2*sideMargin) / otherFonts}
	for _, g := range groups {
		if len(g.Keys) > 0 {
			l.add(g.Keys, cmp.Or(g.MostRows, math.MaxInt32))
		}
	}
	return l
}

// add places keys in at most so many further rows.
func (l *legend) add(keys []Key, mostRows int) {
	label := legendStyle()
	x, last := vg.Length(0), l.rows+mostRows
	l.rows++
	for i, k := range keys {
		more := fmt.Sprintf("and %d more", len(keys)-i)
		k.Name = clipped(label, l.room-keyWidth-label.Width(more)-32, k.Name)
		needed := keyWidth + label.Width(k.Name) + 16
		left := l.room - x
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

func (l legend) height() vg.Length { return legendRow * vg.Length(l.rows) }

// draw draws the keys at the canvas' top.
func (l legend) draw(c draw.Canvas) {
	label := legendStyle()
	for _, k := range l.keys {
		at := vg.Point{X: c.Min.X + sideMargin + k.x*otherFonts, Y: c.Max.Y - 5 - legendRow*vg.Length(k.row)}
		switch {
		case k.bare:
			at.X -= keyWidth
		case k.Key.draw != nil:
			k.Key.draw(c, at)
		case k.Annotation:
			c.StrokeLine2(annotationPen(k.Colour), at.X, at.Y, at.X+14, at.Y)
		default:
			c.StrokeLine2(stroke(k.Colour, 2.4), at.X, at.Y, at.X+14, at.Y)
		}
		at.X += keyWidth
		c.FillText(label, at, k.Name)
	}
}
