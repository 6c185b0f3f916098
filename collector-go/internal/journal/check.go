package journal

import (
	"errors"
	"fmt"
	"io"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/disk"
)

// Report is what Check found.
type Report struct {
	Segments, Records, Batches, Samples int
	Bytes                               int64
	// Findings are the damaged stretches, the first maxFindings of them; Damaged counts all.
	Findings []Finding
	Damaged  int
}

// Finding is a stretch of a segment that holds no whole record, or one that cannot be what was written.
type Finding struct {
	Segment  string // the file's name
	From, To int64  // offsets in it
}

// String is the finding in a line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: bytes %d to %d are damaged or half-written", f.Segment, f.From, f.To)
}

const maxFindings = 1000

// Check reads all segments in dir and changes nothing. On the journal of a running collector it may find the newest segment's
// last record half-written. fs is nil for the operating system's. The error says what kept it from reading on.
func Check(dir string, fs disk.FS) (Report, error) {
	j := newJournal(dir, Options{FS: fs})
	found, err := j.findSegments()
	if err != nil {
		return Report{}, err
	}
	var report Report
	for _, s := range found {
		if err := j.checkSegment(s, &report); err != nil {
			return report, err
		}
	}
	return report, nil
}

func (j *Journal) checkSegment(s segment, report *Report) error {
	report.Segments++
	report.Bytes += s.size
	damaged := func(from, to int64) {
		report.Damaged++
		if len(report.Findings) < maxFindings {
			report.Findings = append(report.Findings, Finding{segmentName(s.number), from, to})
		}
	}
	return j.withFile(s.number, func(f disk.File) error {
		scan := scanner{file: f, number: s.number, off: magicBytes, end: s.end, damaged: damaged}
		reader := Reader{j: j, number: s.number} // a segment reads alone
		for {
			rec, err := scan.next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			report.Records++
			entry, err := reader.decode(rec, true)
			if err != nil {
				damaged(rec.start, rec.end)
			}
			if b, ok := entry.(*Batch); ok {
				report.Batches++
				report.Samples += b.Samples()
			}
			reader.defined = nil
		}
	})
}
