// Package upgrade converts the data directory of bullet-metrics 0.1.0, which kept slices in blocks of Prometheus' tsdb,
// to the grid store. CHANGELOG announces that 0.3.0 removes it. Start with Convert.
//
// The conversion can be interrupted at any time, even by a loss of power. It appends an hour of slices to the grid
// store, waits until they are in parts, and records the hour in a file. The next start continues after the last
// recorded hour. Converting an hour twice does no harm, because the grid store recognises slices that it already has.
// The old directory is deleted last.
package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/blocks"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// OldDir is the directory, inside the data directory, in which an older program kept its slices. convertedFile, in
// OldDir, records up to which time they have been converted, in ms since the Unix epoch. It is deleted together with
// OldDir.
const (
	OldDir        = "embedded"
	convertedFile = "converted"
)

// conversion is one run of Convert. Slices go through Store.Append, like those of a feed, so the same rules reject
// them. The journal positions that it passes to Append stay below the older program's cursor, because the journal is
// read from there afterwards.
type conversion struct {
	edition  *blocks.Edition
	store    *grid.Store
	progress string // path of convertedFile
	logger   *slog.Logger

	position uint64 // rises with each call of Append, and stays below the older program's cursor
	given    uint64 // number of slices, gap markers included
	rejected map[string]int
}

// conversionStep is how much time, in ms, is converted before the progress is recorded.
const conversionStep = int64(time.Hour / time.Millisecond)

// Convert moves the slices of an older program in dataDir to the grid store at gridDir, and then deletes OldDir. It
// does nothing if dataDir has no OldDir. If it is interrupted, the next call continues where this one ended. It opens
// the grid store itself, so it must be called before the store is opened for use.
func Convert(ctx context.Context, dataDir, gridDir string, keep grid.Options, logger *slog.Logger) (err error) {
	dir := filepath.Join(dataDir, OldDir)
	edition, err := blocks.OpenEdition(dir)
	if err != nil || edition == nil {
		return err
	}
	defer func() {
		if edition != nil {
			err = errors.Join(err, edition.Close())
		}
	}()
	keep.Registerer = nil
	store, err := grid.Open(gridDir, keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(context.WithoutCancel(ctx))) }()
	c := &conversion{edition: edition, store: store, progress: filepath.Join(dir, convertedFile), logger: logger,
		position: store.Durable(), rejected: map[string]int{}}
	if store.Durable() < edition.Cursor() {
		err = c.run(ctx)
	}
	if err != nil {
		return fmt.Errorf("convert %s: %w; the next start continues from here", dir, err)
	}
	done := edition
	edition = nil
	return done.Remove()
}

// run converts the remaining hours one by one, and then moves the store's position to the older program's cursor.
func (c *conversion) run(ctx context.Context) error {
	from, to := c.edition.Range()
	begun, done, err := c.done()
	if err != nil {
		return err
	}
	if begun {
		from = max(from, done)
	}
	c.logger.Info("converting the slices of an older release; this happens once", "slices", c.edition.Slices(),
		"from", time.UnixMilli(from).UTC(), "to", time.UnixMilli(to).UTC())
	for at := from; at < to; at += conversionStep {
		if err := c.hour(ctx, at, min(at+conversionStep, to)-1); err != nil {
			return err
		}
		c.logger.Info("converted", "up_to", time.UnixMilli(min(at+conversionStep, to)).UTC(), "slices", c.given)
	}
	// The store now has everything that closed before the older program's cursor. The feed reads the journal from
	// there.
	if _, err := c.store.Append(ctx, c.edition.Cursor(), &slice.Columns{}); err != nil {
		return err
	}
	if err := c.store.Flush(ctx); err != nil {
		return err
	}
	attributes := []any{"slices", c.given, "in_blocks", c.edition.Slices()}
	for reason, n := range c.rejected {
		attributes = append(attributes, "rejected_"+reason, n)
	}
	if begun {
		attributes = append(attributes, "since", "the last start")
	}
	c.logger.Info("converted all slices of an older release", attributes...)
	return nil
}

