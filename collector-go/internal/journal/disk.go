package journal

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Disk is the operating system's file system.
type Disk struct{}

// MkdirAll implements FS.
func (d Disk) MkdirAll(dir string) error {
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
func (Disk) Create(name string) (File, error) {
	return openDisk(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

// Open implements FS.
func (Disk) Open(name string) (File, error) { return openDisk(name, os.O_RDWR) }

func openDisk(name string, flags int) (File, error) {
	f, err := os.OpenFile(name, flags, 0o640)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

// Remove implements FS.
func (Disk) Remove(name string) error { return os.Remove(name) }

// SyncDir implements FS.
func (Disk) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// ReadDir implements FS.
func (Disk) ReadDir(dir string) ([]string, error) {
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

// Lock implements FS by flock(2).
func (Disk) Lock(name, holder string) (io.Closer, error) {
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
	// Who holds it is a courtesy: on a full disk the lock counts without it.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(holder+"\n"), 0)
	}
	return f, nil
}

func readHolder(f *os.File) string {
	text, err := io.ReadAll(io.LimitReader(f, 256))
	if holder := strings.TrimSpace(string(text)); err == nil && holder != "" {
		return holder
	}
	return "another process"
}

type diskFile struct{ *os.File }

// Size implements File.
func (f diskFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
