// Package upgrade converts the data directory of bullet-metrics 0.1.0, which kept slices in blocks of Prometheus' tsdb,
// to the grid store. It goes with 0.3.0, as CHANGELOG announces. Start with Convert.
//
// The conversion can end anywhere, also by a loss of power. It appends an hour of slices to the grid store, waits until
// they are in parts, and notes the hour in a file. The next start goes on after the last hour that was noted. An hour
// that was taken over twice does no harm, because the grid store recognises slices that it has. The old directory goes
// last.
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

// OldDir, in the data directory, is where an older program kept its slices. convertedFile, in OldDir, records up to
// which time they have been converted, in ms since the Unix epoch. It goes with OldDir.
const (
	OldDir        = "embedded"
	convertedFile = "converted"
)

// conversion is one run of Convert. Slices go through Store.Append, as those of a feed do, so the same rules reject
// them. The journal positions that it hands over stay below the older program's cursor, because the journal is read
// from there afterwards.
type conversion struct {
	edition  *blocks.Edition
	store    *grid.Store
	progress string // file
	logger   *slog.Logger

	position uint64 // rises with each hand-over, and stays below the older program's cursor
	given    uint64 // slices, markers included
	rejected map[string]int
}

// conversionStep is how much time, in ms, is taken over between two notes of the progress.
const conversionStep = int64(time.Hour / time.Millisecond)

// Convert moves the slices of an older program in dataDir to the grid store at gridDir, and then deletes OldDir. It
// does nothing if dataDir has none. If it is interrupted, the next call continues where this one ended. It must be
// called before the grid store is opened for use: it opens it itself.
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
		return fmt.Errorf("convert %s: %w; the next start goes on where this one ended", dir, err)
	}
	done := edition
	edition = nil
	return done.Remove()
}

// run converts what is left, hour by hour, and then moves the store's position to the older program's cursor.
func (c *conversion) run(ctx context.Context) error {
	from, to := c.edition.Range()
	begun, done, err := c.done()
	if err != nil {
		return err
	}
	if begun {
		from = max(from, done)
	}
	c.logger.Info("converting the slices of an older bullet-metrics; this is done once", "slices", c.edition.Slices(),
		"from", time.UnixMilli(from).UTC(), "to", time.UnixMilli(to).UTC())
	for at := from; at < to; at += conversionStep {
		if err := c.hour(ctx, at, min(at+conversionStep, to)-1); err != nil {
			return err
		}
		c.logger.Info("converted", "up_to", time.UnixMilli(min(at+conversionStep, to)).UTC(), "slices", c.given)
	}
	// What closed before the older program's cursor is all here: the journal is read on from there.
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
	c.logger.Info("converted all slices of an older bullet-metrics", attributes...)
	return nil
}

// done is up to where an earlier start came, in ms. A file that cannot be read as a number was being written when the
// process died: the conversion begins again, which changes nothing that is there.
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
		return false, 0, nil // half-written by a crash: begin again, which changes nothing that is there
	}
	return true, ms, nil
}

// hour takes over the slices that end within [minMs, maxMs], and notes that it has once they are on disk. The note
// comes after the flush, so it never says more than parts hold.
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

// hour is the slices of some time on their way into the grid store. Refs begin at 0 in each hour, since nothing refers
// to them later.
type hour struct {
	c            *conversion
	ctx          context.Context
	minMs, maxMs int64
	columns      slice.Columns
	next         slice.Ref
}

// handSlices is how many slices are handed over at once. It bounds the memory of the columns.
const handSlices = 1 << 16

// series adds the slices of one series. The blocks do not say how far its slices are apart, so the least distance that
// is seen is taken for it: it decides how slices are laid out and nothing else.
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

// hand gives the columns to the store. If its memory is full, they are written to disk first, and handed over again.
// What is rejected is counted by reason and reported at the end.
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
