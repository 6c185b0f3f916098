package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/upgrade"
)

// othersBits are what nobody beside the owner's group may do in a data directory, and what that group may not: 0640 for
// files and 0750 for directories are the most.
const othersBits = 0o027

// ownDirs are what a collector makes in its data directory.
var ownDirs = []string{"journal", "feeds", "registry", "stores", "rules", gridDir, upgrade.OldDir}

// keepPrivate lets what this process makes from now on be read by nobody else, whatever a library asks for, and takes
// that from what is there: the data directory may have been made for all to read.
func keepPrivate(dataDir string, logger *slog.Logger) error {
	syscall.Umask(syscall.Umask(othersBits) | othersBits)
	tightened := 0
	for _, name := range ownDirs {
		root, err := filepath.EvalSymlinks(filepath.Join(dataDir, name)) // on another disk, for some
		if errors.Is(err, fs.ErrNotExist) {
			continue // opening it later reports a link that leads nowhere
		} else if err != nil {
			return fmt.Errorf("data_dir: %w", err)
		}
		err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !entry.IsDir() && !entry.Type().IsRegular() {
				return err
			}
			info, err := entry.Info()
			if err != nil || info.Mode().Perm()&othersBits == 0 {
				return err
			}
			tightened++
			return os.Chmod(path, info.Mode().Perm()&^othersBits)
		})
		if err != nil {
			return fmt.Errorf("data_dir: take from others what is theirs to read: %w", err)
		}
	}
	if tightened > 0 {
		logger.Warn("files of the data directory could be read or written by others, and no longer can", "files",
			tightened, "data", dataDir)
	}
	return nil
}
