package journal

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Report is the result of Check: the amount of data read, and the damage found. Damage loses only the records that it
// hits.
type Report struct {
	Segments, Batches, Samples int
	Bytes                      int64
	// Findings are the first maxFindings damaged stretches. Damaged counts all of them.
	Findings []Finding
	Damaged  int
}

// Finding is a damaged stretch of a segment, a record with an impossible payload, or a missing segment. AfterMs and
// BeforeMs bound the time of the loss, so that an operator can see which part of a graph is unreliable.
type Finding struct {
	Segment  string // the file's name
	From, To int64  // offsets in the file
	Missing  bool   // the file does not exist; it was To bytes long, and may have contained anything
	// Kind is the kind of the damaged record, such as "batch" or "series", if its header can be read; otherwise empty
	Kind string

	// AfterMs and BeforeMs bound when the collector received the lost data, in ms since the Unix epoch. 0 means that
	// there is no intact entry before or after.
	AfterMs, BeforeMs int64
}

// String describes the finding and its cost in one line.
func (f Finding) String() string {
	var text strings.Builder
	if f.Missing {
		fmt.Fprintf(&text, "%s: is missing, of %d bytes", f.Segment, f.To)
	} else {
		fmt.Fprintf(&text, "%s: bytes %d to %d are damaged or half-written", f.Segment, f.From, f.To)
	}
	fmt.Fprintf(&text, ": %s", f.cost())
	if f.AfterMs != 0 {
		fmt.Fprintf(&text, ", after %s", stamp(f.AfterMs))
	}
	if f.BeforeMs != 0 {
		fmt.Fprintf(&text, ", before %s", stamp(f.BeforeMs))
	}
	return text.String()
}

// cost describes what was lost with the stretch. Definitions are written twice, so damage to one copy loses nothing.
func (f Finding) cost() string {
	switch f.Kind {
	case "":
		return "the records in it are lost"
	case kindBatch.String():
		return "one batch is lost"
	case kindSeries.String(), kindLayouts.String(), kindProducers.String(), kindSegment.String(), kindEpochs.String(),
		kindForgotten.String():
		return "a " + f.Kind + " record, which is written twice: nothing is lost while the other copy is intact"
	}
	return "one " + f.Kind + " record is lost"
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

const maxFindings = 1000

// CheckVersions reads the headers of all segments in dir and changes nothing. It returns an error that wraps
// disk.ErrNewer and names the segments that a newer program wrote. A program must call it before it changes any file of
// its data directory.
func CheckVersions(dir string, fs disk.FS) (err error) {
	j := newJournal(dir, Options{FS: fs})
	names, _ := j.fs.ReadDir(dir) // opening the journal reports an error of this
	for _, name := range names {
		if number, ok := parseSegmentName(name); ok {
			if _, one := j.measure(&segment{number: number}); errors.Is(one, disk.ErrNewer) {
				err = errors.Join(err, fmt.Errorf("%s: %w", filepath.Join(dir, name), one))
			}
		}
	}
	return err
}

// Reach returns a position that the end of the journal in dir does not exceed. It uses only file sizes and reads no
// entries, so it is cheap. End reads the newest segments and is exact. Reach returns 0 if there is no journal.
func Reach(dir string, fs disk.FS) Position {
	j := newJournal(dir, Options{FS: fs})
	names, _ := j.fs.ReadDir(dir)
	var reach Position
	for _, name := range names {
		number, ok := parseSegmentName(name)
		if !ok {
			continue
		}
		var size int64
		_ = j.withFile(number, func(f disk.File) (err error) {
			size, err = f.Size()
			return err
		})
		reach = max(reach, positionOf(number, size))
	}
	return reach
}

// End returns the position after the last intact record of the journal in dir, or 0 if there is none. It changes
// nothing.
func End(dir string, fs disk.FS) (Position, error) {
	j := newJournal(dir, Options{FS: fs})
	found, err := j.findSegments()
	if err != nil || len(found) == 0 {
		return 0, err
	}
	if _, err := j.rebuild(found); err != nil {
		return 0, err
	}
	return found[len(found)-1].endPosition(), nil
}

// Check reads all segments in dir and changes nothing. It may run while a collector writes to the journal, and may then
// find the last record of the newest segment half-written. If fs is nil, the operating system's file system is used. An
// error is what kept Check from reading on.
func Check(dir string, fs disk.FS) (Report, error) {
	j := newJournal(dir, Options{FS: fs})
	found, err := j.findSegments()
	if err != nil {
		return Report{}, err
	}
	c := &check{j: j}
	for _, s := range found {
		if s.missing != 0 {
			c.find(Finding{Segment: segmentName(s.missing.Segment()), To: s.missing.offset(), Missing: true})
		}
		if err := c.segment(s); err != nil {
			return c.report, err
		}
	}
	return c.report, nil
}

// check is the state of one run of Check. A finding is complete with the time of the next intact entry, which bounds
// the loss.
type check struct {
	j      *Journal
	report Report
	lastMs int64 // the time of the last intact entry
	open   int   // index of the first finding without the time of the next entry
}

func (c *check) find(f Finding) {
	c.report.Damaged++
	if len(c.report.Findings) < maxFindings {
		f.AfterMs = c.lastMs
		c.report.Findings = append(c.report.Findings, f)
	}
}

func (c *check) segment(s segment) error {
	c.report.Segments++
	c.report.Bytes += s.size
	return c.j.withFile(s.number, func(f disk.File) error {
		scan := &scanner{file: f, number: s.number, off: magicBytes, end: s.end}
		scan.damaged = func(from, to int64) {
			kind := scan.kindAt(from, to).String()
			c.find(Finding{Segment: segmentName(s.number), From: from, To: to, Kind: kind})
		}
		reader := newReader(c.j, 0) // each segment is read independently
		for {
			rec, err := scan.next()
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case errors.Is(err, ErrRead):
				scan.skipUnreadable()
			case err != nil:
				return err
			default:
				c.record(s, rec, reader)
			}
		}
	})
}

// record checks an intact record. Its payload must decode, and may refer only to definitions in its segment.
func (c *check) record(s segment, rec record, reader *Reader) {
	entry, err := reader.decode(rec, true)
	reader.pending = nil
	if err != nil {
		c.find(Finding{Segment: segmentName(s.number), From: rec.start, To: rec.end, Kind: rec.kind.String()})
		return
	}
	if b, ok := entry.(*Batch); ok {
		c.report.Batches++
		c.report.Samples += b.Samples()
	}
	if ms := timeOf(entry); ms != 0 {
		for ; c.open < len(c.report.Findings); c.open++ {
			c.report.Findings[c.open].BeforeMs = ms
		}
		c.lastMs = ms
	}
}

// timeOf returns an entry's time by the collector's clock, or 0 if it has none.
func timeOf(entry Entry) int64 {
	switch e := entry.(type) {
	case *Batch:
		return e.ReceivedMs
	case *Connected:
		return e.TimeMs
	case *Disconnected:
		return e.TimeMs
	case *Tick:
		return e.TimeMs
	case *Started:
		return e.TimeMs
	}
	return 0
}
