package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/checkpoint"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/feed"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/checklist"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Fault is a reason why a collector does not start on a data directory. Its error names the file and what to do. serve
// finds all faults before it changes anything, serve --check prints them, and fsck lists them.
type Fault struct {
	File   string
	Err    error
	repair func() error // what Check does to repair it; nil if only a person can
}

// Faults returns all faults of a data directory that no collector uses. It reads the whole newest segment of the
// journal, and changes nothing.
func Faults(dir string) []Fault {
	return faults(dir, func(journalDir string) (journal.Position, error) {
		if !IsDirectory(journalDir) {
			return 0, nil
		}
		return journal.End(journalDir, disk.System{})
	})
}

// CheckStart returns an error if a collector must not start on a data directory. It changes nothing. It accepts a
// directory that another collector writes to, because opening the journal reports that.
func CheckStart(dir string) error {
	if Holder(dir) != "" {
		return nil
	}
	var errs []error
	for _, fault := range faults(dir, func(journalDir string) (journal.Position, error) {
		return journal.Reach(journalDir, disk.System{}), nil // feed.New reads the exact end
	}) {
		errs = append(errs, fault.Err)
	}
	return errors.Join(errs...)
}

// faults returns the faults of a data directory. end returns the end of its journal.
func faults(dir string, end func(journalDir string) (journal.Position, error)) (all []Fault) {
	if all = unusable(dir); len(all) > 0 {
		return all
	}
	for _, err := range newer(dir) {
		all = append(all, Fault{File: dir, Err: err})
	}
	if len(all) > 0 {
		return all
	}
	return aheadOfJournal(dir, end)
}

// newer returns an error for each file that a newer program wrote.
func newer(dir string) []error {
	system := disk.System{}
	errs := []error{
		journal.CheckVersions(filepath.Join(dir, Journal), system),
		grid.CheckVersions(system, filepath.Join(dir, Grid)),
		checkpoint.CheckVersion(filepath.Join(dir, Registry), system, registry.CheckVersion),
	}
	for _, path := range directories(filepath.Join(dir, Feeds)) {
		errs = append(errs, checkpoint.CheckVersion(path, system, feed.CheckVersion))
	}
	for _, path := range cursors(dir) {
		if _, err := forward.Position(system, path); errors.Is(err, disk.ErrNewer) {
			errs = append(errs, fmt.Errorf("%s: %w", filepath.Join(path, "cursor"), err))
		}
	}
	return checklist.Split(errors.Join(errs...))
}

// cursors returns the directories in which network stores keep their cursors.
func cursors(dir string) (all []string) {
	for _, path := range directories(filepath.Join(dir, Stores)) {
		all = append(all, path, filepath.Join(path, "annotations"))
	}
	return all
}

// directories returns the directories in a directory, which may not exist.
func directories(dir string) (paths []string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if path := filepath.Join(dir, entry.Name()); IsDirectory(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// aheadOfJournal returns the faults of stores that have data from after the end of the journal, because the newest
// files of the journal were removed or emptied.
func aheadOfJournal(dir string, end func(journalDir string) (journal.Position, error)) (all []Fault) {
	system := disk.System{}
	ends, err := end(filepath.Join(dir, Journal))
	if err != nil {
		return []Fault{{File: filepath.Join(dir, Journal), Err: err}}
	}
	check := func(file, store string, position uint64, repair func() error) {
		if journal.Position(position) > ends {
			all = append(all, Fault{File: file, repair: repair, Err: feed.AheadError{Store: store,
				Cursor: journal.Position(position), End: ends, DataDir: dir}})
		}
	}
	store := filepath.Join(dir, Grid)
	if position, err := grid.Position(system, store); err == nil {
		check(store, "embedded", position, func() error { return grid.SetPosition(store, KeepAll(), uint64(ends)) })
	}
	for _, path := range cursors(dir) {
		position, err := forward.Position(system, path)
		if err != nil {
			file := filepath.Join(path, "cursor")
			all = append(all, Fault{File: file,
				repair: func() error { return forward.SetPosition(system, path, 0) },
				Err: fmt.Errorf("%s: %w; run bullet-metrics fsck %s --repair to replace it; the whole journal is then sent again", file,
					err, dir)})
			continue
		}
		check(path, filepath.Base(path), position, func() error {
			return forward.SetPosition(system, path, uint64(ends))
		})
	}
	return all
}
