package alerting

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// Results keeps what rules give: recorded series, ALERTS and ALERTS_FOR_STATE. They can be had again from the slices, so that
// nothing here is acknowledged to anybody; the log of Prometheus' tsdb carries them over a restart, and with them since when an
// alert is pending.
type Results struct{ db *tsdb.DB }

// OpenResults opens the results in dir, which it makes where it is missing. Close ends it.
func OpenResults(dir string, retention time.Duration, logger *slog.Logger) (*Results, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("rules' results: %w", err)
	}
	options := tsdb.DefaultOptions()
	options.RetentionDuration = retention.Milliseconds()
	options.WALSegmentSize = walSegmentBytes
	db, err := tsdb.Open(dir, quieted(logger), nil, options, nil)
	if err != nil {
		return nil, fmt.Errorf("rules' results in %s: %w; they can be had again: remove the directory", dir, err)
	}
	return &Results{db}, nil
}

// walSegmentBytes is small beside Prometheus' 128 MiB: a rule gives some numbers a minute.
const walSegmentBytes = 4 << 20

// Querier reads the results.
func (r *Results) Querier(minMs, maxMs int64) (storage.Querier, error) {
	return r.db.Querier(minMs, maxMs)
}

// Appender adds results.
func (r *Results) Appender(ctx context.Context) storage.Appender { return r.db.Appender(ctx) }

// Close writes what is in memory to the log. No querier may be open.
func (r *Results) Close() error { return r.db.Close() }
