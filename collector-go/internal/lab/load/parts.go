package load

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// PartRun is the result of one client in a run with several clients. Its file has a first line {"run": ...}, one line
// of JSON per outcome, and a last line {"end": ...}.
type PartRun struct {
	Run
	Outcomes []Outcome
	EndMs    int64 // end of its last query
}

// Run describes the run that a client took part in. All parts have the same values, except for the fields about the
// client.
type Run struct {
	Part       Part    `json:"part"`
	URL        string  `json:"url"`        // of the target, as this client reaches it
	Processors int     `json:"processors"` // of this client
	Target     string  `json:"target"`
	Class      Class   `json:"class"`
	Query      string  `json:"query"`
	Rate       float64 `json:"rate_per_second,omitempty"`
	Concurrent int     `json:"held,omitempty"`
	StartMs    int64   `json:"start_ms"`
	DurationMs int64   `json:"duration_ms"`
}

// Scheduled returns how many queries the rate schedules for the part in the run's duration. It is 0 for held queries,
// which start when others return.
func (r Run) Scheduled() int {
	return r.Part.Share(int(math.Ceil(r.Rate * float64(r.DurationMs) / 1000)))
}

// partLine is the first or the last line of a part's file.
type partLine struct {
	Run *Run     `json:"run,omitempty"`
	End *partEnd `json:"end,omitempty"`
}

type partEnd struct {
	TimeMs  int64 `json:"time_ms"`
	Queries int   `json:"queries"`
}

// OutcomesWriter writes outcomes, one line of JSON each. It is safe for concurrent use.
type OutcomesWriter struct {
	mu      sync.Mutex
	to      io.Writer
	queries int
	err     error
}

// NewOutcomesWriter returns a writer. run describes the part that the outcomes belong to. For a whole run it is nil,
// and the file has neither a first nor a last line.
func NewOutcomesWriter(to io.Writer, run *Run) *OutcomesWriter {
	w := &OutcomesWriter{to: to}
	if run != nil {
		w.line(partLine{Run: run})
	}
	return w
}

// Add writes an outcome.
func (w *OutcomesWriter) Add(o Outcome) {
	w.line(o)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queries++
}

// End writes the last line of a part.
func (w *OutcomesWriter) End(at time.Time) {
	w.line(partLine{End: &partEnd{at.UnixMilli(), w.queries}})
}

// Err returns the first error of writing.
func (w *OutcomesWriter) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *OutcomesWriter) line(v any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := json.NewEncoder(w.to).Encode(v); w.err == nil && err != nil {
		w.err = fmt.Errorf("write the outcomes: %w", err)
	}
}

// Limits for a part's file: the length of a line in bytes, and the time from start to end.
const (
	mostLine  = 1 << 20
	mostRunMs = int64(366 * 24 * time.Hour / time.Millisecond)
)

