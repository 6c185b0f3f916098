package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBoundsFitTheDisk(t *testing.T) {
	const mib, gib = int64(1 << 20), int64(1 << 30)
	for name, c := range map[string]struct {
		size                        int64
		given                       []string
		journal, segment, retention int64
	}{
		"a large disk":    {500 * gib, nil, 8 * gib, 64 * mib, 8 * gib},
		"a small one":     {40 * gib, nil, 4 * gib, 64 * mib, 4 * gib},
		"a tiny one":      {1 * gib, nil, gib / 10, gib / 160, gib / 10},
		"next to nothing": {20 * mib, nil, 8 * mib, 4 * mib, 2 * mib},
		"what is set stays": {gib, []string{"journal.max_bytes", "store.embedded.retention_bytes"}, 8 * gib,
			64 * mib, 8 * gib},
		"a segment that was set": {gib, []string{"journal.segment_bytes"}, 128 * mib, 64 * mib, gib / 10},
	} {
		fitted := Default()
		fitted.FitDisk(c.size, func(key string) bool {
			for _, g := range c.given {
				if g == key {
					return true
				}
			}
			return false
		})
		assert.Equal(t, []int64{c.journal, c.segment, c.retention},
			[]int64{fitted.Journal.MaxBytes, fitted.Journal.SegmentBytes, fitted.Embedded.RetentionBytes}, name)
		assert.NoError(t, fitted.Validate(), name)
	}
}
