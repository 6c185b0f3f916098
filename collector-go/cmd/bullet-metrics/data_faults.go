package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/checkpoint"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/feed"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// dataFault is a reason for which a collector does not start on a data directory. Its error names the file and what to
// do. serve finds all of them before it changes anything, serve --check prints them, and fsck lists them.
type dataFault struct {
	file   string
	err    error
	repair func() error // what fsck --repair does; nil where only its reader can do something
}

// Error implements error.
func (f dataFault) Error() string { return f.err.Error() }

// Unwrap is the error.
func (f dataFault) Unwrap() error { return f.err }

// dataFaults looks at a data directory that no collector holds and changes nothing. end is where its journal ends.
func dataFaults(dir string, end func(dir string) (journal.Position, error)) (all []dataFault) {
	if all = unusable(dir); len(all) > 0 {
		return all
	}
	if err := newerFiles(dir); err != nil {
		for _, one := range faultsIn(err) {
			all = append(all, dataFault{file: dir, err: one})
		}
		return all
	}
	return aheadOfJournal(dir, end)
}

// unusable are the directories of ours that are something else, and what in them this user may not use.
func unusable(dir string) (all []dataFault) {
	for _, name := range ownDirs {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !info.IsDir() {
			all = append(all, dataFault{file: path, err: fmt.Errorf("%s is no directory: move it out of the data directory", path)})
			continue
		}
		_ = filepath.WalkDir(path+string(filepath.Separator), func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			use := uint32(unix.R_OK | unix.W_OK)
			if entry != nil && entry.IsDir() {
				use |= unix.X_OK
			}
			if denied := unix.Access(path, use); errors.Is(denied, unix.EACCES) || errors.Is(denied, unix.EROFS) {
				all = append(all, dataFault{file: path, err: fmt.Errorf("%s cannot be read and written by this user: %w: give it to the user that runs the collector (chown)",
					path, denied)})
				if entry == nil || entry.IsDir() {
					return fs.SkipDir
				}
			}
			return nil
		})
	}
	return all
}

// newerFiles names the files of every format that a newer program wrote.
func newerFiles(dir string) error {
	system := disk.System{}
	errs := []error{
		journal.CheckVersions(filepath.Join(dir, "journal"), system),
		grid.CheckVersions(system, filepath.Join(dir, gridDir)),
		checkpoint.CheckVersion(filepath.Join(dir, "registry"), system, registry.CheckVersion),
	}
	for _, path := range directoriesIn(filepath.Join(dir, "feeds")) {
		errs = append(errs, checkpoint.CheckVersion(path, system, feed.CheckVersion))
	}
	for _, path := range cursorDirs(dir) {
		if _, err := forward.Position(system, path); errors.Is(err, disk.ErrNewer) {
			errs = append(errs, fmt.Errorf("%s: %w", filepath.Join(path, "cursor"), err))
		}
	}
	return errors.Join(errs...)
}

// cursorDirs are where stores on the network keep their cursors.
func cursorDirs(dir string) (all []string) {
	for _, path := range directoriesIn(filepath.Join(dir, "stores")) {
		all = append(all, path, filepath.Join(path, "annotations"))
	}
	return all
}

// directoriesIn are the paths of the directories in one that may not be there.
func directoriesIn(dir string) (paths []string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if path := filepath.Join(dir, entry.Name()); isDirectory(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// aheadOfJournal are the stores that were fed further than the journal goes: its newest files were removed or emptied.
func aheadOfJournal(dir string, end func(dir string) (journal.Position, error)) (all []dataFault) {
	system := disk.System{}
	ends, err := end(filepath.Join(dir, "journal"))
	if err != nil {
		return []dataFault{{file: filepath.Join(dir, "journal"), err: err}}
	}
	ahead := func(file, store string, position uint64, repair func() error) {
		if journal.Position(position) > ends {
			all = append(all, dataFault{file: file, repair: repair, err: feed.AheadError{Store: store,
				Cursor: journal.Position(position), End: ends, DataDir: dir}})
		}
	}
	at := filepath.Join(dir, gridDir)
	if position, err := grid.Position(system, at); err == nil {
		ahead(at, "embedded", position, func() error { return grid.SetPosition(at, keepEverything(), uint64(ends)) })
	}
	for _, path := range cursorDirs(dir) {
		position, err := forward.Position(system, path)
		if err != nil {
			file := filepath.Join(path, "cursor")
			all = append(all, dataFault{file: file,
				repair: func() error { return forward.SetPosition(system, path, 0) },
				err: fmt.Errorf("%s: %w; bullet-metrics fsck %s --repair replaces it, and the whole journal is sent again", file,
					err, dir)})
			continue
		}
		ahead(path, filepath.Base(path), position, func() error {
			return forward.SetPosition(system, path, uint64(ends))
		})
	}
	return all
}

// refuseFaulty returns why a collector must not start on a data directory. It changes nothing there, and does not look
// at a directory that another collector writes to: opening the journal reports that by its lock.
func refuseFaulty(dir string) error {
	if (disk.System{}).Holder(journal.LockFile(filepath.Join(dir, "journal"))) != "" {
		return nil
	}
	var errs []error
	for _, fault := range dataFaults(dir, func(dir string) (journal.Position, error) {
		return journal.Reach(dir, disk.System{}), nil // feed.New reads where exactly it ends
	}) {
		errs = append(errs, fault)
	}
	return errors.Join(errs...)
}

// journalEnd reads where a journal ends.
func journalEnd(dir string) (journal.Position, error) {
	if !isDirectory(dir) {
		return 0, nil
	}
	return journal.End(dir, disk.System{})
}
