package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// historySeries is how many series a history has, of hosts of ten metrics.
const historySeries = 1000

// writeHistory writes hours of slices into a store that no collector has yet, up to a day ago: a collector takes
// nothing that is as old.
func writeHistory(ctx context.Context, dir string, hours int, every time.Duration) (err error) {
	o := grid.DefaultOptions()
	o.RetentionTime, o.RetentionBytes = 0, 0
	store, err := grid.Open(dir, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(ctx)) }()
	rows := bench.NewRows(1, historySeries/10, 10)
	c := &slice.Columns{}
	hosts := make([]int, rows.Hosts)
	for h := range hosts {
		hosts[h] = h
		for m := range rows.Metrics {
			series := metric.Series{Labels: labels.FromStrings(model.MetricNameLabel, bench.StoredName(m), "topology",
				"history", "worker", fmt.Sprintf("host_%d:6700", h)), Kind: metric.KindGauge}
			c.Definitions = append(c.Definitions, slice.Definition{Ref: slice.Ref(len(c.Definitions)), Series: series,
				IntervalMs: every.Milliseconds()})
		}
	}
	walk := rows.Walk(hosts)
	for i := range walk.Values {
		c.Refs, c.EndsMs = append(c.Refs, slice.Ref(i)), append(c.EndsMs, 0)
	}
	last := time.Now().Add(-24 * time.Hour).Truncate(10 * time.Minute)
	for at := last.Add(-time.Duration(hours) * time.Hour); at.Before(last); at = at.Add(every) {
		walk.Next()
		for i := range c.EndsMs {
			c.EndsMs[i] = at.UnixMilli()
		}
		c.Values = append(c.Values[:0], walk.Values...)
		// One position for all: it lies before whatever the collector's journal will begin with.
		rejected, err := store.Append(ctx, 1, c)
		if err == nil && len(rejected) > 0 {
			err = fmt.Errorf("the store rejected slices of a history: %v", rejected)
		}
		if err != nil {
			return err
		}
		c.Definitions = nil
	}
	return store.Flush(ctx)
}
