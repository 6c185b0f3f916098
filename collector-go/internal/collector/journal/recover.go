package journal

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// settleBytes is larger than any single write. It therefore covers everything that may not be durable after a failed
// fsync.
const settleBytes = groupBytes + maxRecordBytes + headerBytes

// recover rebuilds the state from the newest segment with a complete header, and the segments after it. It does not
// treat what it reads as durable, because reading may return bytes that only the page cache holds. settle makes them
// durable.
func (j *Journal) recover() error {
	found, err := j.findSegments()
	if err != nil {
		return err
	}
	start, err := j.rebuild(found)
	if err != nil {
		return err
	}
	for _, s := range found[:start] {
		j.segments = append(j.segments, s)
		j.bytes += s.size
	}
	j.committer.unsettled = found[start:]
	if len(found) > 0 {
		last := found[len(found)-1]
		j.newest, j.durable = last.number, last.endPosition() // no reader was given a greater position before
	}
	j.state.noStreams()
	j.forgetIdle()
	j.showDictionary()
	return nil
}

// findSegments lists the segments with their ends. The header of a segment contains the end of the one before. The last
// segment ends with its file. findSegments also logs segments that are missing in the sequence.
func (j *Journal) findSegments() ([]segment, error) {
	names, err := j.fs.ReadDir(j.dir)
	if err != nil {
		return nil, fmt.Errorf("journal: list %s: %w", j.dir, err)
	}
	var found []segment
	for _, name := range names {
		if number, ok := parseSegmentName(name); ok {
			found = append(found, segment{number: number})
		}
	}
	slices.SortFunc(found, func(a, b segment) int { return int(int64(a.number) - int64(b.number)) })
	ends := map[uint32]int64{}
	for i := range found {
		previous, err := j.measure(&found[i])
		if err != nil {
			return nil, err
		}
		ends[previous.Segment()] = previous.offset()
		if i == 0 {
			j.before = previous
		} else if n := previous.Segment(); n > found[i-1].number {
			found[i].missing = previous
			j.figures.damaged.Inc()
			j.log.Error("journal segment is missing; its samples are lost unless the file is restored before the next start",
				"segment", filepath.Join(j.dir, segmentName(n)), "bytes", previous.offset())
		}
	}
	for i, s := range found {
		if end, fixed := ends[s.number]; fixed {
			found[i].end = min(end, s.size)
		}
	}
	return found, nil
}

// measure returns a segment's size, and what its header records about the segment before it.
func (j *Journal) measure(s *segment) (previous Position, err error) {
	err = j.withFile(s.number, func(f disk.File) error {
		if s.size, err = f.Size(); err != nil {
			return err
		}
		s.end = s.size
		h, found, err := readHeader(f, s.number, s.size)
		if found {
			previous = h.previous
		}
		return err
	})
	return previous, err
}

// rebuild builds the state from the fewest newest segments that suffice, and returns the index of the first of them. It
// sets their ends to the ends of their last intact records.
func (j *Journal) rebuild(found []segment) (start int, err error) {
	for start = len(found) - 1; start >= 0; start-- {
		j.state = newState()
		complete, err := j.replayFile(&found[start], j.state)
		if err != nil {
			return 0, err
		}
		if complete || start == 0 {
			break
		}
		j.log.Warn("journal segment has no complete header; continuing with the previous segment", "segment",
			segmentName(found[start].number))
	}
	for i := start + 1; i < len(found); i++ {
		if _, err := j.replayFile(&found[i], j.state); err != nil {
			return 0, err
		}
	}
	return max(start, 0), nil
}

// replayFile applies the records of one segment to a state, and sets the segment's end to that of its last intact
// record. complete reports whether its header suffices without an older segment.
func (j *Journal) replayFile(s *segment, into *state) (complete bool, err error) {
	err = j.withFile(s.number, func(f disk.File) error {
		scan := &scanner{file: f, number: s.number, off: magicBytes, end: s.end, damaged: func(from, to int64) {
			j.reportDamage(s.number, from, to)
		}}
		s.end, complete, err = into.replaySegment(scan)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("journal: recover %s: %w", segmentName(s.number), err)
	}
	return complete, nil
}

// withFile opens the file of a segment for the duration of do.
func (j *Journal) withFile(number uint32, do func(disk.File) error) error {
	f, err := j.fs.Open(filepath.Join(j.dir, segmentName(number)))
	if err != nil {
		return fmt.Errorf("journal: open %s: %w", segmentName(number), err)
	}
	defer f.Close()
	return do(f)
}

// reportDamage counts and logs a damaged stretch. Damage never stops the journal: the records around it are intact, and
// refusing to start would lose them too.
func (j *Journal) reportDamage(number uint32, from, to int64) {
	j.figures.damaged.Inc()
	j.log.Warn("journal skipped a damaged or partially written record",
		"segment", filepath.Join(j.dir, segmentName(number)), "from", from, "to", to)
}

// settle makes the recovered segments durable before readers see them. After a failed fsync the operating system may
// return bytes that are not on disk. The tail is therefore written again and fsynced. The directory is synced first,
// because the previous process may have ended before its newest file name was durable.
func (c *committer) settle() error {
	if len(c.unsettled) == 0 {
		return nil
	}
	if err := c.j.fs.SyncDir(c.j.dir); err != nil {
		return fmt.Errorf("journal: sync recovered %s: %w", c.j.dir, err)
	}
	for len(c.unsettled) > 0 {
		s := c.unsettled[0]
		if err := c.settleSegment(&s); err != nil {
			return fmt.Errorf("journal: sync recovered %s: %w", segmentName(s.number), err)
		}
		c.unsettled = c.unsettled[1:]
		if s.end > magicBytes {
			c.j.adopt(s)
		}
	}
	return nil
}

// settleSegment cuts the tail of a segment and writes its last intact records again in place. It removes a segment that
// contains no record after a crash.
func (c *committer) settleSegment(s *segment) error {
	if s.end <= magicBytes { // after a crash while the segment was created
		return c.j.fs.Remove(filepath.Join(c.j.dir, segmentName(s.number)))
	}
	return c.j.withFile(s.number, func(f disk.File) error {
		if cut := s.size - s.end; cut > 0 {
			if err := f.Truncate(s.end); err != nil {
				return err
			}
			c.j.figures.cutBytes.Add(float64(cut))
			c.j.log.Warn("journal truncated a segment after its last complete record", "segment", segmentName(s.number),
				"bytes", cut)
			s.size = s.end
		}
		tail := make([]byte, min(s.end, settleBytes))
		if _, err := f.ReadAt(tail, s.end-int64(len(tail))); err != nil {
			return err
		}
		return writeDurably(f, tail, s.end-int64(len(tail)))
	})
}

// adopt makes a settled segment visible to readers.
func (j *Journal) adopt(s segment) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.segments = append(j.segments, s)
	j.bytes += s.size
	j.durable = max(j.durable, s.endPosition())
	j.showSizes()
	j.notifyReaders()
}
