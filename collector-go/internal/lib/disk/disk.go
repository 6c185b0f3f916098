// Package disk is the file system as seen by code that must keep data durably. FS has two implementations: the
// operating system's, and one for tests (disktest) that loses power, fills up, or fails. All durable files go through
// it, so every one of them can be tested against these faults.
//
// It must not know what the files contain. Start with FS for what is durable when, and with WriteAside for replacing a
// file as a whole.
package disk

import (
	"errors"
	"io"
)

// FS is the part of a file system that durable storage needs. It says of each operation when its effect is durable,
// since a rename or a removal may be undone by a loss of power until its directory is synced. Names are paths. Methods
// may be called concurrently.
type FS interface {
	// MkdirAll makes a directory and its parents, durably.
	MkdirAll(dir string) error
	// Create makes a file that must not exist, for reading and writing. It is durable after SyncDir.
	Create(name string) (File, error)
	// Open opens a file for reading and writing.
	Open(name string) (File, error)
	// Rename gives a file another name in the same directory, taking the place of one that has it. It is durable after
	// SyncDir.
	Rename(from, to string) error
	// Remove unlinks a file. It is gone for good after SyncDir.
	Remove(name string) error
	// SyncDir makes creations and removals in a directory durable.
	SyncDir(dir string) error
	// ReadDir lists the names in a directory.
	ReadDir(dir string) ([]string, error)
	// Free is how much can be written in a directory, and the size of its file system, bytes.
	Free(dir string) (free, size uint64, err error)
	// Lock takes a lock that ends with the process at the latest, and leaves holder in the file for others to read.
	// When another has it, the error names the holder.
	Lock(name, holder string) (Lock, error)
}

// Lock is a lock that is held; Close gives it up.
type Lock interface {
	io.Closer
	// Linked reports whether its name still leads to it. Where that does not, another process may have the lock of that
	// name.
	Linked() (bool, error)
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes what was written durable; what a failed Sync covered may be on disk or not.
	Sync() error
	// Truncate cuts the file.
	Truncate(size int64) error
	// Size is the file's length in bytes.
	Size() (int64, error)
	// Linked reports whether the name under which the file was made or opened still leads to it: it was neither removed
	// nor renamed.
	Linked() (bool, error)
}

// WriteAside writes a file, of parts that follow each other, whole or not at all: under another name, synced, then
// renamed, and its directory synced. After an error the file is as it was before, and nothing is left beside it that
// ReadDir would show but a name ending in AsideSuffix.
func WriteAside(fs FS, dir, name string, parts ...[]byte) error {
	aside := name + AsideSuffix
	_ = fs.Remove(aside) // left by a crash
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

// ReadFile returns all of a file.
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

// AsideSuffix ends the name of a file that is being written.
const AsideSuffix = ".new"
