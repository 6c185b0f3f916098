// Package blocks writes and reads Prometheus' block format. It exports the slices of a store as blocks, which promtool,
// Thanos and Mimir can read. It also reads the blocks in which the first edition of the embedded store kept its slices
// (decision 9). It knows neither the journal nor the grid store. Start with Export.
package blocks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// Width is the time range of an exported block in ms. It is the shortest that Prometheus itself writes, so every reader
// supports it. Blocks begin at multiples of it.
const Width int64 = 2 * 3600 * 1000

// commitSamples limits the number of slices that the appender holds in addition to the block.
const commitSamples = 50_000

// Written describes one block that Export wrote, or a time range without slices.
type Written struct {
	ID         string // a ULID, which is also the name of the block's directory
	FromMs     int64  // the block has the slices that end at or after FromMs
	ToMs       int64  // and before ToMs
	Slices     int
	HasNothing bool // no block was written, because no slice ends in this range
}

// Export writes the slices that end within [fromMs, toMs] as blocks below dir, which it creates if necessary. It writes
// one block for each Width of time, oldest first, and holds one block in memory. It calls done after each block is
// complete on disk.
//
// Export keeps existing files in dir. Exporting twice therefore writes the same slices twice, which readers treat as
// one. Any error ends the export, and so does a warning about damage, because a block without some slices would look
// complete.
func Export(ctx context.Context, from storage.Queryable, dir string, fromMs, toMs int64, done func(Written)) error {
	// "promtool tsdb dump" fails without an (empty) directory for the write-ahead log.
	if err := os.MkdirAll(filepath.Join(dir, "wal"), 0o750); err != nil {
		return err
	}
	for start := floor(fromMs); start <= toMs; start += Width {
		w, err := exportBlock(ctx, from, dir, max(start, fromMs), min(start+Width-1, toMs))
		if err != nil {
			return fmt.Errorf("export slices from %d ms to %d ms: %w", w.FromMs, w.ToMs-1, err)
		}
		done(w)
	}
	return nil
}

// floor returns the largest multiple of Width that is not above ms.
func floor(ms int64) int64 { return ms - (ms%Width+Width)%Width }

// exportBlock writes one block, unless no slice ends in its range. It builds the block in memory and writes it at the
// end.
func exportBlock(ctx context.Context, from storage.Queryable, dir string, minMs, maxMs int64) (w Written, err error) {
	w = Written{FromMs: minMs, ToMs: maxMs + 1}
	q, err := from.Querier(minMs, maxMs)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	block, err := tsdb.NewBlockWriter(slog.New(slog.DiscardHandler), dir, Width)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, block.Close()) }()
	b := &builder{ctx: ctx, block: block, minMs: minMs, maxMs: maxMs}
	set := q.Select(ctx, true, &storage.SelectHints{Start: minMs, End: maxMs},
		labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, ".+"))
	for set.Next() {
		if err := b.series(set.At()); err != nil {
			return w, err
		}
	}
	if err := errors.Join(set.Err(), errors.Join(set.Warnings().AsErrors()...), b.commit()); err != nil {
		return w, err
	}
	w.Slices = b.total
	if w.HasNothing = b.total == 0; w.HasNothing {
		return w, nil
	}
	id, err := block.Flush(ctx)
	w.ID = id.String()
	return w, err
}

// builder fills one block. It commits repeatedly, which keeps the appender's own memory small.
type builder struct {
	ctx          context.Context
	block        *tsdb.BlockWriter
	minMs, maxMs int64

	app            storage.Appender
	pending, total int
	points         chunkenc.Iterator
}

// series adds the slices of one series that end within the block's range. An error names the series and the slice's
// time.
func (b *builder) series(s storage.Series) error {
	if b.app == nil {
		b.app = b.block.Appender(b.ctx)
	}
	b.points = s.Iterator(b.points)
	var ref storage.SeriesRef
	for kind := b.points.Seek(b.minMs); kind != chunkenc.ValNone; kind = b.points.Next() {
		t, v, h, fh := int64(math.MaxInt64), 0.0, (*histogram.Histogram)(nil), (*histogram.FloatHistogram)(nil)
		switch kind {
		case chunkenc.ValFloat:
			t, v = b.points.At()
		case chunkenc.ValHistogram:
			t, h = b.points.AtHistogram(nil)
		case chunkenc.ValFloatHistogram:
			t, fh = b.points.AtFloatHistogram(nil)
		}
		if t > b.maxMs {
			break
		}
		var err error
		if h != nil || fh != nil {
			ref, err = b.app.AppendHistogram(ref, s.Labels(), t, h, fh)
		} else {
			ref, err = b.app.Append(ref, s.Labels(), t, v)
		}
		if err != nil {
			return fmt.Errorf("%s at %d ms: %w", s.Labels(), t, err)
		}
		b.pending++
		b.total++
	}
	if err := b.points.Err(); err != nil {
		return fmt.Errorf("%s: %w", s.Labels(), err)
	}
	if b.pending < commitSamples {
		return nil
	}
	return b.commit()
}

// commit moves the appended slices from the appender into the block.
func (b *builder) commit() error {
	if b.app == nil {
		return nil
	}
	app := b.app
	b.app, b.pending = nil, 0
	return app.Commit()
}
