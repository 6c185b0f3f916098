package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/bench"
)

// shape is a load and how it is sent.
type shape struct {
	hosts, metrics, steps int
	step, width           time.Duration
	streams, perMessage   int
	doubles               bool
	back                  time.Duration // how far before now it begins
}

// closing is how many steps behind those that are measured close the last slices that are.
func (sh shape) closing() int { return int((2*time.Minute + 2*sh.width) / sh.step) }

func ownSlice(ctx context.Context, s settings) error {
	return into(ctx, s, "own-slice", shape{hosts: 4000, metrics: 10, steps: int(720 * s.scale), step: 10 * time.Second, width: 10 * time.Second, streams: 4, perMessage: 1000, back: 22 * time.Hour}, nil)
}

func sixtyToOne(ctx context.Context, s settings) error {
	return into(ctx, s, "sixty-to-one", shape{hosts: 4000, metrics: 10, steps: int(7200 * s.scale), step: time.Second, width: time.Minute, streams: 4, perMessage: 1000, back: 22 * time.Hour}, nil)
}

func smallMessages(ctx context.Context, s settings) error {
	return into(ctx, s, "small-messages", shape{hosts: 500, metrics: 100, steps: int(600 * s.scale), step: time.Second, width: 10 * time.Second, streams: 500, perMessage: 1, back: 22 * time.Hour}, nil)
}

func day(ctx context.Context, s settings) error {
	sh := shape{hosts: 500, metrics: 20, steps: int(8280 * s.scale), step: 10 * time.Second, width: 10 * time.Second, streams: 4, perMessage: 125, doubles: true, back: 23*time.Hour + 30*time.Minute}
	return into(ctx, s, "day", sh, func(ctx context.Context, v *server, end time.Time) error {
		return queries(ctx, v, end, "storm_cpu_usage_user", "storm_cpu_usage_system")
	})
}

// queries are the four that the page and dashboards ask for a day, in steps of a minute.
func queries(ctx context.Context, v *server, end time.Time, gauge, counter string) error {
	for _, q := range []string{gauge, "sum(" + gauge + ")", "avg_over_time(" + gauge + "[5m])", "sum(rate(" + counter + "[5m]))"} {
		cpu, err := v.RangeCPU(ctx, v, q, end.Add(-23*time.Hour), end, time.Minute)
		if err != nil {
			return err
		}
		say("CPU of "+q+" over a day", "%.2f s", cpu.Seconds())
	}
	return nil
}

// load is how a shape's rows are sent, beginning at a time.
func (sh shape) load(startMs int64, wire string) bench.Load {
	return bench.Load{Topology: "bench", Clients: sh.streams, RowsPerBatch: sh.perMessage, InFlight: max(4096/sh.streams, 4), // many at once would be answered with FULL
		StartMs: startMs, Step: sh.step, Wire: wire, Lead: 64}
}

func (sh shape) rows() *bench.Rows { return bench.NewRows(1, sh.hosts, sh.metrics, sh.doubles) }

func (sh shape) samples(steps int) int { return sh.hosts * sh.metrics * steps }

