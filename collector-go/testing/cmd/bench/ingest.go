package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/floor"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
)

// rowsBack is how far back rows begin: what is older than a day is not taken, and the run takes time itself.
const rowsBack = 22 * time.Hour

func (s *session) ownSlice() scenario {
	sh := shape{hosts: 4000, metrics: 10, steps: s.sized(240, 60, 12), step: 10 * time.Second, width: 10 * time.Second,
		streams: 4, perMessage: 1000, back: rowsBack}
	return scenario{name: goal.OwnSlice, what: "TSBS rows, each sample its own slice", goals: []int{1},
		scale: sh.String(), subjects: []subject{{goal.Ours, s.intoOurs(sh)}, s.intoPeer("victoria", sh),
			s.intoPeer("questdb", sh), {goal.Floor, s.intoFloor(sh, 0)}}}
}

// aggregated is minutes of 1 s rows that go into slices of a width.
func (s *session) aggregated(name string, width time.Duration, minutes int) scenario {
	sh := shape{hosts: 4000, metrics: 10, steps: 60 * s.sized(minutes, 2, 1), step: time.Second, width: width,
		streams: 4, perMessage: 1000, back: rowsBack}
	return scenario{name: name, what: fmt.Sprintf("1 s rows into slices of %s", width), goals: []int{2},
		scale: sh.String(), subjects: []subject{{goal.Ours, s.intoOurs(sh)}, s.intoPeer("victoria", sh),
			{goal.Floor, s.intoFloor(sh, 0)}}}
}

func (s *session) smallMessages() scenario {
	sh := shape{hosts: 500, metrics: 100, steps: 10 * s.sized(36, 6, 2), step: 10 * time.Second,
		width: 10 * time.Second, streams: 500, perMessage: 1, back: rowsBack}
	return scenario{name: goal.SmallMessages, what: "500 streams, 100 samples per message, as fast as they are taken",
		goals: []int{5}, scale: sh.String(),
		subjects: []subject{{goal.Ours, s.intoOurs(sh)}, s.intoPeer("victoria", sh),
			{goal.Floor, s.intoFloor(sh, 0)}}}
}

// sustained is rows for minutes, the clients on the same machine.
func (s *session) sustained(name string, step, width, full time.Duration) scenario {
	duration := time.Duration(s.sized(int(full.Seconds()), 20, 2)) * time.Second
	// the floor takes as many rows as the goal requires
	least := shape{hosts: 4000, metrics: 10, steps: int(duration.Seconds() * 1e6 / 4000), step: step, width: width,
		streams: 4, perMessage: 1000}
	return scenario{name: name, goals: []int{3}, once: true,
		what:  fmt.Sprintf("rows every %s into slices of %s from 4 clients on the same machine", step, width),
		scale: fmt.Sprintf("4,000 hosts x 10 metrics for %s, or until a day's window is used up", duration),
		subjects: []subject{{goal.Ours, func(ctx context.Context, dir string) (figures, error) {
			o := bench.Ingest{Seed: s.seed, Hosts: 4000, Metrics: 10, RowsPerBatch: 1000, InFlight: 4, Step: step,
				Width: width, Duration: duration, WorkerSamples: 100, Program: s.program, Dir: dir}
			r, err := o.Measure(ctx, 4)
			if err != nil {
				return nil, err
			}
			out := figures{"rows_per_s": r.RowsPerS, "acknowledged_rows_per_s": r.AckedRowsPerS,
				"sent_for_s": r.Seconds, "rows": float64(r.Rows), "cpu_s": r.CPUSeconds,
				"samples_per_cpu_second": r.SamplesPerCPUSecond, "ack_p99_ms": r.Ack.P99,
				"rejected": float64(r.Rejected), "rss_mib": r.ServerMiB, "wire_bytes_per_sample": r.WireBytes,
				"journal_bytes_per_sample": r.Journal,
				"journal_bound_mib":        float64(config.Default().Journal.MaxBytes >> 20)}
			if r.Disk != nil && r.Written != nil {
				out["disk_bytes_per_sample"], out["written_bytes_per_sample"] = *r.Disk, *r.Written
				out["store_mib"] = *r.Disk * float64(r.Samples) / (1 << 20)
			}
			return out, nil
		}}, {goal.Floor, s.intoFloor(least, 0)}}}
}

// intoFloor is a load into the floor program, which is this one: a step each pace, or as fast as it is taken.
func (s *session) intoFloor(sh shape, pace time.Duration) measurement {
	return func(ctx context.Context, dir string) (figures, error) {
		program, err := os.Executable()
		if err != nil {
			return nil, err
		}
		wire, err := bench.FreeAddress()
		if err != nil {
			return nil, err
		}
		web, err := bench.FreeAddress()
		if err != nil {
			return nil, err
		}
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return nil, err
		}
		load := floor.Load{Streams: sh.streams, PerMessage: sh.perMessage, Steps: sh.steps,
			StepsASlice: int(sh.width / sh.step), SampleBytes: 8, InFlight: 64, Pace: pace}
		p, err := bench.Start(ctx, program, []string{floorCommand, "--listen", wire, "--http", web, "--log",
			filepath.Join(dir, "data"),
			"--series", strconv.Itoa(sh.hosts * sh.metrics), "--slices", strconv.Itoa(load.Slices())}, "http://"+web,
			"/ready", filepath.Join(dir, "log"))
		if err != nil {
			return nil, err
		}
		started = append(started, p)
		begun := time.Now()
		sent, err := floor.Send(ctx, wire, sh.rows(s.seed), load)
		if err != nil {
			return nil, err
		}
		took := time.Since(begun)
		cpu, err := p.CPU(ctx)
		if err != nil {
			return nil, err
		}
		body, err := bench.NewServer("http://"+web, httpclient.Plain(httpclient.Options{})).Get(ctx, "/sums")
		if err != nil {
			return nil, err
		}
		var got floor.Sums
		if err := json.Unmarshal(body, &got); err != nil {
			return nil, err
		}
		if got.Samples != sh.samples() || !bench.Same(got.Sum, sent.Sum, sh.recorded) {
			return nil, errors.New("the floor has not what was sent")
		}
		cpu = max(cpu-p.Begun, 10*time.Millisecond) // the system counts in such steps
		all := float64(sh.samples())
		return figures{"samples_per_cpu_second": all / cpu.Seconds(), "cpu_s": cpu.Seconds(),
			"acknowledged_after_s": took.Seconds(), "message_bytes_per_sample": float64(sent.Bytes) / all,
			"rows_per_s": float64(sh.hosts*sh.steps) / took.Seconds(), "cores": cpu.Seconds() / took.Seconds(),
			"ack_p50_ms": sent.Ack.P50, "ack_p99_ms": sent.Ack.P99, "ack_p999_ms": sent.Ack.P999}, nil
	}
}
