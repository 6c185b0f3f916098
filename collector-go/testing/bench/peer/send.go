package peer

import (
	"context"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// Load is how rows are sent to a peer.
type Load struct {
	// Connections are the senders; the hosts are spread over them in ranges.
	Connections int
	// PerRequest is the rows of a request: hosts at one time.
	PerRequest int
	StartMs    int64
	Step       time.Duration
	Steps      int
}

// Span is the time that its rows are of.
func (l Load) Span() Span { return Span{l.StartMs, l.StartMs + int64(l.Steps-1)*l.Step.Milliseconds()} }

// lead is how many steps a connection may be before the others: some servers take no rows that are much older than the
// newest.
const lead = 32

// line is a connection and its hosts.
type line struct {
	Sender
	first int
	walk  *bench.Walk
	took  *hdrhistogram.Histogram // us
}

// longest is what latencies are cut to, us.
const longest = int64(10 * time.Minute / time.Microsecond)

// connect opens the connections, each with its hosts.
func connect(p Peer, rows *bench.Rows, l Load) (lines []*line, err error) {
	for i := range min(l.Connections, rows.Hosts) {
		s, err := p.Sender()
		if err != nil {
			hangUp(lines)
			return nil, err
		}
		n := min(l.Connections, rows.Hosts)
		from, to := rows.Hosts*i/n, rows.Hosts*(i+1)/n
		hosts := make([]int, 0, to-from)
		for h := from; h < to; h++ {
			hosts = append(hosts, h)
		}
		lines = append(lines, &line{s, from, rows.Walk(hosts), hdrhistogram.New(1, longest, 3)})
	}
	return lines, nil
}

func hangUp(lines []*line) {
	for _, l := range lines {
		l.Close()
	}
}

// step sends the next step of a connection's hosts.
func (l *line) step(ctx context.Context, metrics, perRequest int, timeMs int64) error {
	l.walk.Next()
	hosts := len(l.walk.Values) / metrics
	for from := 0; from < hosts; from += perRequest {
		to := min(from+perRequest, hosts)
		if err := l.request(ctx, metrics, from, to, timeMs); err != nil {
			return err
		}
	}
	return nil
}

// request sends the present values of some of the connection's hosts.
func (l *line) request(ctx context.Context, metrics, from, to int, timeMs int64) error {
	begun := time.Now()
	err := l.Send(ctx, Rows{First: l.first + from, Metrics: metrics, Values: l.walk.Values[from*metrics : to*metrics],
		TimeMs: timeMs})
	_ = l.took.RecordValue(min(time.Since(begun).Microseconds(), longest))
	return err
}

// Send sends a load as fast as it is taken, and returns the sum of the values of each metric.
func Send(ctx context.Context, p Peer, rows *bench.Rows, l Load) (sums []float64, err error) {
	lines, err := connect(p, rows, l)
	if err != nil {
		return nil, err
	}
	defer hangUp(lines)
	for from := 0; from < l.Steps; from += lead {
		err := each(lines, func(c *line) error {
			for step := from; step < min(from+lead, l.Steps); step++ {
				if err := c.step(ctx, rows.Metrics, l.PerRequest, l.StartMs+int64(step)*l.Step.Milliseconds()); err !=
					nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	sums = make([]float64, rows.Metrics)
	for _, c := range lines {
		for m, v := range c.walk.Sums {
			sums[m] += v
		}
	}
	return sums, nil
}

// each runs a part for every connection at once.
func each(lines []*line, part func(*line) error) error {
	var running sync.WaitGroup
	failures := make(chan error, len(lines))
	for _, c := range lines {
		running.Go(func() {
			if err := part(c); err != nil {
				failures <- err
			}
		})
	}
	running.Wait()
	close(failures)
	return <-failures
}

// Pace sends each host's row as it falls due, one request a host, spread over the step; a first step is sent that is
// not measured. It returns the server's CPU of the time that it took, and how long requests took.
func Pace(ctx context.Context, p Peer, measured bench.Measured, rows *bench.Rows, l Load) (cpu, took time.Duration,
	latency bench.Quantiles, err error) {
	lines, err := connect(p, rows, l)
	if err != nil {
		return 0, 0, latency, err
	}
	defer hangUp(lines)
	begun := time.Now()
	pace := func(steps int) error {
		return each(lines, func(c *line) error {
			for step := range steps {
				if err := c.pace(ctx, rows.Metrics, begun.Add(time.Duration(step)*l.Step), l.Step); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := pace(1); err != nil {
		return 0, 0, latency, err
	}
	for _, c := range lines {
		c.took.Reset()
	}
	before, err := measured.CPU(ctx)
	if err != nil {
		return 0, 0, latency, err
	}
	begun = time.Now()
	if err := pace(l.Steps); err != nil {
		return 0, 0, latency, err
	}
	took = time.Since(begun)
	after, err := measured.CPU(ctx)
	all := hdrhistogram.New(1, longest, 3)
	for _, c := range lines {
		all.Merge(c.took)
	}
	at := func(q float64) float64 { return float64(all.ValueAtQuantile(q)) / 1000 }
	return after - before, took, bench.Quantiles{P50: at(50), P99: at(99), P999: at(99.9)}, err
}

// pace sends a step of the connection's hosts, one after the other, from its beginning on.
func (l *line) pace(ctx context.Context, metrics int, begins time.Time, step time.Duration) error {
	l.walk.Next()
	hosts := len(l.walk.Values) / metrics
	for h := range hosts {
		select {
		case <-time.After(time.Until(begins.Add(step * time.Duration(h) / time.Duration(hosts)))):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := l.request(ctx, metrics, h, h+1, begins.UnixMilli()); err != nil {
			return err
		}
	}
	return nil
}
