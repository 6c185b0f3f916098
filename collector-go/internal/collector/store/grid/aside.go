package grid

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// asideFile is a damaged file that the store no longer uses. It is kept for inspection as long as retention keeps
// slices of its age.
type asideFile struct {
	name  string
	atMs  int64 // when it was set aside, to the second
	bytes int64
}

// damagedName returns the new name of a file that is set aside at a time.
func damagedName(name string, at time.Time) string {
	return name + "." + strconv.FormatInt(at.Unix(), 10) + damagedSuffix
}

// damagedAt returns when a file with that name was set aside. known is false if the name has no time, as in earlier
// versions.
func damagedAt(name string) (at time.Time, known bool) {
	text := strings.TrimSuffix(name, damagedSuffix)
	seconds, err := strconv.ParseInt(text[strings.LastIndexByte(text, '.')+1:], 10, 64)
	return time.Unix(seconds, 0), err == nil && strings.Contains(text, ".")
}

// setAside renames a damaged file so that the store ignores it.
func (s *Store) setAside(name string) {
	s.renameAside(name, damagedName(name, s.options.Now()))
}

// renameAside renames a damaged file and records it. If the file cannot be renamed, it stays where it is, and the next
// start finds it again.
func (s *Store) renameAside(name, to string) {
	if err := s.fs.Rename(s.path(name), s.path(to)); err != nil {
		s.log.Warn("grid store: failed to set a damaged file aside", "file", s.path(name), "error", err)
		return
	}
	s.keepAside(to)
}

// keepAside records a file that was set aside, so that retention can remove it later.
func (s *Store) keepAside(name string) {
	at, known := damagedAt(name)
	if !known {
		s.renameAside(name, damagedName(strings.TrimSuffix(name, damagedSuffix), s.options.Now()))
		return
	}
	var size int64
	f, err := s.fs.Open(s.path(name))
	if err == nil {
		defer f.Close()
		size, err = f.Size()
	}
	if err != nil {
		s.log.Warn("grid store: failed to read a damaged file that was set aside", "file", s.path(name), "error", err)
		return
	}
	s.asides = append(s.asides, asideFile{name: name, atMs: at.UnixMilli(), bytes: size})
	s.figures.asideBytes.Add(float64(size))
}

// expireAsides removes the damaged files that retention no longer keeps. They are kept at first so that an operator can
// inspect them and read what is intact.
func (s *Store) expireAsides(gone map[string]string) {
	s.asides = slices.DeleteFunc(s.asides, func(a asideFile) bool {
		bound, goes := gone[a.name]
		if !goes {
			return false
		}
		s.log.Info("grid store: retention deleted a damaged file", "file", s.path(a.name), "why", why[bound], "bytes",
			a.bytes)
		s.remove(a.name)
		s.figures.asideBytes.Sub(float64(a.bytes))
		s.figures.asidesExpired.WithLabelValues(bound).Inc()
		return true
	})
}

// asides returns the names of the damaged files to delete, each with the bound that requires it. left is the total size
// of all files and parts. asides subtracts the deleted files from it.
func (r retention) asides(files []asideFile, left *int64) map[string]string {
	gone := map[string]string{}
	for _, f := range slices.SortedFunc(slices.Values(files), func(a, b asideFile) int {
		return cmp.Or(cmp.Compare(a.atMs, b.atMs), cmp.Compare(a.name, b.name))
	}) {
		switch {
		case r.time > 0 && f.atMs < r.nowMs-r.time.Milliseconds():
			gone[f.name] = boundTime
		case r.bytes > 0 && *left > r.bytes:
			gone[f.name] = boundBytes
		case r.missing > 0:
			gone[f.name] = boundFree
		default:
			continue
		}
		*left -= f.bytes
		r.missing -= f.bytes
	}
	return gone
}
