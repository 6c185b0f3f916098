package grid

import (
	"path/filepath"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/part"
)

// piece is an open part with the number of its readers. Store.lock guards everything but the Part. A part that was
// merged or expired stays open, and its file stays on disk, until the last query that reads it ends.
type piece struct {
	entry
	*part.Part
	readers int
	dropped bool // no manifest lists it; its file goes when nobody reads it
	damaged bool // some of it cannot be read, so that it is not merged with others
}

// path is the path of a file of the store.
func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// drop takes pieces out of the store once a manifest without them is published, and returns those that nobody reads.
// Store.lock is held.
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
			s.log.Warn("grid store: a part that is no longer needed could not be closed", "file", p.Name(),
				"error", err)
		}
		s.remove(partName(p.number))
	}
}

// remove removes a file that the manifest does not list. One that stays is removed at the next start.
func (s *Store) remove(name string) {
	if err := s.fs.Remove(s.path(name)); err != nil && !isMissing(err) {
		s.log.Warn("grid store: a file that is no longer needed could not be removed; the next start tries again",
			"file", s.path(name), "error", err)
	}
}
