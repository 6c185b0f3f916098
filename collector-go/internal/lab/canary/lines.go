package canary

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
)

// Lines prints the summaries of a minute or an hour together with the state of the delivery to the collector. An
// unreachable collector is reported each time, so that a reader of only the newest lines knows.
type Lines struct {
	// Out receives the lines; Said receives the problems of queries and of the delivery.
	Out, Said io.Writer
	// JSON writes one JSON line for each class instead of a table for all.
	JSON bool
	// Delivery sends the samples; nil if nothing is delivered.
	Delivery *sender.Sender
	// Err is the first write error. Later lines are still tried, because a canary must not end for lack of a reader.
	Err  error
	lost uint64
}

// Line is a minute or an hour of one class as JSON, which other programs read. Units end the keys, and unknown values
// are null.
type Line struct {
	Period       string    `json:"period"`
	From         time.Time `json:"from"`
	To           time.Time `json:"to"`
	Class        string    `json:"class"`
	Returned     int       `json:"returned"`
	Failed       int       `json:"failed"`
	TimedOut     int       `json:"timed_out"`
	Missed       int       `json:"missed"`
	P50          *float64  `json:"p50_ms"`
	P95          *float64  `json:"p95_ms"`
	P99          *float64  `json:"p99_ms"`
	Most         *float64  `json:"max_ms"`
	Completeness *float64  `json:"completeness_ratio"`
}

// Print can be used as the report function of New. It may be called by one goroutine at a time, as Run does.
func (l *Lines) Print(s Summary) {
	name := map[time.Duration]string{time.Minute: "minute", time.Hour: "hour"}[s.Length]
	var lines []Line
	for _, c := range s.Classes {
		q := c.Result.Latency.InMilliseconds()
		lines = append(lines, Line{
			Period: name, From: s.From.UTC().Truncate(time.Millisecond), To: s.To.UTC().Truncate(time.Millisecond),
			Class: string(c.Class), Returned: c.Result.Returned, Failed: c.Result.Failed,
			TimedOut: c.Result.TimedOut, Missed: c.Result.NotSubmitted, P50: q.P50, P95: q.P95, P99: q.P99,
			Most: q.Most, Completeness: load.Known(c.Result.Completeness()),
		})
		for _, e := range c.Result.Errors {
			if s.Length == time.Minute {
				fmt.Fprintf(l.Said, "canary: %s failed %d times: %.300s\n", c.Class, e.Count, e.Error)
			}
		}
	}
	l.health()
	write := writeTable
	if l.JSON {
		write = writeJSON
	}
	if err := write(l.Out, name, s.To, lines); err != nil && l.Err == nil {
		l.Err = err
	}
}

// health reports problems of the delivery: an unreachable collector, with the number of samples that wait or are lost,
// and dropped or rejected samples. Losses are reported again only if there are new ones.
func (l *Lines) health() {
	if l.Delivery == nil {
		return
	}
	f := l.Delivery.Figures()
	if f.LastError != "" {
		fmt.Fprintf(l.Said, "canary: collector unreachable, %d samples are waiting or lost: %s\n",
			f.Offered-f.Acknowledged-f.Rejected, f.LastError)
	}
	if lost := f.Dropped + f.Rejected; lost > l.lost {
		l.lost = lost
		fmt.Fprintf(l.Said, "canary: %d samples dropped, %d rejected by the collector (%s)\n", f.Dropped, f.Rejected,
			f.LastRejection)
	}
}

// writeJSON writes one line of JSON for each class, so that a reader can follow the output line by line.
func writeJSON(out io.Writer, _ string, _ time.Time, lines []Line) error {
	encoder := json.NewEncoder(out)
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// writeTable writes one table for all classes, with the period and its end in the header.
func writeTable(out io.Writer, name string, to time.Time, lines []Line) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s to %s\treturned\tfailed\ttimed out\tmissed\tp50 ms\tp95 ms\tp99 ms\tmax ms\tcomplete\n",
		name, to.Format("15:04:05"))
	for _, l := range lines {
		complete := "-"
		if l.Completeness != nil {
			complete = fmt.Sprintf("%.6g%%", 100**l.Completeness)
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\n", l.Class, l.Returned, l.Failed, l.TimedOut,
			l.Missed, load.Digits(l.P50), load.Digits(l.P95), load.Digits(l.P99), load.Digits(l.Most), complete)
	}
	return table.Flush()
}
