package floor

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// log is a file to which messages are appended, one write and one sync for all that wait. Messages are copied once,
// into the memory that the disk reads: the write bypasses the page cache, whose copy and whose write-back cost more
// than all else of a floor. A file system that has no such writes gets usual ones.
type log struct {
	file  *os.File
	bound int64 // it begins from its start again behind this
	at    int64

	mu      sync.Mutex // guards what follows
	changed sync.Cond
	filling *chunk
	free    *chunk // nil while it is being written
}

// chunk is what is written at once.
type chunk struct {
	memory  []byte // aligned, and so is its length
	used    int
	waiting []answer
	copying sync.WaitGroup // those that still fill what they were given
}

// answer is what a stream gets once a message is on disk.
type answer struct {
	to     chan<- uint32
	number uint32
	last   bool // no message: the stream has ended
}

const (
	// alignment is that of what the disk reads: a page, which is a multiple of every disk's sector.
	alignment = 4096
	// chunkBytes is how much is written at once at most; the largest message must fit.
	chunkBytes = 16 << 20
)

// newLog makes a log of a new file.
func newLog(path string, bound int64) (*log, error) {
	const flags = os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	file, err := os.OpenFile(path, flags|syscall.O_DIRECT, 0o640)
	if errors.Is(err, syscall.EINVAL) {
		file, err = os.OpenFile(path, flags, 0o640)
	}
	if err != nil {
		return nil, err
	}
	if err := unix.Fallocate(int(file.Fd()), 0, 0, bound+chunkBytes); err != nil &&
		!errors.Is(err, syscall.EOPNOTSUPP) {
		return nil, errors.Join(err, file.Close())
	}
	l := &log{file: file, bound: bound, filling: newChunk(), free: newChunk()}
	l.changed.L = &l.mu
	return l, nil
}

func newChunk() *chunk {
	memory := make([]byte, chunkBytes+alignment)
	off := -uintptr(unsafe.Pointer(&memory[0])) & (alignment - 1)
	return &chunk{memory: memory[off : off+chunkBytes]}
}

// reserve gives n bytes of the log, at most chunkBytes, to be filled before filled is called.
func (l *log) reserve(n int, a answer) (room []byte, filled func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.filling.used+n > chunkBytes {
		l.changed.Wait()
	}
	c := l.filling
	room = c.memory[c.used : c.used+n : c.used+n]
	c.used += n
	c.waiting = append(c.waiting, a)
	c.copying.Add(1)
	l.changed.Broadcast()
	return room, c.copying.Done
}

// write writes what waits until a write fails.
func (l *log) write() error {
	for {
		c := l.take()
		c.copying.Wait()
		if err := l.put(c); err != nil {
			return err
		}
		for _, a := range c.waiting {
			if a.last {
				close(a.to)
			} else {
				a.to <- a.number
			}
		}
		c.used, c.waiting = 0, c.waiting[:0]
		l.mu.Lock()
		l.free = c
		l.mu.Unlock()
	}
}

// take waits for something to write; what comes next goes into the other chunk.
func (l *log) take() *chunk {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.filling.waiting) == 0 {
		l.changed.Wait()
	}
	c := l.filling
	l.filling, l.free = l.free, nil
	l.changed.Broadcast()
	return c
}

// put puts a chunk on disk, with zeros up to a whole page.
func (l *log) put(c *chunk) error {
	if c.used == 0 {
		return nil
	}
	whole := (c.used + alignment - 1) &^ (alignment - 1)
	clear(c.memory[c.used:whole])
	if l.at > l.bound {
		l.at = 0
	}
	n, err := l.file.WriteAt(c.memory[:whole], l.at)
	l.at += int64(n)
	if err != nil {
		return err
	}
	return syscall.Fdatasync(int(l.file.Fd()))
}
