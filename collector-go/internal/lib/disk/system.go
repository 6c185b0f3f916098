package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// System implements FS with the operating system.
type System struct{}

// MkdirAll implements FS.
func (d System) MkdirAll(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := d.MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o750); err != nil && !os.IsExist(err) {
		return err
	}
	return d.SyncDir(parent)
}

// Create implements FS.
func (System) Create(name string) (File, error) {
	return openFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

// Open implements FS.
func (System) Open(name string) (File, error) { return openFile(name, os.O_RDWR) }

func openFile(name string, flags int) (File, error) {
	f, err := os.OpenFile(name, flags, 0o640)
	if err != nil {
		return nil, err
	}
	return systemFile{f}, nil
}

// Remove implements FS.
func (System) Remove(name string) error { return os.Remove(name) }

// Rename implements FS.
func (System) Rename(from, to string) error { return os.Rename(from, to) }

// Free implements FS with statfs(2).
func (System) Free(dir string) (free, size uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	return st.Bavail * uint64(st.Bsize), st.Blocks * uint64(st.Bsize), nil
}

// SyncDir implements FS.
func (System) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// ReadDir implements FS.
func (System) ReadDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names, nil
}

// Lock implements FS with flock(2).
func (System) Lock(name, holder string) (Lock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if err == syscall.EWOULDBLOCK {
			return nil, fmt.Errorf("in use by %s: stop that process or choose another directory", readHolder(f))
		}
		return nil, fmt.Errorf("flock: %w", err)
	}
	// The holder's name is only informative. On a full disk the lock is valid without it.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(holder+"\n"), 0)
	}
	return systemFile{f}, nil
}

// Holder returns the holder of a lock, or "" if the lock is free or the file does not exist.
func (System) Holder(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != syscall.EWOULDBLOCK {
		return ""
	}
	return readHolder(f)
}

func readHolder(f *os.File) string {
	text, err := io.ReadAll(io.LimitReader(f, 256))
	if holder := strings.TrimSpace(string(text)); err == nil && holder != "" {
		return holder
	}
	return "another process"
}

type systemFile struct{ *os.File }

// Linked implements File.
func (f systemFile) Linked() (bool, error) {
	named, err := os.Stat(f.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	opened, err := f.Stat()
	if err != nil {
		return false, err
	}
	return os.SameFile(named, opened), nil
}

// Size implements File.
func (f systemFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
