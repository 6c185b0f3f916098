// Package collection measures how complete a collector's samples of a topology are over a time range. It reports the
// samples that are missing, late or refused, and the configured and actual interval. It does so for each worker, and
// for each metric with a problem. It owns the PromQL queries and the form of the answer. It knows neither a store nor
// HTTP.
package collection

import (
	"cmp"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
)

// Collection says how completely the samples of a topology arrived from Start to End. It is an answer of the HTTP API
// and is stored with each run of an experiment, so its JSON keys never change.
type Collection struct {
	Topology string `json:"topology"`
	// Start and End are the requested time range, RFC 3339 in UTC.
	Start string `json:"start"`
	End   string `json:"end"`
	// Complete reports that samples arrived and that none is missing, was dropped, or was refused for a reason that
	// matters (see harmless).
	Complete bool `json:"complete"`
	// Counts are the sums over all workers.
	Counts
	// Dropped counts the samples that the plugin reports as dropped, by reason. These samples are among the missing.
	Dropped map[string]uint64 `json:"dropped"`
	// StormDropped counts tuples that Storm dropped before they reached the metrics consumer, because its receive queue
	// was full. Each tuple is a task's complete report. Storm before 2.0 does not count them. No Storm counts what
	// topology.max.retain.metric.tuples discards, which therefore only shows as missing.
	StormDropped uint64 `json:"storm_dropped"`
	// SkewLimitSeconds is the largest clock error of a worker that does not raise an alert.
	SkewLimitSeconds float64 `json:"skew_limit_seconds"`
	// IntervalSeconds is the reporting interval of each metric, as the sources state it. Metrics whose sources do not
	// state one are absent.
	IntervalSeconds map[string]float64 `json:"interval_seconds"`
	Workers         []Worker           `json:"workers"`
	// NotStored are the topology's metrics that are not stored at present, independent of the requested range. Their
	// names are those of their sources, and metrics that are lost come first. NotStoredMore is the number of further
	// names.
	NotStored     []NotStored `json:"not_stored"`
	NotStoredMore int         `json:"not_stored_more"`
}

// NotStored is a metric that is not stored, with the reason.
type NotStored = catalog.NotStored

// Counts are numbers of samples. Samples were stored in slices, and Missing ones were expected but did not arrive. Late
// ones arrived too late and are among the missing. Refused ones were rejected, by reason.
type Counts struct {
	Samples uint64            `json:"samples"`
	Missing uint64            `json:"missing"`
	Late    uint64            `json:"late"`
	Refused map[string]uint64 `json:"refused"`
}

// Worker says how completely the samples of one worker arrived.
type Worker struct {
	Worker string `json:"worker"`
	// SkewSeconds is the median of the certain error of the worker's clock; above 0 it is ahead of the collector's
	// clock. It is 0 if the clock may have been right, and nil if it is unknown.
	SkewSeconds *float64 `json:"skew_seconds"`
	// Restarts is the number of restarts of the worker's process in the time range.
	Restarts uint64 `json:"restarts"`
	// Counts are the sums over the worker's metrics.
	Counts
	// IntervalSeenRatio is the longest time between two samples of a series, divided by the series' interval, for the
	// worst metric. It is nil if no series has two samples.
	IntervalSeenRatio *float64 `json:"interval_seen_ratio"`
	// Metrics are the metrics with a problem. Samples are missing, late or refused, the actual interval differs from
	// the configured one by more than half, or no samples arrive any more.
	Metrics []Metric `json:"metrics"`
}

// Metric says how completely the samples of one metric of a worker arrived. Fields that are nil are unknown.
type Metric struct {
	Metric            string   `json:"metric"`
	IntervalSeconds   *float64 `json:"interval_seconds"`
	SeenMedianSeconds *float64 `json:"seen_median_seconds"`
	SeenMaxSeconds    *float64 `json:"seen_max_seconds"`
	// Counts are complete except for Samples, which are only counted from when a problem is found until 5 minutes after
	// it ends.
	Counts
	// Silent reports that samples of the metric arrived but no longer do at End, while other metrics of the worker
	// still arrive.
	Silent bool `json:"silent"`
}

// harmless are the reasons of refusal that lose no information, because the value had none.
var harmless = map[string]bool{"nonsense": true}

// IsComplete reports whether every expected sample was stored, apart from values without information.
func (c *Counts) IsComplete() bool {
	for reason, n := range c.Refused {
		if n > 0 && !harmless[reason] {
			return false
		}
	}
	return c.Missing == 0
}

// Expected returns the number of samples that should have been stored.
func (c *Counts) Expected() uint64 { return c.Samples + c.Missing }

// add adds another part's counts.
func (c *Counts) add(other *Counts) {
	c.Samples += other.Samples
	c.Missing += other.Missing
	c.Late += other.Late
	for reason, n := range other.Refused {
		c.refuse(reason, n)
	}
}

// refuse adds refused samples. It makes the map on first use, because most metrics have none.
func (c *Counts) refuse(reason string, n uint64) {
	if c.Refused == nil {
		c.Refused = map[string]uint64{}
	}
	c.Refused[reason] += n
}

// finish computes the sums and sorts workers and metrics, so that equal data give equal answers. Maps are empty instead
// of nil, because the HTTP API promises objects.
func (c *Collection) finish() {
	c.Refused = map[string]uint64{}
	for i := range c.Workers {
		w := &c.Workers[i]
		if w.Refused == nil {
			w.Refused = map[string]uint64{}
		}
		for j := range w.Metrics {
			if m := &w.Metrics[j]; m.Refused == nil {
				m.Refused = map[string]uint64{}
			}
		}
		slices.SortFunc(w.Metrics, func(a, b Metric) int { return cmp.Compare(a.Metric, b.Metric) })
		c.add(&w.Counts)
	}
	slices.SortFunc(c.Workers, func(a, b Worker) int { return cmp.Compare(a.Worker, b.Worker) })
	c.Complete = c.Samples > 0 && c.IsComplete() && c.StormDropped == 0
	for _, n := range c.Dropped {
		c.Complete = c.Complete && n == 0
	}
}
