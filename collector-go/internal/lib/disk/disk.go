// Package disk is the file system interface for code that must store data durably. FS has two implementations: the
// operating system's, and one for tests (disktest) that simulates power loss, a full disk, and errors. All durable
// files go through it, so that all of them can be tested against these faults.
//
// The package must not know what the files contain. Start with FS, which defines when an operation is durable, and
// with WriteAside, which replaces a whole file.
package disk

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// FS is the part of a file system that durable storage needs. It states for each operation when its effect is durable,
// because a loss of power may undo a rename or a removal until the directory is synced. Names are paths. Methods may
// be called concurrently.
type FS interface {
	// MkdirAll creates a directory and its parents, durably.
	MkdirAll(dir string) error
	// Create creates a file that must not exist, for reading and writing. The creation is durable after SyncDir.
	Create(name string) (File, error)
	// Open opens a file for reading and writing.
	Open(name string) (File, error)
	// Rename renames a file within its directory, and replaces an existing file. The change is durable after SyncDir.
	Rename(from, to string) error
	// Remove removes a file. The removal is durable after SyncDir.
	Remove(name string) error
	// SyncDir makes creations and removals in a directory durable.
	SyncDir(dir string) error
	// ReadDir returns the names in a directory.
	ReadDir(dir string) ([]string, error)
	// Free returns the number of bytes that can be written in a directory, and the size of its file system in bytes.
	Free(dir string) (free, size uint64, err error)
	// Lock takes a lock that ends with the process at the latest, and writes holder into the file for others to read.
	// If another process has the lock, the error names its holder.
	Lock(name, holder string) (Lock, error)
}

// Lock is a held lock. Close releases it.
type Lock interface {
	io.Closer
	// Linked reports whether the name of the file still refers to this lock. If not, another process may hold a lock
	// with the same name.
	Linked() (bool, error)
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes written data durable. After a failed Sync the data may or may not be on disk.
	Sync() error
	// Truncate changes the length of the file.
	Truncate(size int64) error
	// Size returns the file's length in bytes.
	Size() (int64, error)
	// Linked reports whether the name under which the file was created or opened still refers to it. After a removal
	// or a rename it does not.
	Linked() (bool, error)
}

// WriteAside replaces a file atomically; parts are the consecutive parts of its content. It writes a file with another
// name, syncs it, renames it, and syncs the directory. After an error the old file is unchanged, except if only the
// final sync failed. At most a file with the suffix AsideSuffix is left over.
func WriteAside(fs FS, dir, name string, parts ...[]byte) error {
	aside := name + AsideSuffix
	_ = fs.Remove(aside) // possibly left over after a crash
	f, err := fs.Create(aside)
	if err != nil {
		return err
	}
	at := int64(0)
	for _, part := range parts {
		if err == nil {
			_, err = f.WriteAt(part, at)
		}
		at += int64(len(part))
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = fs.Rename(aside, name)
	}
	if err != nil {
		return errors.Join(err, fs.Remove(aside))
	}
	return fs.SyncDir(dir)
}

// ReadFile returns the content of a file.
func ReadFile(fs FS, name string) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:n], nil
}

// AsideSuffix is the suffix of a file that is being written.
const AsideSuffix = ".new"

// ErrNewer means that a newer version of the program wrote a file. The file is not damaged: its reader must leave it
// unchanged and name it in the error, because the newer program can read it.
var ErrNewer = errors.New("a newer version of bullet-metrics wrote it")

// CheckVersion returns an ErrNewer if a file's version is greater than the newest known one.
func CheckVersion(version, known uint64) error {
	if version <= known {
		return nil
	}
	return fmt.Errorf("%w: its format version is %d, but this program supports up to %d: run the newer release", ErrNewer, version,
		known)
}

// Shortage measures how long a disk has been short of space. Another program may fill the disk for a moment. Actions
// that cannot be undone, such as deleting data, therefore wait until the shortage has lasted. The user calls Look
// about once a second.
type Shortage struct {
	lasted time.Duration
	looked time.Time // time of the last Look during the shortage; zero without one
}

// longestLook is the maximum time that one interval between two calls of Look counts. What happened in a longer one is
// unknown: the machine was suspended, its clock was set, or nobody called Look.
const longestLook = 10 * time.Second

// Look records whether the disk is short of space now. It returns how long the shortage has lasted without
// interruption, and whether it begins now.
func (s *Shortage) Look(short bool, now time.Time) (lasted time.Duration, begins bool) {
	if !short {
		*s = Shortage{}
		return 0, false
	}
	if begins = s.looked.IsZero(); !begins {
		s.lasted += min(max(now.Sub(s.looked), 0), longestLook)
	}
	s.looked = now
	return s.lasted, begins
}
