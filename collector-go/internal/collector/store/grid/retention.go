package grid

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"
)

// retention decides which parts and which of the damaged files that were set aside are deleted.
type retention struct {
	nowMs    int64
	newestMs int64         // end of the newest slice
	width    time.Duration // length of a partition
	time     time.Duration // 0 means no limit
	bytes    int64         // 0 means no limit
	missing  int64         // bytes that must be freed, after the disk has been short of space for ReclaimAfter
}

// These are the bounds that cause parts to be deleted.
const (
	boundTime  = "time"
	boundBytes = "bytes"
	boundFree  = "free"
)

var bounds = [...]string{boundTime, boundBytes, boundFree}

// decide returns the damaged files and the numbers of the parts to delete, each with the bound that requires it. All
// parts of an expired partition are deleted. Above the size limit, the oldest parts are deleted, but not the last one.
// If the disk is short of space, the oldest parts are deleted, except those of the last two partitions. If deleting all
// of these would not free enough, none is deleted for space. Damaged files are deleted before parts, because no query
// reads them.
//
// Time counts back from the newest slice if that is before now, as in Prometheus. A store that receives nothing
// therefore keeps what it has, so that old data can be inspected. A clock that is wrongly ahead deletes nothing. If
// space is short, time counts back from now, because newer slices could not be written.
func (r retention) decide(asides []asideFile, parts []entry) (files map[string]string, gone map[uint64]string) {
	parts = slices.SortedFunc(slices.Values(parts), func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.maxMs, b.maxMs), cmp.Compare(a.number, b.number))
	})
	width := r.width.Milliseconds()
	old := func(e entry) bool { return e.maxMs < r.nowMs-2*width }
	left, mayGo := int64(0), int64(0)
	for _, a := range asides {
		left, mayGo = left+a.bytes, mayGo+a.bytes
	}
	for _, e := range parts {
		left += e.bytes
		if old(e) {
			mayGo += e.bytes
		}
	}
	nowMs := r.nowMs
	if r.missing <= 0 || mayGo < r.missing {
		r.missing, nowMs = 0, min(r.nowMs, r.newestMs)
	}
	files, gone = r.asides(asides, &left), map[uint64]string{}
	for _, a := range asides {
		if files[a.name] != "" {
			r.missing -= a.bytes
		}
	}
	for i, e := range parts {
		switch {
		case r.time > 0 && e.maxMs < floor(nowMs-r.time.Milliseconds(), width):
			gone[e.number] = boundTime
		case r.bytes > 0 && left > r.bytes && i < len(parts)-1:
			gone[e.number] = boundBytes
		case r.missing > 0 && old(e):
			gone[e.number] = boundFree
		default:
			continue
		}
		left -= e.bytes
		r.missing -= e.bytes
	}
	return files, gone
}

// expire deletes what retention no longer keeps. If the disk is so full that no manifest can be written, it removes the
// files first.
func (s *Store) expire() error {
	missing, err := s.missing()
	if err != nil {
		return err
	}
	s.lock.RLock()
	newestMs := s.newestMs
	s.lock.RUnlock()
	r := retention{nowMs: s.options.Now().UnixMilli(), newestMs: newestMs, width: s.options.Partition,
		time: s.options.RetentionTime, bytes: s.options.RetentionBytes, missing: missing}
	files, gone := r.decide(s.asides, s.manifest.parts)
	s.expireAsides(files)
	if len(gone) == 0 {
		return nil
	}
	m := s.manifest
	m.parts = m.without(gone)
	m.expired = s.account(gone)
	if err := s.publish(m); err != nil {
		s.letGo(gone) // this closes them too; a removed file takes space while it is open
		for number := range gone {
			s.remove(partName(number))
		}
		s.lock.Lock()
		s.manifest.parts, s.manifest.expired = m.parts, m.expired // the next manifest must not list them
		s.lock.Unlock()
		return s.publish(m)
	}
	s.letGo(gone)
	return nil
}

