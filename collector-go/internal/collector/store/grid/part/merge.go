package part

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/column"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// gatheredSlots is the number of slots from which Gather keeps a column as it is. The header of a shorter column is
// as long as its numbers, so joining it saves half.
const gatheredSlots = 16

// fullSlots is the number of slots from which Merge keeps a column as it is, because a longer one would save nothing.
// A limit of 256 would take 1.4% more bytes.
const fullSlots = columnSlots * 3 / 4

// Merge adds all series of the sources to w. Sources must be ordered from the oldest: if two have a slice of one kind
// at one time, the older one stays. If the slices come from a replay of the journal, both are the same.
//
// Damage in a source ends the merge with a *run.DamageError. The merged file would have valid checksums, so nobody
// would notice the loss. If ctx is done, it ends after the current series with ctx's error.
func Merge(ctx context.Context, w *Writer, sources []*Part) error {
	return merge(ctx, merger{w: w, full: fullSlots}, sources)
}

// Gather is like Merge, but only joins the shortest columns. It takes a third of the time and a tenth more bytes. Use
// it for parts that will soon be merged again; the last merge of a partition joins everything.
func Gather(ctx context.Context, w *Writer, sources []*Part) error {
	return merge(ctx, merger{w: w, full: gatheredSlots}, sources)
}

// merge iterates over all sources in the order of labels. It passes each series to the merger with all cursors that are
// at it.
func merge(ctx context.Context, m merger, sources []*Part) error {
	cursors := make([]*cursor, 0, len(sources)) // oldest source first
	for _, p := range sources {
		c := &cursor{part: p, sharedLabels: &m.sharedLabels}
		if err := c.move(); err == nil {
			cursors = append(cursors, c)
		} else if !errors.Is(err, errEnd) {
			return err
		}
	}
	var same []*cursor // the cursors at the least series
	for len(cursors) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		same = append(same[:0], cursors[0])
		for _, c := range cursors[1:] {
			if labels.Equal(c.labels, same[0].labels) { // mostly true, and cheap if the labels were decoded once
				same = append(same, c)
			} else if labels.Compare(c.labels, same[0].labels) < 0 {
				same = append(same[:0], c)
			}
		}
		if err := m.series(same); err != nil {
			return err
		}
		for _, c := range same {
			if err := c.move(); errors.Is(err, errEnd) {
				cursors = slices.DeleteFunc(cursors, func(other *cursor) bool { return other == c })
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// merger merges one series after the other, and reuses its buffers. It copies columns that are long enough and do not
// overlap in time, and decodes only the others.
type merger struct {
	w            *Writer
	sharedLabels sharedLabels
	full         int // number of slots from which a column is kept as it is
	pieces       []found
	values       []float64
	present      []uint64
}

// found is a column of a series with the cursor of its part.
type found struct {
	*piece
	at *cursor
}

// series merges one series of several sources. If the writer makes levels, or if columns overlap after a replay of the
// journal or a changed interval, woven does it.
func (m *merger) series(sources []*cursor) error {
	if m.w.o.Levels { // levels are computed from slices, which must be decoded
		return m.woven(sources)
	}
	m.pieces = m.pieces[:0]
	for _, c := range sources {
		for i := range c.pieces {
			m.pieces = append(m.pieces, found{&c.pieces[i], c})
		}
	}
	slices.SortStableFunc(m.pieces, func(a, b found) int { return cmp.Compare(a.firstMs, b.firstMs) })
	for i := 1; i < len(m.pieces); i++ {
		if m.pieces[i-1].lastMs() >= m.pieces[i].firstMs {
			return m.woven(sources)
		}
	}
	return m.w.add(sources[0].labels, func() error {
		for left := m.pieces; len(left) > 0; {
			n, err := m.take(left)
			if err != nil {
				return err
			}
			left = left[n:]
		}
		return nil
	})
}

// woven merges a series by decoding all its columns. Join then decides which slices stay.
func (m *merger) woven(sources []*cursor) error {
	lists := make([][]run.Run, 0, len(sources))
	for _, c := range sources {
		runs, err := c.part.runs(c.pieces, math.MinInt64, math.MaxInt64, nil)
		if err != nil {
			return c.named(err)
		}
		lists = append(lists, runs)
	}
	return m.w.Add(sources[0].labels, Join(lists...))
}

// take writes at least the first of some columns that follow each other in time, and returns how many. It copies a long
// column. It decodes and joins distributions, and joins short columns of numbers with the same distance and phase.
func (m *merger) take(pieces []found) (int, error) {
	first := pieces[0]
	switch {
	case first.distributions:
		n := 1
		for n < len(pieces) && pieces[n].distributions {
			n++
		}
		return n, m.distributions(pieces[:n])
	case first.slots >= m.full:
		src, err := first.bytes()
		if err == nil {
			err = first.damaged(m.w.copyColumn(*first.piece, src))
		}
		return 1, err
	}
	n, slots := 1, int64(first.slots)
	for ; n < len(pieces); n++ {
		next := pieces[n]
		from := next.firstMs - first.firstMs
		if next.distributions || next.slots >= m.full || next.stepMs != first.stepMs || from%first.stepMs != 0 ||
			from/first.stepMs > slots+maxGap || from/first.stepMs+int64(next.slots) > MaxRunSlots {
			break
		}
		slots = from/first.stepMs + int64(next.slots)
	}
	return n, m.numbers(pieces[:n], int(slots))
}

// numbers writes columns with the same distance and phase as one run. It decodes them into one buffer.
func (m *merger) numbers(pieces []found, slots int) error {
	r := run.Run{FirstMs: pieces[0].firstMs, StepMs: pieces[0].stepMs}
	m.values = slices.Grow(m.values[:0], slots)[:slots]
	m.present = slices.Grow(m.present[:0], (slots+63)/64)[:(slots+63)/64]
	clear(m.present)
	dense, next := true, 0
	for _, f := range pieces {
		at := int((f.firstMs - r.FirstMs) / r.StepMs)
		src, err := f.bytes()
		if err != nil {
			return err
		}
		present, err := column.Floats(src, m.values[at:at+f.slots])
		if err != nil {
			return f.damaged(err)
		}
		orBits(m.present, at, present, f.slots)
		dense = dense && at == next && present == nil
		next = at + f.slots
	}
	r.Values = m.values
	if !dense {
		r.Present = m.present
	}
	return m.w.addRun(&r)
}

// distributions writes columns of distributions that follow each other. It always decodes them: short columns of one
// shape are joined, and a column that would have too many buckets is split again.
func (m *merger) distributions(pieces []found) error {
	lists := make([][]run.Run, 0, len(pieces))
	for _, f := range pieces {
		runs, err := f.at.part.runs([]piece{*f.piece}, f.firstMs, f.lastMs(), nil)
		if err != nil {
			return f.at.named(err)
		}
		lists = append(lists, runs)
	}
	joined := Join(lists...)
	for i := range joined {
		if err := m.w.addRun(&joined[i]); err != nil {
			return err
		}
	}
	return nil
}

// bytes returns an encoded column. Its error names the series.
func (f found) bytes() ([]byte, error) {
	src, err := f.at.part.columnBytes(f.piece)
	return src, f.at.named(err)
}

// damaged returns an error for a column that cannot be read, which names the series, or nil if err is nil.
func (f found) damaged(err error) error {
	if err == nil {
		return nil
	}
	return f.at.named(f.at.part.columnDamage(err, f.piece))
}
