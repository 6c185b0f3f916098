// Package collection judges how complete a collector's samples of a topology are over a time range: for each worker,
// and each metric with which something was wrong, the samples that are missing, late or refused, and the interval
// configured and seen. It owns the questions in PromQL and the form of the answer; it knows neither a store nor HTTP.
package collection

import (
	"cmp"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
)

// Collection says how completely the samples of a topology arrived, from Start to End. It is an answer of the HTTP API
// and is stored with each run of an experiment, so its JSON keys never change.
type Collection struct {
	Topology string `json:"topology"`
	// Start and End are the time asked for, RFC 3339 in UTC.
	Start string `json:"start"`
	End   string `json:"end"`
	// Complete is whether nothing that should be there is missing: there are samples, none is missing, nobody dropped
	// any, and none was refused because of a limit.
	Complete bool `json:"complete"`
	// Samples are in slices, Missing should be; Late (of these) came too late, Refused were of no use.
	Counts
	// Dropped counts the samples that the plugin reports as dropped, by reason. These samples are among the missing.
	Dropped map[string]uint64 `json:"dropped"`
	// StormDropped are tuples that Storm dropped before the metrics consumer, since its receive queue was full; each
	// is a task's whole report. Storm before 2.0 does not count them, and no Storm counts what
	// topology.max.retain.metric.tuples throws away: these show as missing only.
	StormDropped uint64 `json:"storm_dropped"`
	// SkewLimitSeconds is how far a worker's clock may be off: the alert's limit.
	SkewLimitSeconds float64 `json:"skew_limit_seconds"`
	// IntervalSeconds is how often each metric is reported, by the sources' own account; metrics of which none says
	// so are not there.
	IntervalSeconds map[string]float64 `json:"interval_seconds"`
	Workers         []Worker           `json:"workers"`
	// NotStored are the topology's metrics that are not stored now, whatever the time asked for, by the names that
	// their sources give them; those that are lost come first. NotStoredMore is how many further names there are.
	NotStored     []NotStored `json:"not_stored"`
	NotStoredMore int         `json:"not_stored_more"`
}

// NotStored is a metric that is not stored, and why.
type NotStored = catalog.NotStored

// Counts are numbers of samples.
type Counts struct {
	Samples uint64            `json:"samples"`
	Missing uint64            `json:"missing"`
	Late    uint64            `json:"late"`
	Refused map[string]uint64 `json:"refused"`
}

// Worker is how the samples of one worker came.
type Worker struct {
	Worker string `json:"worker"`
	// SkewSeconds is the median of how far its clock was ahead of the collector's beyond doubt, 0 where it may have
	// been right; nil where unknown.
	SkewSeconds *float64 `json:"skew_seconds"`
	// Restarts of its process in the time.
	Restarts uint64 `json:"restarts"`
	// Counts are the sums over its metrics.
	Counts
	// IntervalSeenRatio is the longest time between two samples of a series over its interval, of the metric that was
	// worst; nil where nothing came twice.
	IntervalSeenRatio *float64 `json:"interval_seen_ratio"`
	// Metrics are those with which something was wrong: samples are missing, late or refused, came further apart or
	// closer than the interval by half of it, or do not come any more.
	Metrics []Metric `json:"metrics"`
}

// Metric is how the samples of one metric of a worker came; nil is what is not known.
type Metric struct {
	Metric            string   `json:"metric"`
	IntervalSeconds   *float64 `json:"interval_seconds"`
	SeenMedianSeconds *float64 `json:"seen_median_seconds"`
	SeenMaxSeconds    *float64 `json:"seen_max_seconds"`
	// Counts are complete except for Samples, which are counted from when something is found to be wrong until 5
	// minutes after it is right again.
	Counts
	// Silent is set where it came, and does not any more at End, while others of the worker do.
	Silent bool `json:"silent"`
}

// harmless are reasons of refusal that cost nothing: the value carries no information.
var harmless = map[string]bool{"nonsense": true}

// IsComplete reports whether every sample that was expected was stored, apart from values without information.
func (c *Counts) IsComplete() bool {
	for reason, n := range c.Refused {
		if n > 0 && !harmless[reason] {
			return false
		}
	}
	return c.Missing == 0
}

// Expected is how many samples there should be.
func (c *Counts) Expected() uint64 { return c.Samples + c.Missing }

// add adds the counts of another part, for a sum.
func (c *Counts) add(other *Counts) {
	c.Samples += other.Samples
	c.Missing += other.Missing
	c.Late += other.Late
	for reason, n := range other.Refused {
		c.refuse(reason, n)
	}
}

// refuse adds refused samples. The map is made on first use, since most metrics have none.
func (c *Counts) refuse(reason string, n uint64) {
	if c.Refused == nil {
		c.Refused = map[string]uint64{}
	}
	c.Refused[reason] += n
}

// finish computes the sums and sorts workers and metrics, so that equal data give equal answers. Maps are empty rather
// than nil, because the HTTP API promises objects.
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
