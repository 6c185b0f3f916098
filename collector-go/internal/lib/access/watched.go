package access

import (
	"bytes"
	"maps"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// maxFileBytes is the maximum size of a file. It is enough for 10,000 lines of tokens.
const maxFileBytes = 1 << 20

// contents has the contents of files, by path.
type contents map[string][]byte

// read reads a file and stores its content. If reading fails, it stores nil.
func (c contents) read(path string) ([]byte, error) {
	text, err := textfile.Read(path, maxFileBytes)
	c[path] = text
	return text, err
}

// same reports whether the files are unchanged. It compares contents, because a replaced file may have the same size
// and modification time.
func (c contents) same() bool {
	for path, before := range c {
		now, err := contents{}.read(path)
		if err != nil || before == nil || !bytes.Equal(now, before) {
			return false
		}
	}
	return true
}

// watched is a value made from files. If the files become invalid, it keeps its last valid value.
type watched[T any] struct {
	make func(contents) (T, error)

	is     T
	from   contents
	fault  error     // why the current files are invalid; nil if they are valid
	broken time.Time // time since when they have been invalid
}

// look reloads the files if they have changed. news reports whether the value or the fault has changed.
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

// take puts a value into effect.
func (w *watched[T]) take(made T, from contents) { w.is, w.from, w.fault = made, from, nil }

// has reports whether the current value was made from these files.
func (w *watched[T]) has(files contents) bool {
	return w.fault == nil && w.from != nil && maps.EqualFunc(w.from, files, bytes.Equal)
}
