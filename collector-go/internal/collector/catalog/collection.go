package catalog

import (
	"slices"
	"time"
)

// The metrics of the collection itself, which the slicer makes for each worker, never for a task: those of a worker,
// which are the sums over its metrics, each 30 s; those of a worker's metric while something is wrong with it, each
// 30 s, and 5 minutes longer; and the interval of each of a topology's metrics where it changes, and each hour.
const (
	CollectionPrefix   = "bullet_metrics_collection_"
	CollectionInterval = CollectionPrefix + "interval_seconds"
	CollectionSeen     = CollectionPrefix + "interval_seen_seconds"
	CollectionSamples  = CollectionPrefix + "samples_total"
	CollectionMissing  = CollectionPrefix + "missing_samples_total"
	CollectionLate     = CollectionPrefix + "late_samples_total"
	CollectionRefused  = CollectionPrefix + "refused_samples_total"
	CollectionDropped  = CollectionPrefix + "dropped_samples_total"
	CollectionSkew     = CollectionPrefix + "skew_seconds"

	CollectionSkewLeast = CollectionPrefix + "skew_least_seconds"
	CollectionSkewMost  = CollectionPrefix + "skew_most_seconds"

	CollectionWorkerSamples = CollectionPrefix + "worker_samples_total"
	CollectionWorkerMissing = CollectionPrefix + "worker_missing_samples_total"
	CollectionWorkerLate    = CollectionPrefix + "worker_late_samples_total"
	CollectionWorkerRefused = CollectionPrefix + "worker_refused_samples_total"
	CollectionWorkerRatio   = CollectionPrefix + "worker_interval_seen_ratio"
)

// CollectionPeriod is how often a worker's own series have a value, in its event time. CollectionHolds is how far to
// look back for the newest interval of a topology's metric: it is written again each hour.
const (
	CollectionPeriod = 30 * time.Second
	CollectionHolds  = 2 * time.Hour
)

// CollectionSkewLimit is the clock error of a worker from which it is reported. The alert, the page and the doctor
// command all compare CollectionSkew with it.
const CollectionSkewLimit = 500 * time.Millisecond

// Limits are the metrics in which a value below zero, or more memory than there is, states that there is no limit.
func Limits() map[string]bool { return namesOfThose(func(m *canonical) bool { return m.is(limit) }) }

// Lazy returns the metrics of streams. From Storm 2.3 on, a process reports nothing for a stream before its first
// tuple, so a missing series of these is no sign of trouble.
func Lazy() map[string]bool {
	return namesOfThose(func(m *canonical) bool { return slices.Contains(m.allLabels(), "stream") })
}

// Steady returns the metrics whose every series arrives every interval while its task runs. Only for these a missing
// sample counts as missing. A metric without a row in the table, such as a user's own, is not steady, because nothing
// is known about it.
func Steady() map[string]bool {
	return namesOfThose(func(m *canonical) bool { return !m.is(intermittent) })
}

func namesOfThose(meant func(*canonical) bool) map[string]bool {
	names := make(map[string]bool)
	for i := range metrics {
		if meant(&metrics[i]) {
			names[metrics[i].name] = true
		}
	}
	return names
}
