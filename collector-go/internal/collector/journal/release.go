package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Release marks what is before p as needed by no reader any more; it deletes the segments wholly before p,
// oldest first. The newest segment always stays.
func (j *Journal) Release(p Position) error {
	j.releasing.Lock()
	defer j.releasing.Unlock()
	for {
		oldest, ok := j.releasable(p)
		if !ok {
			return nil
		}
		if err := j.deleteSegment(oldest); err != nil {
			return fmt.Errorf("journal: delete %s: %w", segmentName(oldest.number), err)
		}
	}
}

// releasable is the oldest segment, if it ends at or before p.
func (j *Journal) releasable(p Position) (segment, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || len(j.segments) < 2 || j.segments[0].endPosition() > p {
		return segment{}, false
	}
	return j.segments[0], true
}

// deleteSegment removes the oldest segment. The deletion before it is durable first, so that no loss of power leaves a
// hole.
func (j *Journal) deleteSegment(s segment) error {
	if err := j.syncDeletion(); err != nil {
		return err
	}
	if err := j.fs.Remove(filepath.Join(j.dir, segmentName(s.number))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	j.deletionUnsynced = true
	j.forgetOldest(s)
	return j.syncDeletion()
}

func (j *Journal) syncDeletion() error {
	if !j.deletionUnsynced {
		return nil
	}
	if err := j.fs.SyncDir(j.dir); err != nil {
		return err
	}
	j.deletionUnsynced = false
	return nil
}

func (j *Journal) forgetOldest(s segment) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.segments = j.segments[1:]
	j.bytes -= s.size
	j.before = s.endPosition()
	j.showSizes()
	j.wakeReaders()
}

// NearlyFull reports whether less than one segment of space is left before Append returns ErrFull, or whether the disk
// has lacked room for Options.MakeRoomAfter and releasing segments would make it, and where the oldest segment ends.
// The newest segment never counts as the oldest. It is to be asked once a second.
func (j *Journal) NearlyFull() (oldestEnd Position, nearlyFull bool) {
	missing := j.diskLacks()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return 0, false
	}
	lasted, begins := j.shortage.Look(missing > 0, j.o.Now())
	n := len(j.segments)
	if begins && n > 1 {
		j.log.Warn("journal: the disk is short of room; free some, or what only stores that are behind still need goes when this has lasted",
			"dir", j.dir, "missing_bytes", missing, "after", j.o.MakeRoomAfter)
	}
	if n < 2 {
		return 0, false
	}
	short := missing > 0 && lasted >= j.o.MakeRoomAfter && j.bytes-j.segments[n-1].size >= missing
	if !short && j.bytes+j.queue.bytes <= j.o.MaxBytes-j.o.SegmentBytes {
		return 0, false
	}
	return j.segments[0].endPosition(), true
}

// segmentsFree is for how many segments there must be room on the disk; on a small one a tenth of it is enough. It is
// more than what the store keeps free by removing slices, since what only a store needs that is behind goes before
// those.
const segmentsFree = 6

// diskLacks is how many bytes the disk lacks of the room that there must be; 0 or less where it lacks none.
func (j *Journal) diskLacks() int64 {
	free, size, err := j.fs.Free(j.dir)
	if err != nil {
		return 0
	}
	return int64(min(segmentsFree*uint64(j.o.SegmentBytes), size/10)) - int64(free)
}
