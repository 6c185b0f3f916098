package journal

import (
	"errors"
	"fmt"
	"io"
)

// readAheadBytes is the size of one read from disk, unless a record is larger. A reader that lags reads its segments in
// order, so large reads need fewer system calls.
const readAheadBytes = 256 << 10

// scanner reads the intact records of one segment and skips damage. Opening, reading and checking a journal all use it,
// so that they agree on what is damaged. It is not safe for concurrent use.
type scanner struct {
	file   io.ReaderAt
	number uint32
	off    int64 // offset of the next record
	end    int64 // offset at which reading ends

	// damaged is called with every range [from, to) that contains no intact record.
	damaged func(from, to int64)

	window      []byte // bytes of the file from windowStart on
	windowStart int64
}

// next returns the next intact record, which is valid until the next call, or io.EOF at the end. After io.EOF the
// caller may increase end and call again. A reader follows the segment that is being written in this way.
func (s *scanner) next() (record, error) {
	for s.off < s.end {
		rec, ok, err := s.recordAt(s.off)
		if err != nil {
			return record{}, err
		}
		if ok {
			s.off = rec.end
			return rec, nil
		}
		if err := s.skip(); err != nil {
			return record{}, err
		}
	}
	return record{}, io.EOF
}

// skip moves to the next intact record, or to the end, and reports the damaged range in between.
func (s *scanner) skip() error {
	from := s.off
	to, err := s.afterDamage(from)
	if err != nil {
		return err
	}
	s.off = to
	if s.damaged != nil {
		s.damaged(from, to)
	}
	return nil
}

// pageBytes is the smallest unit that a disk fails to read.
const pageBytes = 4096

// skipUnreadable skips the record at off. If its header cannot be read, it skips the rest of the disk page, because a
// disk fails in units of a page.
func (s *scanner) skipUnreadable() {
	from, to := s.off, (s.off/pageBytes+1)*pageBytes
	if length, sound, err := s.lengthAt(from); err == nil && sound {
		to = from + headerBytes + length
	}
	s.off = min(to, s.end)
	if s.damaged != nil && s.off > from {
		s.damaged(from, s.off)
	}
}

// afterDamage finds the next intact record after a damaged one. If the record header is valid, its length leads there.
// Otherwise every offset is tried, which is slow but happens only on damage.
func (s *scanner) afterDamage(off int64) (int64, error) {
	length, sound, err := s.lengthAt(off)
	if err != nil {
		return 0, err
	}
	if next := off + headerBytes + length; sound && next <= s.end {
		_, ok, err := s.recordAt(next)
		if ok || err != nil || next == s.end {
			return next, err
		}
	}
	for off++; off < s.end; off++ {
		if _, ok, err := s.recordAt(off); ok || err != nil {
			return off, err
		}
	}
	return s.end, nil
}

// recordAt returns the record at an offset, if there is an intact one. An error means that the disk failed to read,
// which is not damage: the next try may succeed.
func (s *scanner) recordAt(off int64) (record, bool, error) {
	length, sound, err := s.lengthAt(off)
	if !sound || err != nil || off+headerBytes+length > s.end {
		return record{}, false, err
	}
	b, err := s.bytes(off, headerBytes+length)
	if b == nil || err != nil {
		return record{}, false, err
	}
	header, payload := b[:headerBytes], b[headerBytes:]
	if !intact(positionOf(s.number, off), header, payload) {
		return record{}, false, nil
	}
	return record{kind: kind(header[8]), payload: payload, start: off, end: off + int64(len(b))}, true, nil
}

// lengthAt returns the length of the payload from the header at an offset. sound is false if there is no valid header.
func (s *scanner) lengthAt(off int64) (length int64, sound bool, err error) {
	if off+headerBytes > s.end {
		return 0, false, nil
	}
	header, err := s.bytes(off, headerBytes)
	if header == nil || err != nil {
		return 0, false, err
	}
	_, length, sound = parseHeader(positionOf(s.number, off), header)
	return length, sound, nil
}

// kindAt returns the kind of the damaged record that fills a stretch, or 0 if there is no readable header. Check prints
// it, so that an operator knows what the damage cost.
func (s *scanner) kindAt(from, to int64) kind {
	if to-from < headerBytes {
		return 0
	}
	header, err := s.bytes(from, headerBytes)
	if header == nil || err != nil {
		return 0
	}
	k, length, sound := parseHeader(positionOf(s.number, from), header)
	if !sound || from+headerBytes+length != to {
		return 0
	}
	return k
}

// bytes returns n bytes at an offset, or nil if the file is shorter. They are valid until the window moves.
func (s *scanner) bytes(off, n int64) ([]byte, error) {
	if off < s.windowStart || off+n > s.windowStart+int64(len(s.window)) {
		if err := s.load(off, n); err != nil {
			return nil, err
		}
	}
	at := off - s.windowStart
	if at+n > int64(len(s.window)) {
		return nil, nil
	}
	return s.window[at : at+n : at+n], nil
}

// load reads at least n bytes at an offset into the window, or as many as there are.
func (s *scanner) load(off, n int64) error {
	want := min(max(n, readAheadBytes), s.end-off)
	if int64(cap(s.window)) < want {
		s.window = make([]byte, want)
	}
	got, err := s.file.ReadAt(s.window[:want], off)
	s.window, s.windowStart = s.window[:got], off
	if err != nil && !errors.Is(err, io.EOF) && int64(got) < n { // the read-ahead may fail
		return fmt.Errorf("%w: %s at %d: %w", ErrRead, segmentName(s.number), off, err)
	}
	return nil
}
