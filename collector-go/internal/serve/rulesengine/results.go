package rulesengine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Results stores the results of rules: recorded series, ALERTS and ALERTS_FOR_STATE, and the collector's own metrics.
// Nobody depends on their durability, because rules produce them again. Therefore damaged files are deleted, and
// nothing is stored while the disk is full. Neither may prevent the collector from starting or rules from being
// evaluated.
type Results struct {
	dir     string
	options *tsdb.Options
	logger  *slog.Logger
	now     func() time.Time

	mu      sync.Mutex
	db      *tsdb.DB // nil while results cannot be stored
	tried   time.Time
	closed  bool
	missing error // why db is nil

	lost prometheus.Counter
}

// OpenResults opens the results in dir, and creates dir if it is missing. It never fails: if the files cannot be
// opened, that is tried again later. The caller must call Close.
func OpenResults(dir string, retention time.Duration, logger *slog.Logger, registerer prometheus.Registerer) *Results {
	r := &Results{dir: dir, logger: quieted(logger), now: time.Now, options: tsdb.DefaultOptions(),
		lost: promauto.With(
			registerer).NewCounter(prometheus.CounterOpts{Name: "bullet_metrics_rules_results_lost_total",
			Help: "Results of rules and values of the collector's own metrics that could not be stored."})}
	r.options.RetentionDuration = retention.Milliseconds()
	r.options.WALSegmentSize = walSegmentBytes
	r.options.StripeSize = stripes
	_, _ = r.opened()
	return r
}

// walSegmentBytes is small compared with Prometheus' 128 MiB, because a rule produces only a few values per minute.
const walSegmentBytes = 4 << 20

// stripes is the size of the hash map of series, a power of two. Prometheus' 16,384 take 4 MiB. Rules write hundreds of
// series.
const stripes = 256

// minFreeBytes is the free space that opening requires: four segments of the log.
const minFreeBytes = 4 * walSegmentBytes

// reopenAfter is the minimum time between two attempts to open the results.
const reopenAfter = 15 * time.Second

// opened returns the database. If it is not open, opened tries to open it, at most once per reopenAfter.
func (r *Results) opened() (*tsdb.DB, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, errors.New("rule results are closed")
	case r.db != nil:
		return r.db, nil
	case !r.tried.IsZero() && r.now().Sub(r.tried) < reopenAfter:
		return nil, r.missing
	}
	first := r.tried.IsZero()
	r.tried = r.now()
	db, err := r.open()
	if err != nil {
		r.missing = err
		if first {
			r.logger.Error("storing rule results failed; rules are still evaluated; retrying", "dir",
				r.dir, "error", err)
		}
		return nil, r.missing
	}
	if !first {
		r.logger.Warn("storing rule results works again", "dir", r.dir)
	}
	r.db = db
	return db, nil
}

// open opens the existing files. If that fails, it deletes them and starts with an empty directory.
func (r *Results) open() (*tsdb.DB, error) {
	db, err := r.openFiles()
	if err == nil {
		return db, nil
	}
	r.logger.Warn("reading rule results failed; starting without them", "dir", r.dir, "error", err)
	if err := os.RemoveAll(r.dir); err != nil {
		return nil, err
	}
	return r.openFiles()
}

// openFiles checks the free space first, because a tsdb that fails to open leaks the goroutine of its log.
func (r *Results) openFiles() (*tsdb.DB, error) {
	if err := os.MkdirAll(r.dir, 0o750); err != nil {
		return nil, err
	}
	free, _, err := disk.System{}.Free(r.dir)
	if err == nil && free < minFreeBytes {
		err = fmt.Errorf("%d MiB are free, %d MiB are required", free>>20, minFreeBytes>>20)
	}
	if err != nil {
		return nil, err
	}
	return tsdb.Open(r.dir, r.logger, nil, r.options, nil)
}

// Querier implements storage.Queryable. It finds nothing while results cannot be stored.
func (r *Results) Querier(minMs, maxMs int64) (storage.Querier, error) {
	db, err := r.opened()
	if err != nil {
		return storage.NoopQuerier(), nil
	}
	return db.Querier(minMs, maxMs)
}

// Appender implements storage.Appendable. While results cannot be stored, the appender accepts them, drops them and
// counts them as lost.
func (r *Results) Appender(ctx context.Context) storage.Appender {
	db, err := r.opened()
	if err != nil {
		return nowhere{lost: r.lost}
	}
	return db.Appender(ctx)
}

// nowhere is the appender for results that cannot be stored. Rules call only these methods of an appender.
type nowhere struct {
	storage.Appender
	lost prometheus.Counter
}

// Append implements storage.Appender.
func (n nowhere) Append(storage.SeriesRef, labels.Labels, int64, float64) (storage.SeriesRef, error) {
	n.lost.Inc()
	return 0, nil
}

// AppendHistogram implements storage.Appender.
func (n nowhere) AppendHistogram(storage.SeriesRef, labels.Labels, int64, *histogram.Histogram,
	*histogram.FloatHistogram) (storage.SeriesRef, error) {
	n.lost.Inc()
	return 0, nil
}

// SetOptions implements storage.Appender.
func (nowhere) SetOptions(*storage.AppendOptions) {}

// Commit implements storage.Appender.
func (nowhere) Commit() error { return nil }

// Rollback implements storage.Appender.
func (nowhere) Rollback() error { return nil }

// Close writes the data in memory to the log. No querier may be open.
func (r *Results) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.db == nil {
		return nil
	}
	db := r.db
	r.db = nil
	return db.Close()
}