// ReadPart reads the file of a part. An error contains the line's number.
func ReadPart(from io.Reader) (*PartRun, error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, mostLine)
	p, ended := &PartRun{}, false
	number := 0
	for lines.Scan() {
		number++
		if ended {
			return nil, fmt.Errorf("line %d follows the end of the part", number)
		}
		var err error
		if ended, err = p.take(number, lines.Bytes()); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	switch {
	case errors.Is(lines.Err(), bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d is longer than the maximum of %d MiB", number+1, mostLine>>20)
	case lines.Err() != nil:
		return nil, fmt.Errorf("line %d: %w", number+1, lines.Err())
	case number == 0:
		return nil, errors.New("the file is empty: the client ended before its start")
	case !ended:
		return nil, fmt.Errorf("incomplete after line %d: the client is still running, or was killed", number)
	}
	return p, nil
}

// take processes a line, and reports whether it was the last.
func (p *PartRun) take(number int, text []byte) (last bool, err error) {
	switch {
	case number == 1:
		return false, p.begin(text)
	case bytes.HasPrefix(text, []byte(`{"end":{`)):
		var line struct{ End partEnd }
		if err := json.Unmarshal(text, &line); err != nil {
			return false, textfile.JSONFault(err)
		}
		return true, p.end(line.End)
	}
	var o Outcome
	if err := json.Unmarshal(text, &o); err != nil {
		return false, textfile.JSONFault(err)
	}
	if o.End == "" || !p.Part.has(o.Slot) {
		return false, fmt.Errorf("query %d does not belong to part %s", o.Slot, p.Part)
	}
	p.Outcomes = append(p.Outcomes, o)
	return false, nil
}

func (p *PartRun) begin(text []byte) error {
	var line struct{ Run *Run }
	if err := json.Unmarshal(text, &line); err != nil {
		return textfile.JSONFault(err)
	}
	if line.Run == nil {
		return errors.New("not an outcomes file of load --part")
	}
	p.Run = *line.Run
	if p.Part.Number < 1 || p.Part.Number > p.Part.Of || p.Part.Of > maxParts {
		return fmt.Errorf("invalid part %s", p.Part)
	}
	return nil
}

func (p *PartRun) end(e partEnd) error {
	if e.Queries != len(p.Outcomes) {
		return fmt.Errorf("the part has %d queries, but %d lines", e.Queries, len(p.Outcomes))
	}
	p.EndMs = e.TimeMs
	if p.StartMs < 0 || p.EndMs < p.StartMs || p.EndMs-p.StartMs > mostRunMs {
		return fmt.Errorf("a part lasts at most a year, not from %s to %s", moment(p.StartMs), moment(p.EndMs))
	}
	for _, o := range p.Outcomes {
		for _, at := range []int64{o.IntendedMs, o.SubmittedMs, o.FinishedMs} {
			if at < p.StartMs || at > p.EndMs {
				return fmt.Errorf("query %d has the time %s, outside of the part (%s to %s)", o.Slot, moment(at), moment(p.StartMs),
					moment(p.EndMs))
			}
		}
	}
	return nil
}

// CheckParts reports why parts do not make one run: they belong to different runs, or a part is missing or repeated.
func CheckParts(parts []*PartRun) error {
	first := parts[0]
	seen := map[int]bool{}
	for _, p := range parts {
		if field, was, is := first.differs(p); field != "" {
			return fmt.Errorf("parts %s and %s are from different runs: %s is %v and %v", first.Part,
				p.Part, field, was, is)
		}
		if seen[p.Part.Number] {
			return fmt.Errorf("part %s appears twice", p.Part)
		}
		seen[p.Part.Number] = true
	}
	for number := 1; number <= first.Part.Of; number++ {
		if !seen[number] {
			return fmt.Errorf("part %s is missing", Part{number, first.Part.Of})
		}
	}
	return nil
}

// differs returns the first field that shows that a part belongs to another run.
func (r Run) differs(p *PartRun) (field string, was, is any) {
	for _, f := range []struct {
		name    string
		was, is any
	}{
		{"the number of parts", r.Part.Of, p.Part.Of}, {"the start", moment(r.StartMs), moment(p.StartMs)},
		{"the duration", length(r.DurationMs), length(p.DurationMs)}, {"the target", r.Target, p.Target},
		{"the class", r.Class, p.Class}, {"the query", r.Query, p.Query}, {"the rate", r.Rate, p.Rate},
		{"the number of held queries", r.Concurrent, p.Concurrent},
	} {
		if f.was != f.is {
			return f.name, f.was, f.is
		}
	}
	return "", nil, nil
}

func moment(at int64) string { return time.UnixMilli(at).UTC().Format(time.RFC3339Nano) }
func length(n int64) string  { return (time.Duration(n) * time.Millisecond).String() }

// MergeParts merges the parts of one run. The counts at a moment are computed from the outcomes' own times: a query
// that waits or is late is in Scheduled and not yet in Submitted.
func MergeParts(parts []*PartRun) *Report {
	r := &Report{Run: parts[0].Run, Tally: NewTally(), Began: time.UnixMilli(parts[0].StartMs)}
	r.Part, r.Processors = Part{}, 0
	var all []Outcome
	endMs := parts[0].EndMs
	for _, p := range parts {
		all = append(all, p.Outcomes...)
		endMs = max(endMs, p.EndMs)
	}
	r.End = time.UnixMilli(endMs)
	slices.SortStableFunc(all, func(a, b Outcome) int { return cmp.Compare(a.FinishedMs, b.FinishedMs) })
	r.replay(all)
	return r
}

// event is the scheduling, submission or end of a query.
type event struct {
	ms    int64
	what  int // order of events at the same time: scheduled, submitted, ended
	query Outcome
}

// replay computes the run's timeline from its outcomes. Its period is one second, or longer for runs of many hours.
func (r *Report) replay(outcomes []Outcome) {
	var events []event
	for _, o := range outcomes {
		events = append(events, event{o.IntendedMs, 0, o}, event{o.FinishedMs, 2, o})
		if o.End != NotSubmitted {
			events = append(events, event{o.SubmittedMs, 1, o})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.ms, b.ms), cmp.Compare(a.what, b.what))
	})
	var timeline Timeline
	var now Counts
	scheduled := 0
	period := max(1, r.End.Sub(r.Began)/time.Second/maxMoments) * time.Second
	next := r.Began.Add(period)
	for _, e := range events {
		for ; next.UnixMilli() <= e.ms; next = next.Add(period) {
			timeline.note(next, now.at(scheduled), r.Tally)
		}
		switch e.what {
		case 0:
			scheduled++
		case 1:
			now.begin()
		default:
			now.end(e.query.End)
			r.Tally.Add(e.query)
		}
	}
	timeline.note(r.End, now.at(scheduled), r.Tally)
	r.Moments, r.PeakInFlight = timeline.Moments(), now.MostInFlight
}

