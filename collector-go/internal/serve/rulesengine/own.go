package rulesengine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// Own stores the collector's own metrics, as a Prometheus that scrapes /metrics would do. Therefore rules and the
// dashboard about the collector work without a Prometheus.
type Own struct {
	Gatherer prometheus.Gatherer
	Results  *Results
	Interval time.Duration
	// Labels are the labels that a scrape adds: job and instance.
	Labels labels.Labels
	Logger *slog.Logger

	last map[uint64]labels.Labels // the series of the previous collection, by hash
}

// Run stores the metrics every Interval until ctx is done.
func (o *Own) Run(ctx context.Context) error {
	poll.Every(ctx, o.Interval, func() {
		if err := o.look(ctx, time.Now()); err != nil && ctx.Err() == nil {
			o.Logger.Warn("storing the collector's own metrics failed", "error", err)
		}
	})
	return nil
}

// look stores all current values, or none if one fails. A series that has disappeared gets a stale marker.
func (o *Own) look(ctx context.Context, now time.Time) error {
	families, err := o.Gatherer.Gather()
	if err != nil {
		return err
	}
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.TimeFromUnixNano(now.UnixNano())},
		families...)
	if err != nil {
		return err
	}
	app, seen := o.Results.Appender(ctx), map[uint64]labels.Labels{}
	for _, s := range samples {
		of := o.labelled(s.Metric)
		seen[of.Hash()] = of
		if _, err := app.Append(0, of, now.UnixMilli(), float64(s.Value)); err != nil {
			return abandon(app, fmt.Errorf("%s: %w", of, err))
		}
	}
	for hash, of := range o.last {
		if _, still := seen[hash]; !still {
			if _, err := app.Append(0, of, now.UnixMilli(), gone()); err != nil {
				return abandon(app, fmt.Errorf("%s: %w", of, err))
			}
		}
	}
	o.last = seen
	return app.Commit()
}

func (o *Own) labelled(m model.Metric) labels.Labels {
	b := labels.NewBuilder(o.Labels)
	for name, v := range m {
		b.Set(string(name), string(v))
	}
	return b.Labels()
}

// gone returns the stale marker, which ends a series.
func gone() float64 { return math.Float64frombits(value.StaleNaN) }

func abandon(app storage.Appender, err error) error { return errors.Join(err, app.Rollback()) }
