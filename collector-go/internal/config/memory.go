package config

import "fmt"

// What the parts of a collector take of the Go heap. A series takes 1.6 kB once it is known
// (docs/benchmarks/core.md), and more while it is defined, for messages and checkpoints. Each further store has a
// slicer of its own.
const (
	baseHeap       = 32 << 20 // of a collector that has no series
	seriesHeap     = 4 << 10  // one series, with one store
	storeHeap      = 2 << 10  // one series, each further store
	openSampleHeap = 32       // the larger of what limits.open_samples says
	queryHeap      = 16       // one sample that a query holds
	leastSeries    = 2_000
	leastSamples   = 100_000
	leastStreams   = 32
	leastBatch     = 1 << 20 // what a sender assumes before it knows the limit
	leastQueue     = 4 << 20
	leastHead      = 4 << 20
)

// Memory is what the parts may hold of what no setting bounds; 0 is each part's own default.
type Memory struct {
	Series     int   // known to the journal, all topologies together
	QueueBytes int64 // waiting to be written to the journal
	HeadBytes  int   // slices of the embedded store that are not written yet
}

// FitMemory lowers the bounds that nobody has set to what fits into a Go heap of so many bytes: half of it is for
// series, an eighth each for samples of open slices, slices that are not written yet, a query, and the journal's queue
// with messages. given reports whether a key was set, by a flag or in the file. It returns a warning for each value
// that was set and does not fit; such a value stays.
func (c *Config) FitMemory(heap int64, given func(key string) bool) (warnings []string) {
	available := max(0, heap-baseHeap)
	lower := func(key string, value *int, fits int) {
		switch {
		case *value <= fits:
		case given(key):
			warnings = append(warnings, fmt.Sprintf("%s is %d, but only %d fit into the memory of this process: lower it, or raise the memory limit",
				key, *value, fits))
		default:
			*value = fits
		}
	}
	c.Memory.Series = max(leastSeries, int(available/2/c.heapOfSeries()))
	lower("limits.series_per_topology", &c.Limits.SeriesPerTopology, c.Memory.Series)
	if c.Limits.SeriesPerTopology > c.Memory.Series {
		c.Memory.Series = 2 * c.Limits.SeriesPerTopology // some of it is kept for other topologies
	}
	c.Memory.QueueBytes = max(leastQueue, available/16)
	c.Memory.HeadBytes = max(leastHead, int(available/8))

	samples := max(leastSamples, int(available/8/openSampleHeap))
	lower("limits.open_samples", &c.Limits.OpenSamples, samples)
	lower("limits.open_samples_per_topology", &c.Limits.OpenSamplesPerTopology, max(leastSamples, samples/2))
	lower("limits.batch_bytes", &c.Limits.BatchBytes, max(leastBatch, int(available/512)))
	lower("limits.streams", &c.Limits.Streams, max(leastStreams, int(available/2)/c.Limits.BatchBytes))
	lower("query.max_samples", &c.Query.MaxSamples, max(leastSamples, int(available/8/queryHeap)))
	return warnings
}

// heapOfSeries is what a series takes in all stores, bytes.
func (c *Config) heapOfSeries() int64 {
	stores := 0
	if c.Embedded.Enabled {
		stores++
	}
	for _, named := range c.Stores {
		stores += len(named)
	}
	return seriesHeap + storeHeap*int64(max(0, stores-1))
}

// What the defaults of bounds on disk may take together with others' data: so much of a file system each.
const shareOfDisk = 10

// leastSegment is how small a segment of the journal gets on a small disk: it takes the largest batch as it comes, 4
// MiB.
const leastSegment = 4 << 20

// FitDisk lowers the bounds that nobody has set to a tenth of the file system of the data directory, whose size is
// given in bytes. given reports whether a key was set, by a flag or in the file.
func (c *Config) FitDisk(size int64, given func(key string) bool) {
	tenth := size / shareOfDisk
	if !given("store.embedded.retention_bytes") {
		c.Embedded.RetentionBytes = min(c.Embedded.RetentionBytes, tenth)
	}
	if given("journal.max_bytes") || tenth >= c.Journal.MaxBytes {
		return
	}
	if !given("journal.segment_bytes") {
		c.Journal.SegmentBytes = min(c.Journal.SegmentBytes, max(leastSegment, tenth/16))
	}
	c.Journal.MaxBytes = max(tenth, 2*c.Journal.SegmentBytes)
}