// Part is the share of a run's queries that one of several clients submits. With N parts, part K has queries K-1,
// K-1+N, K-1+2N, and so on of an open loop, and the slots with these numbers of a ClosedLoop. Together the parts
// submit each query exactly once, without any communication between the clients. The zero value is the whole.
type Part struct {
	Number int `json:"number"` // from 1 on
	Of     int `json:"of"`
}

// maxParts is the number of probes, because each part needs at least one.
const maxParts = maxProbes

// ParsePart parses a part such as "2/5".
func ParsePart(text string) (_ Part, err error) {
	number, of, _ := strings.Cut(text, "/")
	var p Part
	if p.Number, err = strconv.Atoi(number); err == nil {
		p.Of, err = strconv.Atoi(of)
	}
	if err != nil || p.Number < 1 || p.Number > p.Of || p.Of > maxParts {
		return Part{}, fmt.Errorf("%[2]q: use K/N with N up to %[1]d, for example 2/5 for the second of five", maxParts,
			text)
	}
	return p, nil
}

func (p Part) String() string { return fmt.Sprintf("%d/%d", max(1, p.Number), p.parts()) }

// Whole reports whether this is the only part.
func (p Part) Whole() bool { return p.Of <= 1 }

// Share returns how many of n items belong to the part.
func (p Part) Share(n int) int { return (n + p.parts() - 1 - p.first()) / p.parts() }

// query returns the number within the run of the part's query i.
func (p Part) query(i int) int { return p.first() + i*p.parts() }

// has reports whether query or slot k belongs to the part.
func (p Part) has(k int) bool { return k%p.parts() == p.first() }

func (p Part) parts() int { return max(1, p.Of) }
func (p Part) first() int { return max(0, p.Number-1) }

// MergeFiles reads the outcome files of all clients of one run, in any order, and merges them. Percentiles are
// computed over the latencies of all queries, because the mean of the clients' percentiles would be wrong. An error
// names the file, or the missing part.
func MergeFiles(files []string) (*Report, error) {
	byRun := map[*PartRun]string{}
	var parts []*PartRun
	for _, file := range files {
		p, err := readPartFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		parts, byRun[p] = append(parts, p), file
	}
	slices.SortStableFunc(parts, func(a, b *PartRun) int { return a.Part.Number - b.Part.Number })
	if err := CheckParts(parts); err != nil {
		return nil, err
	}
	merged := MergeParts(parts)
	var urls, limits []string
	for _, p := range parts {
		if !slices.Contains(urls, p.URL) {
			urls = append(urls, p.URL)
		}
		figures, limit := p.figures(byRun[p])
		merged.Parts, limits = append(merged.Parts, figures), append(limits, limit...)
	}
	merged.URL, merged.ClientLimit = strings.Join(urls, ", "), strings.Join(limits, "; ")
	return merged, nil
}

func readPartFile(file string) (*PartRun, error) {
	from, err := textfile.Open(file)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return ReadPart(from)
}

// figures returns the figures of one part, and the reasons why its client could not keep up.
func (p *PartRun) figures(file string) (figures PartFigures, limits []string) {
	alone := NewTally()
	for _, o := range p.Outcomes {
		alone.Add(o)
	}
	t := alone.Result()
	scheduled := t.Submitted() + t.NotSubmitted
	if scheduled+1 < p.Scheduled() { // rounding of the client's clock may change the count by one
		limits = append(limits, fmt.Sprintf("the client of part %s ended early: %d of its %d queries were scheduled", p.Part,
			scheduled, p.Scheduled()))
	}
	if limit := ClientLimit("the client of part "+p.Part.String(), t.Lateness.P99, p.Processors); limit != "" {
		limits = append(limits, limit)
	}
	return PartFigures{Part: p.Part.String(), File: file, Scheduled: scheduled, Submitted: t.Submitted(),
		Lateness: t.Lateness.InMilliseconds(), Processors: p.Processors}, limits
}
