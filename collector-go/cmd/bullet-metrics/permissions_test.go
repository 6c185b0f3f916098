package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
)

// D6: in a data directory that was made for all to read nothing that the collector makes can be read by others, what
// was there included.
func TestNothingInADataDirectoryIsForOthers(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	dir := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "rules"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules", "old"), nil, 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README"), nil, 0o644))
	c := settings(dir)
	c.Stores["remote_write"]["m"] = &config.Store{URL: "http://127.0.0.1:1/", Timeout: time.Second, MaxSlices: 10,
		MaxBytes: 1 << 20}
	r := startCollector(t, c)
	r.send(minute(1, time.Now().Truncate(10*time.Second)))
	require.NoError(t, r.col.store.Flush(t.Context()))
	r.close()
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		if path == dir || entry.Name() == "README" {
			return nil // the operator's own
		}
		files++
		assert.Zero(t, info.Mode().Perm()&0o027, "%s is %v", path, info.Mode())
		return nil
	}))
	assert.Greater(t, files, 10)
}
