// Package capture reads captures. A capture is a file of what Storm passed to a metrics consumer, with one line of JSON
// for each data point (topology/captures/README.md, docs/replay.md).
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

// MaxLineBytes limits the length of a line. A data point with a map for 1,162 executors has about 100 KB.
const MaxLineBytes = 16 << 20

// Prepare is an event in the capture: the start of a metrics consumer. It names the topology's run. A second Prepare in
// a file means that the consumer was restarted.
type Prepare struct {
	TopologyID string // Storm's id, "name-n-seconds"; "" if the line has none
	Port       uint32 // of the worker that runs the consumer
	Task       int32  // of the consumer
	Storm      string // release of Storm; "" if the line has none
}

// Topology returns the name in the topology id. Storm appends a number and the seconds of the submission to it.
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

// Point is a data point with flattened values. Times are ms since the Unix epoch, and the interval is in ms.
type Point struct {
	Prepare     *Prepare // the last consumer start before the point; nil if there was none
	NowMs       int64    // the consumer's clock; 0 if the line has none
	TimeMs      int64    // event time
	IntervalMs  int64
	Host        string
	Port        uint32
	Component   string
	Task        int32
	Name        string
	Samples     []Sample
	Unsupported int // number of values that are not numbers
}

// LineError reports a malformed line of a capture. Reading can continue with the next line, because captures often end
// in the middle of a line.
type LineError struct {
	File string
	Line int // counted from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: the line %v", e.File, e.Line, e.Err) }

// Unwrap returns the error in the line.
func (e *LineError) Unwrap() error { return e.Err }

// Reader reads one capture from front to back and holds one line in memory. It is not safe for concurrent use.
type Reader struct {
	name    string
	lines   *bufio.Scanner
	line    int
	prepare *Prepare
}

// NewReader returns a Reader of r. name is the file's name, for errors.
func NewReader(name string, r io.Reader) *Reader {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), MaxLineBytes)
	return &Reader{name: name, lines: lines}
}

// Next returns the next data point, or io.EOF at the end. It skips events and empty lines. After a *LineError the next
// call continues with the following line. Any other error is final.
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
			f := flatten(l.Value)
			return &Point{Prepare: r.prepare, NowMs: l.NowMs, TimeMs: *l.Time * 1000, IntervalMs: l.Interval * 1000,
				Host: l.Host, Port: l.Port, Component: l.Component, Task: l.Task, Name: l.Name, Samples: f.samples,
				Unsupported: f.unsupported}, nil
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
		return nil, fmt.Errorf("%s:%d: the line is longer than %d bytes; this is not a capture", r.name, r.line+1,
			MaxLineBytes)
	}
	return nil, fmt.Errorf("%s:%d: %w", r.name, r.line+1, err)
}
