package config

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
