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

// gatheredPlaces is from how many places on Gather keeps a column as it is. The head of a shorter column is as long as
// its numbers, so joining it saves half.
const gatheredPlaces = 16

// fullPlaces is from how many places on a column is merged as it is: a longer one would save nothing. (From 256 on it
// would take 1.4% more bytes.)
const fullPlaces = columnPlaces * 3 / 4

// Merge adds all series of the sources to w. The oldest source comes first: if two have a slice of one kind at one
// time, the older one stays. Where the journal was replayed both are the same.
//
// Damage in a source ends it with a *run.DamageError, because the merged file would have a valid checksum and nobody
// would notice the loss. When ctx is done, it stops after the current series with the error of ctx.
func Merge(ctx context.Context, w *Writer, sources []*Part) error {
	return merge(ctx, merger{w: w, full: fullPlaces}, sources)
}

// Gather is Merge without joining any columns but the shortest. It takes a third of the time and a tenth more bytes.
// Use it for parts that are merged again soon; the last merge of a partition joins everything.
func Gather(ctx context.Context, w *Writer, sources []*Part) error {
	return merge(ctx, merger{w: w, full: gatheredPlaces}, sources)
}

// merge walks through all sources at once, in the order of labels, and hands each series to the merger with all cursors
// that stand at it.
func merge(ctx context.Context, m merger, sources []*Part) error {
	cursors := make([]*cursor, 0, len(sources)) // oldest first
	for _, p := range sources {
		c := &cursor{part: p, sharedLabels: &m.sharedLabels}
		if err := c.move(); err == nil {
			cursors = append(cursors, c)
		} else if !errors.Is(err, errEnd) {
			return err
		}
	}
	var same []*cursor // that are at the least series
	for len(cursors) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		same = append(same[:0], cursors[0])
		for _, c := range cursors[1:] {
			if labels.Equal(c.labels, same[0].labels) { // mostly; and where they were read once it costs nothing
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

// merger merges one series after the other and reuses its buffers. Columns that do not overlap in time and are long
// enough are copied as they are; only the others are decoded.
type merger struct {
	w            *Writer
	sharedLabels sharedLabels
	full         int // from how many places on a column stays as it is
	pieces       []found
	values       []float64
	present      []uint64
}

// found is a column of a series, and the cursor of the part that it is in.
type found struct {
	*piece
	at *cursor
}

// series merges one series of several sources. Overlapping columns, which come from a replay of the journal or a
// changed interval, go through woven.
func (m *merger) series(sources []*cursor) error {
	if m.w.o.Levels { // which are made of slices, not of columns
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

// woven merges a series whose columns overlap in time, by decoding all of them. Join then decides which slice stays.
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

// take writes at least the first of some columns that follow each other in time, and returns how many. A long column is
// copied, distributions are decoded and joined, and short columns of numbers on one grid become one.
func (m *merger) take(pieces []found) (int, error) {
	first := pieces[0]
	switch {
	case first.distributions:
		n := 1
		for n < len(pieces) && pieces[n].distributions {
			n++
		}
		return n, m.distributions(pieces[:n])
	case first.places >= m.full:
		src, err := first.bytes()
		if err == nil {
			err = first.damaged(m.w.copyColumn(*first.piece, src))
		}
		return 1, err
	}
	n, places := 1, int64(first.places)
	for ; n < len(pieces); n++ {
		next := pieces[n]
		from := next.firstMs - first.firstMs
		if next.distributions || next.places >= m.full || next.stepMs != first.stepMs || from%first.stepMs != 0 ||
			from/first.stepMs > places+maxGap || from/first.stepMs+int64(next.places) > MaxRunPlaces {
			break
		}
		places = from/first.stepMs + int64(next.places)
	}
	return n, m.numbers(pieces[:n], int(places))
}

// numbers writes columns of one grid as one run. It decodes them side by side into one buffer.
func (m *merger) numbers(pieces []found, places int) error {
	r := run.Run{FirstMs: pieces[0].firstMs, StepMs: pieces[0].stepMs}
	m.values = slices.Grow(m.values[:0], places)[:places]
	m.present = slices.Grow(m.present[:0], (places+63)/64)[:(places+63)/64]
	clear(m.present)
	dense, next := true, 0
	for _, f := range pieces {
		at := int((f.firstMs - r.FirstMs) / r.StepMs)
		src, err := f.bytes()
		if err != nil {
			return err
		}
		present, err := column.Floats(src, m.values[at:at+f.places])
		if err != nil {
			return f.damaged(err)
		}
		orBits(m.present, at, present, f.places)
		dense = dense && at == next && present == nil
		next = at + f.places
	}
	r.Values = m.values
	if !dense {
		r.Present = m.present
	}
	return m.w.addRun(&r)
}

// distributions writes columns of distributions that follow each other. They are always decoded: short columns of one
// shape join, and a column that has more buckets than it may is split again.
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

// bytes is a column as it is kept, with the series' labels in an error.
func (f found) bytes() ([]byte, error) {
	src, err := f.at.part.columnBytes(f.piece)
	return src, f.at.named(err)
}

// damaged names a column that cannot be read, with its series. It returns nil for no error.
func (f found) damaged(err error) error {
	if err == nil {
		return nil
	}
	return f.at.named(f.at.part.columnDamage(err, f.piece))
}
