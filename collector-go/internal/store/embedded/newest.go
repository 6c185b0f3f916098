package embedded

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// newestWindow is how much is looked through at once for the newest slice.
const newestWindow = time.Hour

// Newest is the end of the newest slice that the store holds, gap markers apart; ok is false where it holds none.
func (s *Store) Newest(ctx context.Context) (endMs int64, ok bool, err error) {
	leave, err := s.readers.enter()
	if err != nil {
		return 0, false, err
	}
	defer leave()
	oldest, newest := s.extent()
	for to := newest; to >= oldest; to -= newestWindow.Milliseconds() {
		from := to - newestWindow.Milliseconds() + 1
		if endMs, ok, err = s.newestWithin(ctx, from, to); ok || err != nil {
			return endMs, ok, err
		}
	}
	return 0, false, nil
}

// extent is the time that the head and the blocks span.
func (s *Store) extent() (oldestMs, newestMs int64) {
	oldestMs, newestMs = math.MaxInt64, math.MinInt64
	if head := s.db.Head(); head.NumSeries() > 0 {
		oldestMs, newestMs = head.MinTime(), head.MaxTime()
	}
	for _, b := range s.db.Blocks() {
		oldestMs, newestMs = min(oldestMs, b.MinTime()), max(newestMs, b.MaxTime())
	}
	return oldestMs, newestMs
}

func (s *Store) newestWithin(ctx context.Context, fromMs, toMs int64) (endMs int64, ok bool, err error) {
	q, err := s.db.Querier(fromMs, toMs)
	if err != nil {
		return 0, false, fmt.Errorf("embedded store: read: %w", err)
	}
	defer q.Close()
	all := q.Select(ctx, false, &storage.SelectHints{Start: fromMs, End: toMs}, labels.MustNewMatcher(labels.MatchNotEqual, model.MetricNameLabel, ""))
	var samples chunkenc.Iterator
	for all.Next() {
		samples = all.At().Iterator(samples)
		for kind := samples.Next(); kind != chunkenc.ValNone; kind = samples.Next() {
			if atMs, stale := sampleAt(samples, kind); !stale && (!ok || atMs > endMs) {
				endMs, ok = atMs, true
			}
		}
		if err := samples.Err(); err != nil {
			return 0, false, fmt.Errorf("embedded store: read: %w", err)
		}
	}
	if err := all.Err(); err != nil {
		return 0, false, fmt.Errorf("embedded store: read: %w", err)
	}
	return endMs, ok, nil
}

// sampleAt is the time of an iterator's sample, and whether it is a gap's marker.
func sampleAt(samples chunkenc.Iterator, kind chunkenc.ValueType) (atMs int64, stale bool) {
	if kind == chunkenc.ValFloat {
		atMs, v := samples.At()
		return atMs, value.IsStaleNaN(v)
	}
	atMs, h := samples.AtFloatHistogram(nil)
	return atMs, value.IsStaleNaN(h.Sum)
}
