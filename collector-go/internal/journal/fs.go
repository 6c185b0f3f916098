package journal

import "io"

// FS is what the journal asks of a file system. Names are paths. Methods may be called concurrently.
type FS interface {
	// MkdirAll makes a directory and its parents, durably.
	MkdirAll(dir string) error
	// Create makes a file that must not exist, for reading and writing. It is durable after SyncDir.
	Create(name string) (File, error)
	// Open opens a file for reading and writing.
	Open(name string) (File, error)
	// Remove unlinks a file. It is gone for good after SyncDir.
	Remove(name string) error
	// SyncDir makes creations and removals in a directory durable.
	SyncDir(dir string) error
	// ReadDir lists the names in a directory.
	ReadDir(dir string) ([]string, error)
	// Lock takes a lock that ends with the process at the latest, and leaves holder in the file for others to read. When
	// another has it the error says who.
	Lock(name, holder string) (io.Closer, error)
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
}
