package grid

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// retention decides which parts go.
type retention struct {
	nowMs   int64
	width   time.Duration // of a partition
	time    time.Duration // 0: no bound
	bytes   int64         // 0: no bound
	missing int64         // bytes that the disk must get back
}

// Bounds by which parts go.
const (
	boundTime  = "time"
	boundBytes = "bytes"
	boundFree  = "free"
)

// decide returns the numbers of the parts to delete with the bound that asks for it: all of an expired partition; above
// the size the oldest, but not the last; for room on the disk the oldest, but not those of the last two partitions.
func (r retention) decide(parts []entry) map[uint64]string {
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.maxMs, b.maxMs), cmp.Compare(a.number, b.number))
	})
	gone := map[uint64]string{}
	left := int64(0)
	for _, e := range parts {
		left += e.bytes
	}
	missing, width := r.missing, r.width.Milliseconds()
	for i, e := range parts {
		switch {
		case r.time > 0 && e.maxMs < floor(r.nowMs-r.time.Milliseconds(), width):
			gone[e.number] = boundTime
		case r.bytes > 0 && left > r.bytes && i < len(parts)-1:
			gone[e.number] = boundBytes
		case missing > 0 && e.maxMs < r.nowMs-2*width:
			gone[e.number] = boundFree
		default:
			continue
		}
		left -= e.bytes
		missing -= e.bytes
	}
	return gone
}

// expire deletes what retention asks for. On a disk so full that no manifest can be written the files go first.
func (s *Store) expire() error {
	short, err := s.short(0)
	if err != nil {
		return err
	}
	r := retention{nowMs: s.options.Now().UnixMilli(), width: s.options.Partition, time: s.options.RetentionTime,
		bytes: s.options.RetentionBytes}
	r.missing = short - s.lingering.Load()
	s.expireAsides(&r)
	gone := r.decide(s.manifest.parts)
	if len(gone) == 0 {
		return nil
	}
	m := s.manifest
	m.parts = m.without(gone)
	if err := s.publish(m); err != nil {
		s.letGo(gone) // closed too: a file that is open takes its room although it is removed
		for number := range gone {
			s.remove(partName(number))
		}
		s.lock.Lock()
		s.manifest.parts = m.parts // also where none can be written yet: the next that is lists what is there
		s.lock.Unlock()
		s.figures.expired(slices.Collect(maps.Values(gone)))
		return s.publish(m)
	}
	s.figures.expired(slices.Collect(maps.Values(gone)))
	s.letGo(gone)
	return nil
}

// letGo takes parts out of what queries read, and removes those that none reads.
func (s *Store) letGo(gone map[uint64]string) {
	s.lock.Lock()
	unread := s.drop(gone)
	s.lock.Unlock()
	s.sweep(unread)
}

// MakeRoom deletes what retention asks for, as every write does before it begins. It is for while nothing is handed
// over, since the journal on the same disk has no room either: no write would begin. Where one is under way it does
// nothing.
func (s *Store) MakeRoom() error {
	s.lock.RLock()
	closed := s.closed
	s.lock.RUnlock()
	if closed {
		return ErrClosed
	}
	select {
	case s.turn <- struct{}{}:
	default:
		return nil
	}
	defer func() { <-s.turn }()
	return s.expire()
}

// short is how many bytes the disk lacks for the room that must be and for wanted bytes more; 0 or less where it lacks
// none.
func (s *Store) short(wanted int64) (int64, error) {
	free, size, err := s.fs.Free(s.dir)
	if err != nil {
		return 0, fmt.Errorf("grid store: look for room in %s: %w", s.dir, err)
	}
	return int64(min(s.options.MinFreeBytes, size/20)) + wanted - int64(free), nil
}

// room refuses to write wanted bytes on a disk that is nearly full.
func (s *Store) room(wanted int64) error {
	short, err := s.short(wanted)
	if err != nil || short <= 0 {
		return err
	}
	return fmt.Errorf("grid store: %s lacks %.3g MiB of %w: free space or lower the retention", s.dir,
		float64(short)/(1<<20), ErrNoRoom)
}

// ErrNoRoom is that nothing was written since the disk is nearly full. What was handed over is not durable then, and
// stays where it came from.
var ErrNoRoom = errors.New("the room that must be free")
