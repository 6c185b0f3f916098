package grid

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/part"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// CheckVersions checks the versions of all manifests and parts in dir and changes nothing. It returns a disk.ErrNewer
// that names the files that a newer program wrote. It ignores a file whose version cannot be read, because that is
// damage, which recover handles.
//
// It runs before anything in the directory is changed. An older program therefore neither sets aside nor removes what a
// newer one wrote.
func CheckVersions(fs disk.FS, dir string) (err error) {
	l, unlisted := list(fs, dir)
	if unlisted != nil {
		return nil // opening the store reports that
	}
	for _, sequence := range l.manifests {
		name := filepath.Join(dir, manifestName(sequence))
		if _, _, one := readManifest(fs, name, sequence); errors.Is(one, disk.ErrNewer) {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, one))
		}
	}
	for _, number := range l.parts {
		opened, one := part.Open(fs, filepath.Join(dir, partName(number)))
		if errors.Is(one, disk.ErrNewer) {
			err = errors.Join(err, one)
		}
		if one == nil {
			_ = opened.Close() // it was only read
		}
	}
	return err
}

// Position returns the journal position that the store in dir will have reached when it is opened. It takes no lock and
// changes nothing. It returns 0 for a store without a readable manifest.
func Position(fs disk.FS, dir string) (uint64, error) {
	l, err := list(fs, dir)
	if err != nil {
		return 0, err
	}
	m, _, _, err := l.newestManifest(fs, dir, func(uint64, string, error) {})
	return m.position, err
}

// Check reads a whole store, which no process may have open, and changes nothing. It calls report for each damage and
// what that damage costs. Damage of a manifest loses no slice in a part, so it is reported without a time range (FromMs
// above ToMs). The error is one of reading, not damage.
func Check(fs disk.FS, dir string, report func(*run.DamageError)) error {
	locked, err := fs.Lock(filepath.Join(dir, "lock"), fmt.Sprintf("pid %d (check) since %s", os.Getpid(),
		time.Now().UTC().Format(time.RFC3339)))
	if err != nil {
		return fmt.Errorf("grid store: lock %s: %w", dir, err)
	}
	defer locked.Close()
	l, err := list(fs, dir)
	if err != nil {
		return err
	}
	m, _, found, err := l.newestManifest(fs, dir, func(_ uint64, name string, err error) {
		report(&run.DamageError{File: name, What: "manifest", FromMs: 0, ToMs: -1, Err: err})
	})
	if err != nil {
		return err
	}
	if !found {
		for _, number := range l.parts {
			m.parts = append(m.parts, entry{number: number, minMs: 0, maxMs: -1})
		}
	}
	for _, e := range m.parts {
		if err := checkPart(fs, filepath.Join(dir, partName(e.number)), e, report); err != nil {
			return err
		}
	}
	return nil
}

// checkPart reads one part completely. It reports a damaged part with the times from the manifest, since the part's own
// may be damaged.
func checkPart(fs disk.FS, name string, e entry, report func(*run.DamageError)) error {
	opened, err := part.Open(fs, name)
	damage, damaged := errors.AsType[*run.DamageError](err)
	switch {
	case isMissing(err):
		report(&run.DamageError{File: name, What: "part, which is not there,", FromMs: e.minMs,
			ToMs: e.maxMs, Err: err})
		return nil
	case damaged:
		report(&run.DamageError{File: name, What: damage.What, FromMs: e.minMs, ToMs: e.maxMs, Err: damage.Err})
		return nil
	case err != nil:
		return fmt.Errorf("grid store: open %s: %w", name, err)
	}
	return errors.Join(opened.Check(report), opened.Close())
}