// into sends a load into a collector and prints what it cost once all of it is in slices on disk.
func into(ctx context.Context, s settings, name string, sh shape, after func(context.Context, *server, time.Time) error) error {
	v, err := serve(ctx, s, "--slice-width", sh.width.String())
	if err != nil {
		return err
	}
	stepMs := sh.step.Milliseconds()
	startMs := (time.Now().UnixMilli()-sh.back.Milliseconds())/600_000*600_000 + stepMs
	f, err := bench.Connect(ctx, v.target, sh.rows(), sh.load(startMs, s.wire))
	if err != nil {
		return err
	}
	stop := v.profile(s, name)
	if err := f.Define(); err != nil {
		return err
	}
	if err := bench.Await(ctx, sh.hosts*sh.metrics, v.Defined); err != nil {
		return err
	}
	defined, err := v.CPU(ctx)
	if err != nil {
		return err
	}
	begun := time.Now()
	if _, err := f.Send(ctx, sh.steps, 1, time.Time{}); err != nil {
		return err
	}
	if _, err := f.Send(ctx, sh.closing(), 1, time.Time{}); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	acknowledged := time.Since(begun)
	all := sh.samples(sh.steps + sh.closing())
	if err := bench.Await(ctx, sh.samples(sh.steps), v.InSlices); err != nil {
		return err
	}
	sliced := time.Since(begun)
	end := time.UnixMilli(startMs + int64(sh.steps-1)*stepMs)
	beforeCount, err := v.CPU(ctx)
	if err != nil {
		return err
	}
	written := bench.Written{Topology: "bench", Hosts: sh.hosts, Metrics: sh.metrics, StartMs: startMs, Steps: sh.steps, StepMs: stepMs, WidthMs: sh.width.Milliseconds()}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { // a stream may be behind the others
		if err = written.Check(ctx, v.Server); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return err
		}
	}
	afterCount, err := v.CPU(ctx)
	if err != nil {
		return err
	}
	resident, err := v.Resident(ctx)
	if err != nil {
		return err
	}
	if err := stop(); err != nil {
		return err
	}
	if err := v.heap(s, name); err != nil {
		return err
	}
	say("memory when all was in slices", "%d MiB", resident>>20)
	if err := v.sayMemory(ctx, int64(sh.hosts*sh.metrics)); err != nil {
		return err
	}
	cpu, writtenBytes, err := v.End()
	if err != nil {
		return err
	}
	cpu -= afterCount - beforeCount // what the queries cost that count what answers
	say("samples sent", "%d (%d measured, the rest closes their slices)", all, sh.samples(sh.steps))
	say("acknowledged, and in slices, after", "%.1f s and %.1f s by the clock", acknowledged.Seconds(), sliced.Seconds())
	say("CPU until all is on disk", "%.2f s: %.2f M samples a CPU-second, %.1f ns a sample", cpu.Seconds(), float64(all)/1e6/cpu.Seconds(), float64(cpu.Nanoseconds())/float64(all))
	say("of it until all series were defined", "%.2f s; the samples by themselves: %.2f M a CPU-second", (defined - v.Begun).Seconds(),
		float64(all)/1e6/(cpu-(defined-v.Begun)).Seconds())
	data := filepath.Join(s.dir, "data")
	for _, part := range []string{"journal", "embedded", "grid"} {
		if n, err := bench.BytesIn(filepath.Join(data, part)); err == nil && n > 0 {
			say("bytes on disk: "+part, "%.2f a sample (%.1f MiB)", float64(n)/float64(all), float64(n)/(1<<20))
		}
	}
	say("bytes written to the disk", "%.2f a sample", float64(writtenBytes)/float64(all))
	if after == nil {
		return nil
	}
	v, err = serve(ctx, s, "--slice-width", sh.width.String())
	if err != nil {
		return err
	}
	if err := after(ctx, v, end); err != nil {
		return err
	}
	_, _, err = v.End()
	return err
}

// start is how soon a collector of 1,000,000 series is back, after it was killed five minutes after they came.
func start(ctx context.Context, s settings) error {
	more := []string{"--limits-series-per-topology", "1100000"}
	v, err := serve(ctx, s, more...)
	if err != nil {
		return err
	}
	sh := shape{hosts: int(10_000 * s.scale), metrics: 100, steps: 24, step: 10 * time.Second, width: 10 * time.Second, streams: 4, perMessage: 50}
	startMs := time.Now().Add(-time.Hour).UnixMilli() / 10_000 * 10_000
	stop := v.profile(s, "fill")
	if err := fill(ctx, v, startMs, sh, s.wire); err != nil {
		return err
	}
	cpu, err := v.CPU(ctx)
	if err != nil {
		return err
	}
	say("CPU of defining and slicing them", "%.2f s", (cpu - v.Begun).Seconds())
	if err := stop(); err != nil {
		return err
	}
	v.Kill() // no last words: what a crash leaves
	begun := time.Now()
	if v, err = serve(ctx, s, more...); err != nil {
		return err
	}
	say("ready after a kill", "%.2f s, %.2f s of CPU", time.Since(begun).Seconds(), v.Begun.Seconds())
	stop = v.profile(s, "start")
	if err := bench.Await(ctx, sh.samples(sh.steps), v.InSlices); err != nil {
		return err
	}
	took := time.Since(begun)
	if cpu, err = v.CPU(ctx); err != nil {
		return err
	}
	say("all slices there", "%.2f s, %.2f s of CPU", took.Seconds(), cpu.Seconds())
	resident, err := v.Resident(ctx)
	if err != nil {
		return err
	}
	say("memory then", "%d MiB", resident>>20)
	if err := stop(); err != nil {
		return err
	}
	cpu, _, err = v.End()
	say("ended", "%.2f s of CPU in all", (cpu + v.Begun).Seconds())
	return err
}
