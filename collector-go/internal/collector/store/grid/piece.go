package grid

import (
	"path/filepath"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/part"
)

// piece is an open part with the number of its readers. Store.lock guards everything except the Part. A part that was
// merged or expired stays open, and its file stays on disk, until the last query that reads it ends.
type piece struct {
	entry
	*part.Part
	readers int
	dropped bool // no manifest lists it; its file is removed when nobody reads it
	damaged bool // a section cannot be read, so it is not merged with others
}

// path returns the path of a file in the store's directory.
func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// drop removes pieces from the store after a manifest without them is published, and returns those that nobody reads.
// The caller holds Store.lock.
func (s *Store) drop(gone map[uint64]string) (unread []*piece) {
	kept := make([]*piece, 0, len(s.pieces))
	for _, p := range s.pieces {
		if _, goes := gone[p.number]; !goes {
			kept = append(kept, p)
			continue
		}
		p.dropped = true
		if p.readers == 0 {
			unread = append(unread, p)
			continue
		}
		s.lingering.Add(p.bytes)
	}
	s.pieces = kept
	return unread
}

// sweep closes and removes parts that are neither listed nor read.
func (s *Store) sweep(unread []*piece) {
	for _, p := range unread {
		if err := p.Close(); err != nil {
			s.log.Warn("grid store: failed to close a part that is no longer needed", "file", p.Name(), "error", err)
		}
		s.remove(partName(p.number))
	}
}

// remove removes a file that the manifest does not list. If that fails, the next start removes it.
func (s *Store) remove(name string) {
	if err := s.fs.Remove(s.path(name)); err != nil && !isMissing(err) {
		s.log.Warn("grid store: failed to remove a file that is no longer needed; the next start tries again",
			"file", s.path(name), "error", err)
	}
}
