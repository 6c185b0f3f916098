package grid

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Snapshot writes everything that was handed over into dir while the store runs. dir must be empty or missing. The
// result is a complete store that can be opened.
func (s *Store) Snapshot(ctx context.Context, dir string) error {
	if names, err := s.fs.ReadDir(dir); err == nil && len(names) > 0 {
		return fmt.Errorf("grid store: snapshot: %s is not empty; name a directory that does not exist", dir)
	}
	if err := s.Flush(ctx); err != nil {
		return err
	}
	m, release, err := s.hold()
	if err != nil {
		return err
	}
	defer release()
	if err := s.copyTo(ctx, dir, m); err != nil {
		return fmt.Errorf("grid store: snapshot into %s: %w", dir, err)
	}
	return nil
}

// hold returns the manifest, and keeps its parts on disk until release is called, even if merges or retention drop them
// meanwhile.
func (s *Store) hold() (m manifest, release func(), err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.closed {
		return manifest{}, nil, ErrClosed
	}
	_, leave := s.reading(math.MinInt64, math.MaxInt64)
	return s.manifest, func() { _ = leave() }, nil
}

// copyTo copies the parts first and writes the manifest last, so that an interrupted copy is not a valid store.
func (s *Store) copyTo(ctx context.Context, dir string, m manifest) error {
	if err := s.fs.MkdirAll(dir); err != nil {
		return err
	}
	for _, e := range m.parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyFile(s.fs, s.path(partName(e.number)), filepath.Join(dir, partName(e.number))); err != nil {
			return err
		}
	}
	if err := s.fs.SyncDir(dir); err != nil {
		return err
	}
	return disk.WriteAside(s.fs, dir, filepath.Join(dir, manifestName(m.sequence)), m.encode())
}

// copyFile copies a file and syncs the copy. If that fails, it removes the copy.
func copyFile(fs disk.FS, from, to string) error {
	source, err := fs.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := fs.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.NewOffsetWriter(target, 0), io.NewSectionReader(source, 0, math.MaxInt64)); err != nil {
		return errors.Join(err, target.Close(), fs.Remove(to))
	}
	return errors.Join(target.Sync(), target.Close())
}
