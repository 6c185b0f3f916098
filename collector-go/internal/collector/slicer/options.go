package slicer

import "fmt"

// Options configure the slice grid and the limits. Times are in milliseconds.
type Options struct {
	// WidthMs is the width of a slice, unless the interval of the series is wider. Widths overrides it by canonical
	// name.
	WidthMs int64
	Widths  map[string]int64
	// LatenessMs is how far a sample may lag behind the event time of its source and still be accepted.
	LatenessMs int64
	// SoleLatenessMs takes the place of LatenessMs, if it is less, for samples of a sole sender (SoleSender). Nothing
	// can overtake them, except between a worker and that sender.
	SoleLatenessMs int64
	// BacklogMs is how long a source without a connected producer keeps its slices open. It should be as long as a
	// sender keeps a batch.
	BacklogMs int64
	// KeepMs is how long the state of a series is kept after it ended, so that its counter can continue.
	KeepMs int64
	// MaxTickStepMs is the most by which one tick advances the slicer's clock. A step of the collector's clock then
	// does not make workers look silent.
	MaxTickStepMs int64
	// MaxSeries bounds the number of defined series. Samples of further series are refused.
	MaxSeries int
	// MaxOpenSamples bounds the samples in open slices. A sample takes 12 bytes if the series of its worker arrive
	// together, and at most 32 bytes otherwise.
	//
	// MaxTopologyOpenSamples bounds the open samples of one topology. It may also have at most twice as many as are
	// still free for all. It therefore cannot use up the capacity of the others. Further samples are refused.
	MaxOpenSamples         int
	MaxTopologyOpenSamples int
	// MaxBuckets bounds the buckets of a distribution. Beyond it, adjacent buckets are merged. 160 is Prometheus'
	// default.
	MaxBuckets int
	// Limits are the metrics, by canonical name, in which -1 or an impossibly large value means "no limit".
	Limits map[string]bool
	// Health configures the metrics about the collection itself. By default there are none, because their names are
	// defined by the catalog.
	Health Health
}

// DefaultOptions returns the options of the feed's default slicer. `serve` replaces width and lateness by the settings
// in internal/config, whose defaults are the same. Slices are 10 s wide, which is Bullet's report interval. Decision 5
// says where the latenesses come from. A sender keeps batches for an hour. The state of a series is kept for a day
// after it ended.
//
// The limit of 16 Mi open samples per topology takes about 200 MB. With slices of 60 s, packs of 10 s and a lateness of
// 30 s, it suffices for about 150,000 samples per second. With slices of 10 s it suffices for twice that.
func DefaultOptions() Options {
	return Options{
		WidthMs:        10_000,
		LatenessMs:     30_000,
		SoleLatenessMs: 3_000,
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
			return fmt.Errorf("slice width %d ms for %s: choose 1 ms to %d ms", width, name, maxWidthMs)
		}
	}
	switch {
	case o.WidthMs < 1 || o.WidthMs > maxWidthMs:
		return fmt.Errorf("slice width %d ms: choose 1 ms to %d ms", o.WidthMs, maxWidthMs)
	case o.LatenessMs < 0 || o.LatenessMs > maxWidthMs:
		return fmt.Errorf("lateness %d ms: choose 0 to %d ms", o.LatenessMs, maxWidthMs)
	case o.SoleLatenessMs < 0 || o.SoleLatenessMs > maxWidthMs:
		return fmt.Errorf("lateness of a sole sender %d ms: choose 0 to %d ms", o.SoleLatenessMs, maxWidthMs)
	case o.BacklogMs < 0 || o.KeepMs < o.BacklogMs:
		return fmt.Errorf("backlog %d ms and keep %d ms: neither may be negative, and keep must not be less than backlog",
			o.BacklogMs, o.KeepMs)
	case o.MaxTickStepMs < 1:
		return fmt.Errorf("maximum tick step %d ms: choose at least the time between two ticks", o.MaxTickStepMs)
	case o.Health.PeriodMs < 0 || o.Health.PeriodMs > maxWidthMs || o.Health.PeriodMs > 0 && o.Health.MaxMetrics < 1:
		return fmt.Errorf("collection health every %d ms with %d metrics per worker: choose 0 to %d ms and at least 1 metric",
			o.Health.PeriodMs, o.Health.MaxMetrics, maxWidthMs)
	case o.MaxSeries < 1 || o.MaxOpenSamples < 1 || o.MaxTopologyOpenSamples < 1 || o.MaxBuckets < 1:
		return fmt.Errorf("limits of %d series, %d open samples, %d open samples per topology and %d buckets: each must be at least 1",
			o.MaxSeries, o.MaxOpenSamples, o.MaxTopologyOpenSamples, o.MaxBuckets)
	}
	return nil
}

// maxWidthMs is a day.
const maxWidthMs = 86_400_000

// width returns the slice width of a series: the smallest multiple of the configured width that is not below the
// interval of the series.
func (o *Options) width(name string, intervalMs int64) int64 {
	width := o.WidthMs
	if own, ok := o.Widths[name]; ok {
		width = own
	}
	intervalMs = min(max(intervalMs, 1), maxWidthMs)
	return (intervalMs + width - 1) / width * width
}
