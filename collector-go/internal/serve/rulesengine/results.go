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

// Results keeps what rules give: recorded series, ALERTS and ALERTS_FOR_STATE, and the collector's own figures. Nothing
// here is acknowledged to anybody, and rules give it again: so it is disposable. Files that are damaged are removed,
// and without room nothing is kept until there is some; neither keeps the collector from starting or rules from being
// evaluated.
type Results struct {
	dir     string
	options *tsdb.Options
	logger  *slog.Logger
	now     func() time.Time

	mu      sync.Mutex
	db      *tsdb.DB // nil while there is no room
	tried   time.Time
	closed  bool
	missing error // why db is nil

	lost prometheus.Counter
}

// OpenResults opens the results in dir, which it makes where it is missing. Close ends it.
func OpenResults(dir string, retention time.Duration, logger *slog.Logger, registerer prometheus.Registerer) *Results {
	r := &Results{dir: dir, logger: quieted(logger), now: time.Now, options: tsdb.DefaultOptions(),
		lost: promauto.With(
			registerer).NewCounter(prometheus.CounterOpts{Name: "bullet_metrics_rules_results_lost_total",
			Help: "Results of rules and values of the collector's own metrics that could not be stored."})}
	r.options.RetentionDuration = retention.Milliseconds()
	r.options.WALSegmentSize = walSegmentBytes
	_, _ = r.opened()
	return r
}

// walSegmentBytes is small beside Prometheus' 128 MiB: a rule gives some numbers a minute.
const walSegmentBytes = 4 << 20

// minFreeBytes is some segments of the log, bytes.
const minFreeBytes = 4 * walSegmentBytes

// reopenAfter is how long to wait between two attempts to open results that cannot be.
const reopenAfter = 15 * time.Second

// opened is the database, opened now if it was not, at most once in reopenAfter.
func (r *Results) opened() (*tsdb.DB, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, errors.New("rules' results are closed")
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
			r.logger.Error("storing rules' results failed; rules are still evaluated, and storing is retried", "dir",
				r.dir, "error", err)
		}
		return nil, r.missing
	}
	if !first {
		r.logger.Warn("rules' results are stored again", "dir", r.dir)
	}
	r.db = db
	return db, nil
}

// open opens what is there, or else begins again in an empty directory.
func (r *Results) open() (*tsdb.DB, error) {
	db, err := r.openFiles()
	if err == nil {
		return db, nil
	}
	r.logger.Warn("reading rules' results failed; starting without them", "dir", r.dir, "error", err)
	if err := os.RemoveAll(r.dir); err != nil {
		return nil, err
	}
	return r.openFiles()
}

// openFiles looks for room first: a tsdb that fails to open leaves the goroutine of its log behind.
func (r *Results) openFiles() (*tsdb.DB, error) {
	if err := os.MkdirAll(r.dir, 0o750); err != nil {
		return nil, err
	}
	free, _, err := disk.System{}.Free(r.dir)
	if err == nil && free < minFreeBytes {
		err = fmt.Errorf("%d MiB are free, %d MiB must be", free>>20, minFreeBytes>>20)
	}
	if err != nil {
		return nil, err
	}
	return tsdb.Open(r.dir, r.logger, nil, r.options, nil)
}

// Querier reads the results; there are none while they cannot be kept.
func (r *Results) Querier(minMs, maxMs int64) (storage.Querier, error) {
	db, err := r.opened()
	if err != nil {
		return storage.NoopQuerier(), nil
	}
	return db.Querier(minMs, maxMs)
}

// Appender adds results. While they cannot be kept it counts them as lost and takes them.
func (r *Results) Appender(ctx context.Context) storage.Appender {
	db, err := r.opened()
	if err != nil {
		return nowhere{lost: r.lost}
	}
	return db.Appender(ctx)
}

// nowhere is the appender of results that are not kept. Rules use these methods of an appender and no others.
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

// Close writes what is in memory to the log. No querier may be open.
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