// done returns the time up to which an earlier start converted, in ms. If the file does not contain a number, the
// process died while it wrote the file. The conversion then begins again, which does not change slices that the store
// already has.
func (c *conversion) done() (begun bool, ms int64, err error) {
	text, err := os.ReadFile(c.progress)
	if errors.Is(err, fs.ErrNotExist) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, err
	}
	ms, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return false, 0, nil // half-written by a crash: begin again
	}
	return true, ms, nil
}

// hour converts the slices that end within [minMs, maxMs], and records that once they are on disk. The record is
// written after the flush, so it never claims more than the parts hold.
func (c *conversion) hour(ctx context.Context, minMs, maxMs int64) error {
	h := hour{c: c, ctx: ctx, minMs: minMs, maxMs: maxMs}
	if err := c.edition.Each(ctx, minMs, maxMs, h.series); err != nil {
		return err
	}
	if err := h.hand(); err != nil {
		return err
	}
	if err := c.store.Flush(ctx); err != nil {
		return err
	}
	return disk.WriteAside(disk.System{}, filepath.Dir(c.progress), c.progress, fmt.Appendln(nil, maxMs+1))
}

// hour is one hour's slices on their way into the grid store. Refs begin at 0 in each hour, because nothing refers to
// them later.
type hour struct {
	c            *conversion
	ctx          context.Context
	minMs, maxMs int64
	columns      slice.Columns
	next         slice.Ref
}

// handSlices limits how many slices are passed to the store at once, and thereby the memory of the columns.
const handSlices = 1 << 16

// series adds the slices of one series. The blocks do not record the distance between its slices, so the smallest one
// that occurs is used. It only determines how slices are stored in memory and on disk.
func (h *hour) series(s storage.Series) error {
	ref := h.next
	h.next++
	points, step := s.Iterator(nil), int64(0)
	definition := len(h.columns.Definitions)
	h.columns.Definitions = append(h.columns.Definitions,
		slice.Definition{Ref: ref, Series: metric.Series{Labels: s.Labels(), Kind: metric.KindGauge}})
	last := int64(-1)
	for kind := points.Seek(h.minMs); kind != chunkenc.ValNone; kind = points.Next() {
		t := points.AtT()
		if t > h.maxMs {
			break
		}
		if last >= 0 && (step == 0 || t-last < step) {
			step = t - last
		}
		last = t
		if kind == chunkenc.ValFloat {
			_, v := points.At()
			h.columns.Refs, h.columns.EndsMs, h.columns.Values = append(h.columns.Refs, ref),
				append(h.columns.EndsMs, t), append(h.columns.Values, v)
			continue
		}
		_, native := points.AtHistogram(nil)
		if value.IsStaleNaN(native.Sum) {
			native = (*histogram.Histogram)(nil)
		}
		h.columns.HistogramRefs, h.columns.HistogramEndsMs = append(h.columns.HistogramRefs, ref),
			append(h.columns.HistogramEndsMs, t)
		h.columns.Histograms = append(h.columns.Histograms, native)
	}
	h.columns.Definitions[definition].IntervalMs = max(step, 1)
	if err := points.Err(); err != nil {
		return fmt.Errorf("%s: %w", s.Labels(), err)
	}
	if h.columns.Len() < handSlices {
		return nil
	}
	return h.hand()
}

// hand passes the columns to the store. If the store's memory is full, hand flushes it and tries again. Rejected slices
// are counted by reason and logged at the end.
func (h *hour) hand() error {
	if h.columns.Len() == 0 {
		return nil
	}
	h.c.position++
	rejected, err := h.c.store.Append(h.ctx, h.c.position, &h.columns)
	if errors.Is(err, grid.ErrNoSpace) {
		if err := h.c.store.Flush(h.ctx); err != nil {
			return err
		}
		rejected, err = h.c.store.Append(h.ctx, h.c.position, &h.columns)
	}
	if err != nil {
		return err
	}
	for reason, n := range rejected {
		h.c.rejected[reason] += n
	}
	h.c.given += uint64(h.columns.Len())
	h.columns.Reset()
	return nil
}
