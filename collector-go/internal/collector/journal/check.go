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

// Report is the result of Check: the amount of data read, and the damage found. Damage costs only the records that it
// hits.
type Report struct {
	Segments, Records, Batches, Samples int
	Bytes                               int64
	// Findings are the damaged stretches, the first maxFindings of them; Damaged counts all.
	Findings []Finding
	Damaged  int
}

// Finding is a damaged stretch of a segment, a record with an impossible payload, or a missing segment. AfterMs and
// BeforeMs bound the time of the loss, so that an operator can see which part of a graph to distrust.
type Finding struct {
	Segment  string // the file's name
	From, To int64  // offsets in it
	Missing  bool   // the file is not there; it was To bytes long, and may have held anything
	// of the record that is damaged, such as "batch" or "series", where its header can be read; else empty
	Kind string

	// What was lost came to the collector between these, ms since the Unix epoch; 0 where nothing whole lies before or
	// behind.
	AfterMs, BeforeMs int64
}

// String is the finding in a line, with what it costs.
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

// cost says what was lost with the stretch. Definitions are written twice, so damage to one copy loses nothing.
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
// disk.ErrNewer and names the segments that a newer program wrote. A program checks this before it changes any file of
// its data directory.
func CheckVersions(dir string, fs disk.FS) (err error) {
	j := newJournal(dir, Options{FS: fs})
	names, _ := j.fs.ReadDir(dir) // opening it reports what is wrong with that
	for _, name := range names {
		if number, ok := parseSegmentName(name); ok {
			if _, one := j.measure(&segment{number: number}); errors.Is(one, disk.ErrNewer) {
				err = errors.Join(err, fmt.Errorf("%s: %w", filepath.Join(dir, name), one))
			}
		}
	}
	return err
}

// Reach returns a position that the journal in dir does not exceed, computed from file sizes alone. It reads no
// entries, so it is cheap; End reads the newest segments and is exact. It returns 0 when there is no journal.
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

// End is the position behind the last whole record of the journal in dir, which stays as it is; 0 where there is none.
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

// Check reads all segments in dir and changes nothing. It may run beside a collector: then it may find the last record
// of the newest segment half-written. fs may be nil for the operating system's. The error is what kept Check from
// reading on.
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

// check is the state of one run of Check. Findings wait for the time of the next whole entry, which bounds the loss.
type check struct {
	j      *Journal
	report Report
	lastMs int64 // the time of the last whole entry
	open   int   // the first finding that waits for the time of the next
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
		reader := newReader(c.j, 0) // a segment reads alone
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

// record checks a whole record: its payload must decode, and may refer only to what its segment defines.
func (c *check) record(s segment, rec record, reader *Reader) {
	c.report.Records++
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

// timeOf is an entry's time by the collector's clock, 0 where it has none.
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
