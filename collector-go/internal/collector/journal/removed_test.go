package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// appendUntil appends batches until one is refused, or accepted again, and returns the last answer.
func appendUntil(t *testing.T, j *Journal, s *sender, wanted func(error) bool) error {
	for begun := time.Now(); ; {
		require.Less(t, time.Since(begun), 30*time.Second)
		s.sequence++
		done := make(chan error, 1)
		_, err := j.Append(batchOf(t, j, s, s.sequence), func(err error) { done <- err })
		if err == nil {
			err = <-done
		}
		if wanted(err) {
			return err
		}
	}
}

// TestAnotherTakesItsDirectory checks that a collector writes nothing into its directory after another journal took it
// over.
func TestAnotherTakesItsDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	o := DefaultOptions()
	o.RetryInterval = 10 * time.Millisecond
	j, err := Open(dir, o)
	require.NoError(t, err)
	s := &sender{producer: place, epoch: Epoch{1}}
	require.NoError(t, appendUntil(t, j, s, func(error) bool { return true }))
	require.NoError(t, os.RemoveAll(dir))
	other, err := Open(dir, o)
	require.NoError(t, err)
	require.NoError(t, appendUntil(t, other, &sender{producer: place, epoch: Epoch{2}}, func(error) bool {
		return true
	}))
	before, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)

	err = appendUntil(t, j, s, func(err error) bool { return err != nil && strings.Contains(err.Error(), "in use by") })
	require.ErrorIs(t, err, ErrFull)
	after, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NoError(t, other.Close())
	err = appendUntil(t, j, s, func(err error) bool {
		return err != nil && !strings.Contains(err.Error(), "in use by")
	})
	require.ErrorContains(t, err, "another journal has replaced")
	require.NoError(t, j.Close())
}

// TestItsDirectoryIsRemoved checks that nothing is acknowledged in a file that disappears with the process. If the
// directory exists again, the journal continues in a new segment, whose header contains all definitions.
func TestItsDirectoryIsRemoved(t *testing.T) {
	for name, remove := range map[string]func(dir string) error{
		"removed": os.RemoveAll,
		"renamed": func(dir string) error { return os.Rename(dir, dir+".old") },
		"emptied": func(dir string) error { return os.Remove(filepath.Join(dir, segmentName(1))) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "journal")
			o := DefaultOptions()
			o.RetryInterval = 10 * time.Millisecond
			j, err := Open(dir, o)
			require.NoError(t, err)
			s := &sender{producer: place, epoch: Epoch{1}}
			require.NoError(t, appendUntil(t, j, s, func(error) bool { return true }))
			require.NoError(t, remove(dir))
			err = appendUntil(t, j, s, func(err error) bool { return err != nil })
			var full *FullError
			require.True(t, errors.As(err, &full))
			require.Equal(t, "write", full.Reason)
			require.ErrorContains(t, err, "was removed or renamed")
			if name != "emptied" {
				require.ErrorContains(t, j.Ready(), "accepts no writes")
				require.NoError(t, os.Mkdir(dir, 0o750))
			}
			require.NoError(t, appendUntil(t, j, s, func(err error) bool { return err == nil }))
			last := s.sequence
			require.NoError(t, j.Close())

			j, err = Open(dir, o)
			require.NoError(t, err)
			require.NoError(t, j.Close())
			had := newReading()
			had.readClosed(t, j)
			require.Equal(t, 1, had.batches[batchKey{s.epoch, last}], "what was acknowledged behind it is there")
		})
	}
}
