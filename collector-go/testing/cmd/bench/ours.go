package main

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// patience is how long what was written may take to answer, once enough is in slices: one stream may be behind the
// others.
const patience = time.Minute

// filled is our collector with a load in it.
type filled struct {
	*server
	sh        shape
	startMs   int64
	empty     int64         // resident memory before the first series, bytes
	defining  time.Duration // CPU of the series' definitions
	checking  time.Duration // CPU of the queries that check
	seconds   float64       // until all could be queried
	journaled float64       // bytes
	wire      int64         // bytes sent
}

// fill sends a shape's rows to a collector, waits until all of them are in slices, and checks that they answer.
func (s *session) fill(ctx context.Context, dir string, sh shape, more ...string) (*filled, error) {
	v, err := s.serve(ctx, dir, append([]string{"--slice-width", sh.width.String()}, more...)...)
	if err != nil {
		return nil, err
	}
	f := &filled{server: v, sh: sh, startMs: sh.begin(time.Now())}
	if f.empty, err = v.Resident(ctx); err != nil {
		return nil, err
	}
	stop := v.profile(s, filepath.Base(dir))
	if err := f.send(ctx, s.seed); err != nil {
		return nil, err
	}
	return f, stop()
}

func (f *filled) send(ctx context.Context, seed uint64) error {
	fleet, err := bench.Connect(ctx, f.target, f.sh.rows(seed), f.sh.load(f.startMs))
	if err != nil {
		return err
	}
	defer fleet.Abandon()
	if err := fleet.Define(); err != nil {
		return err
	}
	if err := bench.Await(ctx, f.sh.hosts*f.sh.metrics, f.Defined); err != nil {
		return err
	}
	defined, err := f.CPU(ctx)
	if err != nil {
		return err
	}
	f.defining = defined - f.Begun
	begun, wire := time.Now(), fleet.WireBytes()
	if _, err := fleet.Send(f.sh.steps, 1, time.Time{}); err != nil {
		return err
	}
	sums := fleet.Sums()
	f.wire = fleet.WireBytes() - wire
	fleet.Skip(bench.Closing(f.sh.step, f.sh.width) - 1)
	if _, err := fleet.Send(1, 1, time.Time{}); err != nil {
		return err
	}
	if err := fleet.Close(); err != nil {
		return err
	}
	if err := bench.Await(ctx, f.sh.samples(), f.InSlices); err != nil {
		return err
	}
	f.seconds = time.Since(begun).Seconds()
	if f.journaled, err = f.Figure(ctx, "bullet_metrics_journal_appended_bytes_total"); err != nil {
		return err
	}
	return f.check(ctx, sums)
}

// check compares count and sum until they agree; its CPU is not the samples'.
func (f *filled) check(ctx context.Context, sums []float64) error {
	before, err := f.CPU(ctx)
	if err != nil {
		return err
	}
	w := bench.Written{Topology: topology, Hosts: f.sh.hosts, Metrics: f.sh.metrics, StartMs: f.startMs,
		Steps: f.sh.steps, StepMs: f.sh.step.Milliseconds(),
		WidthMs: f.sh.width.Milliseconds(), Sums: sums, Inexact: f.sh.recorded}
	looking := time.NewTicker(200 * time.Millisecond)
	defer looking.Stop()
	for deadline := time.Now().Add(patience); ; {
		wrong := w.Check(ctx, f.Server)
		if wrong == nil {
			break
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return wrong
		}
		<-looking.C
	}
	after, err := f.CPU(ctx)
	f.checking = after - before
	return err
}

// end ends the collector, so that all is in parts, and gives what it has cost.
func (f *filled) end(ctx context.Context, s *session, dir string) (figures, error) {
	resident, err := f.Resident(ctx)
	if err != nil {
		return nil, err
	}
	out := figures{"rss_mib": float64(resident) / (1 << 20),
		"bytes_per_series": float64(resident-f.empty) / float64(f.sh.hosts*f.sh.metrics)}
	if err := f.memory(ctx, out); err != nil {
		return nil, err
	}
	if err := f.heap(s, filepath.Base(dir)); err != nil {
		return nil, err
	}
	cpu, written, err := f.End()
	if err != nil {
		return nil, err
	}
	cpu -= f.checking
	all := float64(f.sh.samples())
	out["samples_per_cpu_second"] = all / cpu.Seconds()
	out["samples_per_cpu_second_without_definitions"] = all / (cpu - f.defining).Seconds()
	out["cpu_s"], out["queryable_after_s"] = cpu.Seconds(), f.seconds
	out["wire_bytes_per_sample"], out["journal_bytes_per_sample"] = float64(f.wire)/all, f.journaled/all
	out["written_bytes_per_sample"] = float64(written) / all
	store, err := bench.BytesIn(filepath.Join(dir, "data", "grid"))
	if err != nil {
		return nil, err
	}
	data, err := bench.BytesIn(filepath.Join(dir, "data"))
	out["disk_bytes_per_sample"], out["data_bytes_per_sample"] = float64(store)/all, float64(data)/all
	return out, err
}

// memory adds what the collector's memory is made of.
func (f *filled) memory(ctx context.Context, out figures) error {
	for _, part := range []string{"heap_inuse", "heap_idle", "heap_released", "stack_inuse", "gc_sys"} {
		n, err := f.Figure(ctx, "go_memstats_"+part+"_bytes")
		if err != nil {
			return err
		}
		out["go_"+strings.ReplaceAll(part, ".", "_")+"_mib"] = n / (1 << 20)
	}
	return nil
}

// intoOurs is a load into our collector, until it has ended.
func (s *session) intoOurs(sh shape, more ...string) measurement {
	return func(ctx context.Context, dir string) (figures, error) {
		f, err := s.fill(ctx, dir, sh, more...)
		if err != nil {
			return nil, err
		}
		return f.end(ctx, s, dir)
	}
}
