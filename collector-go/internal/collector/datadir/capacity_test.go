package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
)

// A collector that is stopped while the disk is full ends with 0, since the journal has what was acknowledged; with
// anything else beside that it fails.
func TestOnlyFull(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "grid/7.part", Err: syscall.ENOSPC}
	lacks := fmt.Errorf("grid store: lacks 1 MiB of %w: free space", grid.ErrDiskFull)
	for _, err := range []error{lacks, full, fmt.Errorf("write: %w", full), errors.Join(nil, lacks),
		errors.Join(lacks, full)} {
		assert.True(t, OnlyFull(err), "%v", err)
	}
	broken := &fs.PathError{Op: "fsync", Path: "grid/7.part", Err: syscall.EIO}
	for _, err := range []error{broken, errors.Join(lacks, broken), fmt.Errorf("close: %w", errors.Join(full, broken)),
		errors.New("queries are still running")} {
		assert.False(t, OnlyFull(err), "%v", err)
	}
}
