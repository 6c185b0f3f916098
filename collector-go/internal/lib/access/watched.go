package access

import (
	"bytes"
	"maps"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// maxFileBytes bounds a file of ours: 10,000 lines of tokens.
const maxFileBytes = 1 << 20

// contents are files as they were read.
type contents map[string][]byte

// read reads a file, and remembers what was in it.
func (c contents) read(path string) ([]byte, error) {
	text, err := textfile.Read(path, maxFileBytes)
	c[path] = text
	return text, err
}

// same reports whether the files are as they were. Times and sizes are not asked: a file may be replaced by one of the
// same size in one tick.
func (c contents) same() bool {
	for path, before := range c {
		now, err := contents{}.read(path)
		if err != nil || before == nil || !bytes.Equal(now, before) {
			return false
		}
	}
	return true
}

// watched is what is made of files, kept as it was last while they cannot be used.
type watched[T any] struct {
	make func(contents) (T, error)

	is     T
	from   contents
	fault  error     // why the files as they are now cannot be used; nil where they can
	broken time.Time // since when
}

// look reads the files again where they have changed. news reports that the value, or the fault, has changed.
func (w *watched[T]) look(now time.Time) (news bool) {
	if w.from != nil && w.fault == nil && w.from.same() {
		return false
	}
	read := contents{}
	made, err := w.make(read)
	if err != nil {
		news = w.fault == nil || w.fault.Error() != err.Error()
		if w.fault == nil {
			w.broken = now
		}
		w.fault = err
		return news
	}
	w.take(made, read)
	return true
}

// take puts in force what was made of files.
func (w *watched[T]) take(made T, from contents) { w.is, w.from, w.fault = made, from, nil }

// has reports whether the value in force is made of these files.
func (w *watched[T]) has(files contents) bool {
	return w.fault == nil && w.from != nil && maps.EqualFunc(w.from, files, bytes.Equal)
}
