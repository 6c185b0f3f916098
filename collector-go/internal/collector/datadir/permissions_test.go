package datadir

import (
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A directory of the collector's own may be a link to another disk.
func TestALinkedDirectoryIsNotForOthers(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "journal")
	require.NoError(t, os.Mkdir(elsewhere, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "segment"), nil, 0o666))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, "journal")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "feeds")))
	require.NoError(t, Restrict(dir, slog.New(slog.DiscardHandler)))
	for _, path := range []string{elsewhere, filepath.Join(elsewhere, "segment")} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Zero(t, info.Mode().Perm()&0o027, "%s is %v", path, info.Mode())
	}
}
