package main

import (
	"context"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/peer"
)

// pacedStreams are what workers share.
const pacedStreams = 4

// paced is 50,000 samples a second as they fall due: 500 workers, 100 samples of each a second in a message.
func (s *session) paced() scenario {
	seconds := s.sized(40, 20, 3)
	sh := shape{hosts: 500, metrics: 100, steps: seconds, step: time.Second, width: 10 * time.Second,
		streams: pacedStreams, perMessage: 1}
	return scenario{name: goal.Paced, what: "500 workers, 100 samples per second each, as they fall due over 4 streams",
		goals: []int{7}, scale: fmt.Sprintf("50,000 samples/s for %d s", seconds),
		subjects: []subject{{goal.Ours, s.paceOurs(500, 100, seconds)},
			{"influxdb", func(ctx context.Context, dir string) (figures, error) {
				p, err := s.openPeer("influxdb")
				if err != nil {
					return nil, err
				}
				process, err := p.Start(ctx, dir)
				if err != nil {
					return nil, err
				}
				started = append(started, process)
				load := peer.Load{Connections: pacedStreams, PerRequest: 1, Step: time.Second, Steps: seconds}
				cpu, took, ack, err := peer.Pace(ctx, p, process, bench.NewRows(s.seed, 500, 100), load)
				if err != nil {
					return nil, err
				}
				resident, err := process.Resident(ctx)
				if err != nil {
					return nil, err
				}
				now := time.Now().UnixMilli()
				values, _, err := p.Count(ctx, 0, peer.Span{FirstMs: now - 3_600_000, LastMs: now})
				if want := 500 * (seconds + 1); err == nil && int(values) != want {
					err = fmt.Errorf("%.0f values answer, and %d were sent", values, want)
				}
				_, _, ended := process.End()
				if err == nil {
					err = ended
				}
				return figures{"cores": cpu.Seconds() / took.Seconds(), "rss_mib": float64(resident) / (1 << 20),
					"ack_p50_ms": ack.P50, "ack_p99_ms": ack.P99, "ack_p999_ms": ack.P999}, err
			}}, {goal.Floor, s.intoFloor(sh, time.Second)}}}
}

func (s *session) paceOurs(workers, samples, seconds int) measurement {
	return func(ctx context.Context, dir string) (figures, error) {
		o := bench.Ingest{Seed: s.seed, Hosts: workers, Metrics: samples, RowsPerBatch: 1, InFlight: 64,
			Step: time.Second, Width: 10 * time.Second, Duration: time.Duration(seconds) * time.Second,
			WorkerSamples: float64(samples), Program: s.program, Dir: dir}
		r, err := o.Pace(ctx, pacedStreams)
		if err != nil {
			return nil, err
		}
		out := figures{"cores": r.Cores, "rss_mib": r.ServerMiB, "ack_p50_ms": r.Ack.P50, "ack_p99_ms": r.Ack.P99,
			"ack_p999_ms": r.Ack.P999, "samples_per_s": r.SamplesPerS}
		for name, stage := range r.Stages {
			out[name+"_p50_ms"], out[name+"_p99_ms"] = stage.P50, stage.P99
		}
		return out, nil
	}
}
