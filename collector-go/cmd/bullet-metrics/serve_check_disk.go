package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// nearest is a path, or the first of those above it that is there.
func nearest(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}

// lookAtDisk compares the data directory's disk with the bounds.
func lookAtDisk(c config.Config, holder string) []looked {
	there := nearest(c.DataDir)
	if info, err := os.Stat(there); err == nil && !info.IsDir() {
		return []looked{{wrong, fmt.Sprintf("data_dir %s: %s is no directory", c.DataDir, there)}}
	}
	if err := unix.Access(there, unix.W_OK|unix.X_OK); err != nil {
		return []looked{{wrong, fmt.Sprintf("data_dir %s: %s cannot be written by this user: %v", c.DataDir,
			there, err)}}
	}
	free, size, err := disk.System{}.Free(there)
	if err != nil {
		return []looked{{away, fmt.Sprintf("data_dir %s: %v", c.DataDir, err)}}
	}
	taken, err := sizeBelow(c.DataDir)
	if err != nil {
		return []looked{{away, fmt.Sprintf("data_dir %s: %v", c.DataDir, err)}}
	}
	bounds, bounded := c.Journal.MaxBytes, fmt.Sprintf("journal.max_bytes %s", gibibytes(c.Journal.MaxBytes))
	switch {
	case c.Embedded.Enabled && c.Embedded.RetentionBytes > 0:
		bounds += c.Embedded.RetentionBytes
		bounded += fmt.Sprintf(" and store.embedded.retention_bytes %s", gibibytes(c.Embedded.RetentionBytes))
	case c.Embedded.Enabled:
		bounded += ", and store.embedded.retention_bytes has no bound"
	}
	says := fmt.Sprintf("data_dir %s: %s, of which it takes %s; %s of %s are free", c.DataDir, bounded,
		gibibytes(taken), gibibytes(int64(free)), gibibytes(int64(size)))
	if bounds-taken > int64(free) {
		return []looked{{away, says + ": not enough for what may come; lower the bounds, or make room"}}
	}
	if holder != "" {
		says += "; in use by " + holder
	}
	return []looked{{fine, says}}
}

// lookAtData looks for what would keep a collector from starting on its data directory. One that runs has started.
func lookAtData(dir, holder string) (all []looked) {
	if holder != "" || !isDirectory(dir) {
		return nil
	}
	for _, fault := range dataFaults(dir, journalEnd) {
		all = append(all, looked{wrong, fault.Error()})
	}
	if len(all) == 0 {
		return []looked{{fine, fmt.Sprintf("data_dir %s: its journal, stores and checkpoints fit together", dir)}}
	}
	return all
}

// sizeBelow is what the files below a directory hold, bytes; 0 where it is not there. A file that goes meanwhile counts
// nothing.
func sizeBelow(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

func gibibytes(n int64) string { return fmt.Sprintf("%.3g GiB", float64(n)/(1<<30)) }
