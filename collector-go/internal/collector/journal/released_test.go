package journal

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// openings is a disk that calls a function before a file is opened.
type openings struct {
	disk.FS
	before func(name string)
}

// Open implements disk.FS.
func (o *openings) Open(name string) (disk.File, error) {
	if o.before != nil {
		o.before(filepath.Base(name))
	}
	return o.FS.Open(name)
}

// TestASegmentIsReleasedAsAReaderOpensIt checks that a reader at the end of the segment has lost nothing, because the
// next header defines what it needs. A reader before the end has lost entries. Found with the core's seed 3225.
func TestASegmentIsReleasedAsAReaderOpensIt(t *testing.T) {
	for _, missing := range []int64{0, 1} { // bytes of the segment that the reader has not read
		t.Run(fmt.Sprintf("%d bytes before its end", missing), func(t *testing.T) {
			fs := &openings{FS: disktest.NewMemory(1)}
			j, err := Open("/journal", smallOptions(fs))
			require.NoError(t, err)
			defer j.Close()
			sequence := uint64(0)
			for len(j.segments) < 2 {
				sequence++
				appended(t, j, oneBatch(t, j, sequence))
			}
			end := j.segments[0].endPosition()
			reader, err := j.Reader(end - Position(missing))
			require.NoError(t, err)
			defer reader.Close()
			var opened []string
			fs.before = func(name string) {
				if opened = append(opened, name); name == segmentName(1) {
					require.NoError(t, j.Release(end))
				}
			}
			got := newReading()
			for len(got.batches) == 0 {
				_, entry, err := reader.Next(t.Context())
				if missing > 0 {
					require.ErrorIs(t, err, ErrExpired)
					return
				}
				require.NoError(t, err)
				got.take(t, entry)
			}
			require.Equal(t, []string{segmentName(1), segmentName(2)}, opened)
			require.Equal(t, end, j.Oldest())
			require.Equal(t, map[batchKey]int{{Epoch{9}, sequence}: 1}, got.batches)
		})
	}
}
