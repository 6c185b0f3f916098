// Package datadir knows the data directory of a collector: which directories it has, whether a collector can start on
// it, and how it is checked and repaired. It must not know how the files are written; the packages that own the formats
// do. Start with Faults.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/upgrade"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Directories below a data directory.
const (
	Journal  = "journal"
	Feeds    = "feeds" // checkpoints, one directory per store
	Registry = "registry"
	Stores   = "stores" // cursors of the network stores
	Rules    = "rules"
	Grid     = "grid" // the embedded store
)

// own lists the directories that a collector makes in its data directory.
var own = []string{Journal, Feeds, Registry, Stores, Rules, Grid, upgrade.OldDir}

// Holder returns the process that writes to a data directory now, or "".
func Holder(dir string) string {
	return disk.System{}.Holder(journal.LockFile(filepath.Join(dir, Journal)))
}

// KeepAll returns options for a store that is only read: nothing in it expires.
func KeepAll() grid.Options {
	keep := grid.DefaultOptions()
	keep.RetentionTime, keep.RetentionBytes = 0, 0
	return keep
}

// OpenStore opens the embedded store of a data directory that no collector uses.
func OpenStore(dir string) (*grid.Store, error) {
	if _, err := os.Stat(filepath.Join(dir, Grid)); err != nil {
		if _, old := os.Stat(filepath.Join(dir, upgrade.OldDir)); old == nil {
			return nil, fmt.Errorf(
				"%s: written by an older version of bullet-metrics; run \"bullet-metrics serve --data-dir %s\" once to convert it",
				dir, dir)
		}
		return nil, fmt.Errorf("%s is not a data directory: %w", dir, err)
	}
	store, err := grid.Open(filepath.Join(dir, Grid), KeepAll())
	if err != nil {
		return nil, fmt.Errorf("%w; if a collector uses the directory, query that collector over HTTP", err)
	}
	return store, nil
}

// IsDirectory reports whether a directory exists.
func IsDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Existing returns a path, or its nearest parent that exists.
func Existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}

// Bytes returns the size of the files below a directory, or 0 if it does not exist. It ignores files that are removed
// meanwhile.
func Bytes(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil && entry.Type().IsRegular() {
			if info, err = entry.Info(); err == nil {
				total += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return total, err
}
