package bench

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Paced is the cost of workers that send at their usual rate. It complements the saturated figures, because it shows
// the cost for a collector that is not busy.
type Paced struct {
	Workers     int       `json:"workers"`
	Streams     int       `json:"streams"`
	Samples     int       `json:"samples"`
	SamplesPerS float64   `json:"samples_per_s"`
	Seconds     float64   `json:"seconds"`
	Cores       float64   `json:"server_cores"`
	ServerMiB   float64   `json:"server_rss_mib"`
	Ack         Quantiles `json:"ack_ms"`
	// Stages are those of the measured messages.
	Stages map[string]Stage `json:"stages"`
}

// Pace sends each host's row once per Step at its scheduled time, over the given number of streams, spread over the
// step. Every sample must be acknowledged and, by the collector's own count, journaled. A first round is sent before
// the measured time, because learning new series is a cost that occurs only once.
func (o *Ingest) Pace(ctx context.Context, streams int) (Paced, error) {
	r := &run{Ingest: o, clients: streams}
	defer r.clear()
	result := Paced{Workers: o.Hosts, Streams: min(streams, o.Hosts)}
	if err := r.begin(ctx); err != nil {
		return result, err
	}
	if err := r.fleet.Pace(ctx, time.Now()); err != nil { // the collector learns new series only once
		return result, err
	}
	before, err := r.read(ctx)
	if err != nil {
		return result, err
	}
	begun, steps := time.Now(), max(1, int(o.Duration/o.Step))
	for n := range steps {
		if err := r.fleet.Pace(ctx, begun.Add(time.Duration(n)*o.Step)); err != nil {
			return result, err
		}
	}
	took := time.Since(begun)
	if err := r.fleet.Close(); err != nil {
		return result, err
	}
	after, err := r.read(ctx)
	if err != nil {
		return result, err
	}
	if result.Stages, err = after.stages.Since(before.stages); err != nil {
		return result, err
	}
	result.Samples = steps * o.Hosts * o.Metrics
	result.Seconds, result.SamplesPerS = took.Seconds(), float64(result.Samples)/took.Seconds()
	result.Cores, result.ServerMiB = (after.cpu-before.cpu).Seconds()/took.Seconds(), float64(after.resident)/(1<<20)
	result.Ack = r.fleet.Latency()
	// A remote collector may have counted more, because others send to it. Queries are not used, because the newest
	// slices are not closed yet.
	sent := result.Samples + o.Hosts*o.Metrics
	if got := int(r.grown(after, journaled)); got < sent || r.Remote == nil && got != sent {
		return result, fmt.Errorf("%d samples were journaled, but %d were sent", got, sent)
	}
	return result, nil
}

// SendersResult is the JSON output of `bench senders`, which other programs read: the senders at full speed, then at
// their own rate.
type SendersResult struct {
	Saturated Step  `json:"saturated"`
	Paced     Paced `json:"paced"`
	Run
}

// Text returns the result as text. samples is the number of samples per message.
func (r *SendersResult) Text(samples int) string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	s, p := r.Saturated, r.Paced
	fmt.Fprintf(table, "%d streams at full speed, %d samples per message\n", s.Clients, samples)
	fmt.Fprintf(table, "  samples/s until queries return them\t%.0f\n  samples per CPU second of the server\t%.0f\n",
		s.SamplesPerS, s.SamplesPerCPUSecond)
	fmt.Fprintf(table, "  acknowledged after\tp50 %.3g, p99 %.3g, p999 %.3g ms\n  server memory\t%.0f MiB\n", s.Ack.P50,
		s.Ack.P99, s.Ack.P999, s.ServerMiB)
	fmt.Fprintf(table, "  rejected with FULL and sent again\t%d\n", s.Rejected)
	fmt.Fprintf(table, "%d workers over %d streams, one message per second each\n", p.Workers, p.Streams)
	fmt.Fprintf(table, "  samples/s\t%.0f for %.3g s\n  server CPU\t%.3f cores\n  server memory\t%.0f MiB\n",
		p.SamplesPerS, p.Seconds, p.Cores, p.ServerMiB)
	fmt.Fprintf(table, "  acknowledged after\tp50 %.3g, p99 %.3g, p999 %.3g ms\n", p.Ack.P50, p.Ack.P99, p.Ack.P999)
	table.Flush()
	return out.String()
}
