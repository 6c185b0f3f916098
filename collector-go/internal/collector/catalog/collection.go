package catalog

import (
	"slices"
	"time"
)

// The metrics about the collection itself, which the slicer writes for each worker, never for a task. A worker's own
// metrics, which are sums over its metrics, are written every 30 s.
//
// The metrics about one metric of a worker are written every 30 s while something is wrong with it, and for 5 minutes
// after that. The interval of each of a topology's metrics is written when it changes, and once an hour.
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

// CollectionPeriod is the interval of a worker's own series, in its event time. CollectionHolds is how far to look back
// for the newest interval of a topology's metric, which is written once an hour.
const (
	CollectionPeriod = 30 * time.Second
	CollectionHolds  = 2 * time.Hour
)

// CollectionSkewLimit is the clock error of a worker from which it is reported. The alert, the page and the doctor
// command all compare CollectionSkew with it.
const CollectionSkewLimit = 500 * time.Millisecond

// Limits returns the metrics in which a negative value, or more memory than any machine has, means "no limit".
func Limits() map[string]bool { return namesOfThose(func(m *canonical) bool { return m.is(limit) }) }

// Lazy returns the metrics of streams. From Storm 2.3 on, a process reports nothing for a stream before its first
// tuple. A missing series of these metrics is therefore no sign of a problem.
func Lazy() map[string]bool {
	return namesOfThose(func(m *canonical) bool { return slices.Contains(m.allLabels(), "stream") })
}

// Steady returns the metrics whose every series has a sample in every interval while its task runs. Only for these does
// a missing sample count as missing. A metric without a row in the table, such as a user's own, is not steady, because
// nothing is known about it.
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
