// Package capture reads captures: files of what Storm passed to a metrics consumer, with one line of JSON for each data
// point (topology/captures/README.md, docs/replay.md).
//
// It owns the format of captures, and flattens values exactly as the plugin does, so that a replayed capture yields the
// same samples. It does not know the meaning of a metric, or what happens to the samples. Start reading with
// Reader.Next.
package capture

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxLineBytes bounds a line; a data point of 1,162 executors' map has some 100 KB.
const MaxLineBytes = 16 << 20

// Prepare is the start of a metrics consumer, as an event in the capture. It names the topology's run, so a second
// Prepare in a file means that the consumer was restarted.
type Prepare struct {
	TopologyID string // Storm's id, "name-n-seconds"; "" where the line does not say
	Port       uint32 // of the consumer's worker
	Task       int32  // the consumer's
	Storm      string // release of Storm; "" where the line does not say
}

// Topology is the name in the id: Storm appends a number and the seconds of the submission.
func (p Prepare) Topology() string {
	name := p.TopologyID
	for range 2 {
		at := strings.LastIndexByte(name, '-')
		if at <= 0 || strings.Trim(name[at+1:], "0123456789") != "" || at == len(name)-1 {
			return p.TopologyID
		}
		name = name[:at]
	}
	return name
}

// Point is a data point with flattened values. Times are ms since the Unix epoch, the interval is in ms.
type Point struct {
	Prepare     *Prepare // the consumer's start before it; nil where there was none
	NowMs       int64    // the consumer's clock; 0 where the line does not say
	TimeMs      int64    // event time
	IntervalMs  int64
	Host        string
	Port        uint32
	Component   string
	Task        int32
	Name        string
	Samples     []Sample
	Unsupported int // values that are no numbers
}

// LineError names a malformed line of a capture. The lines after it can still be read: a capture often ends in the
// middle of a line.
type LineError struct {
	File string
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: the line %v", e.File, e.Line, e.Err) }

// Unwrap is what is wrong with the line.
func (e *LineError) Unwrap() error { return e.Err }

// Reader reads one capture from front to back, and keeps one line in memory. It is for one goroutine.
type Reader struct {
	name    string
	lines   *bufio.Scanner
	line    int
	prepare *Prepare
}

// NewReader reads from r; name is the file's, for errors.
func NewReader(name string, r io.Reader) *Reader {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), MaxLineBytes)
	return &Reader{name: name, lines: lines}
}

// Next returns the next data point, or io.EOF at the end. Events and empty lines are not returned. After a *LineError
// the next call continues with the line after it. Any other error is final.
func (r *Reader) Next() (*Point, error) {
	for r.lines.Scan() {
		r.line++
		text := bytes.TrimSpace(r.lines.Bytes())
		if len(text) == 0 {
			continue
		}
		l, err := parse(text)
		if err != nil {
			return nil, &LineError{File: r.name, Line: r.line, Err: err}
		}
		if l.Event == "" {
			return r.point(l), nil
		}
		if l.Event == "prepare" {
			r.prepare = &Prepare{TopologyID: l.TopologyID, Port: l.WorkerPort, Task: l.Task, Storm: l.Storm}
		}
	}
	err := r.lines.Err()
	switch {
	case err == nil:
		return nil, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s:%d: the line is longer than %d bytes; this is no capture", r.name, r.line+1,
			MaxLineBytes)
	}
	return nil, fmt.Errorf("%s:%d: %w", r.name, r.line+1, err)
}

func (r *Reader) point(l *line) *Point {
	f := flatten(l.Value)
	return &Point{Prepare: r.prepare, NowMs: l.NowMs, TimeMs: *l.Time * 1000, IntervalMs: l.Interval * 1000,
		Host: l.Host, Port: l.Port,
		Component: l.Component, Task: l.Task, Name: l.Name, Samples: f.samples, Unsupported: f.unsupported}
}
