package slicer

import "fmt"

// Options set the grid and the bounds. Times are ms.
type Options struct {
	// WidthMs is how wide a slice is, where the series' own interval is not wider. Widths overrides it by canonical
	// name.
	WidthMs int64
	Widths  map[string]int64
	// LatenessMs is how far behind its source's event time a sample may be and still count.
	LatenessMs int64
	// BacklogMs is for how long a source that no producer speaks for keeps its slices open: as long as a sender keeps a
	// batch.
	BacklogMs int64
	// KeepMs is for how long the state of a series that ended is kept, so that a counter goes on where it stood.
	KeepMs int64
	// MaxTickStepMs is the most that one tick moves the slicer's clock on, so that a step of the collector's clock is
	// no silence.
	MaxTickStepMs int64
	// MaxSeries bounds the series that are defined; samples of further ones are refused.
	MaxSeries int
	// MaxOpenSamples bounds the samples of open slices, 12 bytes each where a worker's series come together and at most
	// 32 elsewhere; MaxTopologyOpenSamples those of one topology, which may also have at most twice as many as are
	// still free for all, so that none can take the room of all. Further ones are refused.
	MaxOpenSamples         int
	MaxTopologyOpenSamples int
	// MaxBuckets bounds a distribution's buckets; past it neighbours are merged (Prometheus' own default).
	MaxBuckets int
	// Limits are the metrics, by canonical name, in which -1, or an impossibly large value, means that there is no
	// limit.
	Limits map[string]bool
	// Health configures what is reported about the collection itself. By default nothing: its names are the
	// catalogue's.
	Health Health
}

// DefaultOptions are the defaults of the tests; `serve` takes width and lateness from internal/config, whose defaults
// are the same. Slices have 10 s, which is Bullet's interval, and the lateness is three of them. A sender keeps
// batches for an hour, and the state of what ended is kept for a day. 16 M samples of a topology are 200 MB: with
// slices of 60 s, packs of 10 s and 30 s of lateness some 150,000 samples a second; with slices of 10 s twice that.
func DefaultOptions() Options {
	return Options{
		WidthMs:        10_000,
		LatenessMs:     30_000,
		BacklogMs:      3_600_000,
		KeepMs:         86_400_000,
		MaxTickStepMs:  5_000,
		MaxSeries:      1 << 20,
		MaxOpenSamples: 32 << 20, MaxTopologyOpenSamples: 16 << 20,
		MaxBuckets: 160,
	}
}

// Validate returns an error that names the invalid option and its valid values.
func (o Options) Validate() error {
	for name, width := range o.Widths {
		if width < 1 || width > maxWidthMs {
			return fmt.Errorf("slice width %d ms of %s: choose 1 ms to %d ms", width, name, maxWidthMs)
		}
	}
	switch {
	case o.WidthMs < 1 || o.WidthMs > maxWidthMs:
		return fmt.Errorf("slice width %d ms: choose 1 ms to %d ms", o.WidthMs, maxWidthMs)
	case o.LatenessMs < 0 || o.LatenessMs > maxWidthMs:
		return fmt.Errorf("lateness %d ms: choose 0 to %d ms", o.LatenessMs, maxWidthMs)
	case o.BacklogMs < 0 || o.KeepMs < o.BacklogMs:
		return fmt.Errorf("backlog %d ms, keep %d ms: neither may be negative, and keep no less than backlog",
			o.BacklogMs, o.KeepMs)
	case o.MaxTickStepMs < 1:
		return fmt.Errorf("most of one tick %d ms: choose at least the time between two ticks", o.MaxTickStepMs)
	case o.Health.PeriodMs < 0 || o.Health.PeriodMs > maxWidthMs || o.Health.PeriodMs > 0 && o.Health.MaxMetrics < 1:
		return fmt.Errorf("collection health every %d ms, of %d metrics of a worker: choose 0 to %d ms, and at least 1 metric",
			o.Health.PeriodMs, o.Health.MaxMetrics, maxWidthMs)
	case o.MaxSeries < 1 || o.MaxOpenSamples < 1 || o.MaxTopologyOpenSamples < 1 || o.MaxBuckets < 1:
		return fmt.Errorf("limits of %d series, %d open samples, %d of a topology, and %d buckets: each must be at least 1",
			o.MaxSeries, o.MaxOpenSamples, o.MaxTopologyOpenSamples, o.MaxBuckets)
	}
	return nil
}

// maxWidthMs is a day.
const maxWidthMs = 86_400_000

// width of the slices of a series: the larger of what is set and its own interval, on the grid of what is set.
func (o *Options) width(name string, intervalMs int64) int64 {
	width := o.WidthMs
	if own, ok := o.Widths[name]; ok {
		width = own
	}
	intervalMs = min(max(intervalMs, 1), maxWidthMs)
	return (intervalMs + width - 1) / width * width
}