// missing returns how many bytes must be freed by deleting slices. It returns 0 until the disk has been short of space
// for Options.ReclaimAfter, because another program may fill it briefly. Until then senders wait.
func (s *Store) missing() (int64, error) {
	short, err := s.short(0)
	if err != nil {
		return 0, err
	}
	lasted, begins := s.shortage.Look(short > 0, s.options.Now())
	if begins {
		s.log.Warn("grid store: disk space is low, writes are paused; free some, or the oldest slices will be deleted",
			"directory", s.dir, "missing_bytes", short, "after", s.options.ReclaimAfter)
	}
	if short <= 0 || lasted < s.options.ReclaimAfter {
		return 0, nil
	}
	return short - s.lingering.Load(), nil
}

// why describes each bound for the log.
var why = map[string]string{
	boundTime:  "older than store.embedded.retention_time",
	boundBytes: "above store.embedded.retention_bytes",
	boundFree:  "disk space was low for disk.make_room_after",
}

// account adds the parts to delete to the totals, which it returns. It logs them, because deleting them cannot be
// undone.
func (s *Store) account(gone map[uint64]string) [len(bounds)]tally {
	sums := s.manifest.expired
	for i, bound := range bounds {
		var now tally
		fromMs, toMs := int64(math.MaxInt64), int64(math.MinInt64)
		for _, e := range s.manifest.parts {
			if gone[e.number] == bound {
				now.add(tally{1, e.slices, e.bytes})
				fromMs, toMs = min(fromMs, e.minMs), max(toMs, e.maxMs)
			}
		}
		if now.parts == 0 {
			continue
		}
		sums[i].add(now)
		s.figures.expired(bound, now)
		level := slog.LevelInfo
		if bound == boundFree {
			level = slog.LevelError
		}
		s.log.Log(context.Background(), level, "grid store: retention deleted slices", "why", why[bound], "from",
			time.UnixMilli(fromMs).UTC(), "to", time.UnixMilli(toMs).UTC(), "slices", now.slices, "bytes", now.bytes, "parts",
			now.parts)
	}
	return sums
}

// letGo hides parts from queries, and removes those that no query reads. The others are removed when the last query
// that reads them ends.
func (s *Store) letGo(gone map[uint64]string) {
	s.lock.Lock()
	unread := s.drop(gone)
	s.lock.Unlock()
	s.sweep(unread)
}

// Reclaim deletes what retention no longer keeps, as every write does before it begins. Call it once a second. It
// measures how long the disk has been short of space. It also works if no write begins because the journal on the same
// disk has no space. It does nothing while a write is running.
func (s *Store) Reclaim() error {
	if s.closing.Err() != nil {
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

// short returns how many bytes the disk lacks for wanted bytes in addition to Options.MinFreeBytes. It is 0 or less if
// there is enough. The reserve is at most a twentieth of the file system, so that a small disk can be used.
func (s *Store) short(wanted int64) (int64, error) {
	free, size, err := s.fs.Free(s.dir)
	if err != nil {
		return 0, fmt.Errorf("grid store: read the free space of %s: %w", s.dir, err)
	}
	return int64(min(s.options.MinFreeBytes, size/20)) + wanted - int64(free), nil
}

// checkFree returns an error if writing wanted bytes would leave too little free space. The disk therefore does not
// fill up in the middle of a write.
func (s *Store) checkFree(wanted int64) error {
	short, err := s.short(wanted)
	if err != nil || short <= 0 {
		return err
	}
	return fmt.Errorf("grid store: %s lacks %.3g MiB of %w: free disk space or lower the retention", s.dir,
		float64(short)/(1<<20), ErrDiskFull)
}

// ErrDiskFull is the reason why nothing was written to a disk that is nearly full. The slices are then not durable in
// the store, but stay in memory and in the journal. Senders wait, and nothing is lost.
var ErrDiskFull = errors.New("the required free space")
