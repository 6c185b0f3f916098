package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Release declares that no reader needs entries before p. It deletes the segments that lie completely before p, oldest
// first. The newest segment always stays, because it contains the dictionary and the deduplication state.
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

// releasable returns the oldest segment, if it ends at or before p and is not the newest.
func (j *Journal) releasable(p Position) (segment, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || len(j.segments) < 2 || j.segments[0].endPosition() > p {
		return segment{}, false
	}
	return j.segments[0], true
}

// deleteSegment removes the oldest segment. It first makes the previous deletion durable, so that a power failure never
// leaves a gap in the middle of the journal.
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
	j.notifyReaders()
}

// NearlyFull reports whether segments should be released although a store still needs them, and where the oldest one
// ends. That is the case if less than one segment of MaxBytes is left, or if the disk was short of space for
// MakeRoomAfter.
//
// A full journal refuses every sender, so a single broken store would stop all others. The caller releases the oldest
// segment instead (docs/decisions/0008). Call it once a second. The newest segment never counts as the oldest.
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
		j.log.Warn("journal: disk space is low; free some, or segments that only lagging stores need will be deleted",
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

// segmentsFree is the number of segments that must fit into the free space of the disk. On a small disk, a tenth of it
// is enough. It is more than the store keeps free by removing slices. The backlog of a store that lags is therefore
// removed before slices.
const segmentsFree = 6

// diskLacks returns how many bytes of free space the disk lacks, or 0 or less if it has enough. A disk that does not
// report its free space counts as large enough.
func (j *Journal) diskLacks() int64 {
	free, size, err := j.fs.Free(j.dir)
	if err != nil {
		return 0
	}
	return int64(min(segmentsFree*uint64(j.o.SegmentBytes), size/10)) - int64(free)
}
