package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
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
	return into(ctx, s, "day", sh, func(v *server, end time.Time) error {
		return queries(v, end, "storm_cpu_usage_user", "storm_cpu_usage_system")
	})
}

// queries are the four that the page and dashboards ask for a day, in steps of a minute.
func queries(v *server, end time.Time, gauge, counter string) error {
	for _, q := range []string{gauge, "sum(" + gauge + ")", "avg_over_time(" + gauge + "[5m])", "sum(rate(" + counter + "[5m]))"} {
		cpu, err := v.rangeCPU(q, end.Add(-23*time.Hour), end, time.Minute)
		if err != nil {
			return err
		}
		say("CPU of "+q+" over a day", "%.2f s", cpu.Seconds())
	}
	return nil
}

// into sends a load into a collector and prints what it cost once all of it is in slices on disk.
func into(ctx context.Context, s settings, name string, sh shape, after func(*server, time.Time) error) error {
	v, err := serve(ctx, s, "--slice-width", sh.width.String())
	if err != nil {
		return err
	}
	stepMs := sh.step.Milliseconds()
	startMs := (time.Now().UnixMilli()-sh.back.Milliseconds())/600_000*600_000 + stepMs
	l := newLoad(sh.hosts, sh.metrics, sh.steps, startMs, stepMs)
	l.doubles = sh.doubles
	f, err := connect(ctx, v.grpc, l, sh.streams, sh.perMessage, s.wire)
	if err != nil {
		return err
	}
	stop := v.profile(s, name)
	if err := f.define(l); err != nil {
		return err
	}
	if err := v.awaitDefined(ctx, sh.hosts*sh.metrics); err != nil {
		return err
	}
	defined, err := v.cpu()
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := f.sendSteps(l, sh.steps+sh.closing()); err != nil {
		return err
	}
	if err := f.close(); err != nil {
		return err
	}
	acknowledged := time.Since(begun)
	all := sh.hosts * sh.metrics * (sh.steps + sh.closing())
	if err := v.awaitSliced(ctx, l.samples()); err != nil {
		return err
	}
	sliced := time.Since(begun)
	end := time.UnixMilli(startMs + int64(sh.steps-1)*stepMs)
	beforeCount, err := v.cpu()
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { // a stream may be behind the others
		if err = counted(v, l, sh, startMs); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return err
		}
	}
	afterCount, err := v.cpu()
	if err != nil {
		return err
	}
	resident, err := v.residentBytes()
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
	if err := v.sayMemory(int64(sh.hosts * sh.metrics)); err != nil {
		return err
	}
	cpu, written, err := v.end()
	if err != nil {
		return err
	}
	cpu -= afterCount - beforeCount // what the queries cost that count what answers
	say("samples sent", "%d (%d measured, the rest closes their slices)", all, l.samples())
	say("acknowledged, and in slices, after", "%.1f s and %.1f s by the clock", acknowledged.Seconds(), sliced.Seconds())
	say("CPU until all is on disk", "%.2f s: %.2f M samples a CPU-second, %.1f ns a sample", cpu.Seconds(), float64(all)/1e6/cpu.Seconds(), float64(cpu.Nanoseconds())/float64(all))
	say("of it until all series were defined", "%.2f s; the samples by themselves: %.2f M a CPU-second", (defined - v.begun).Seconds(),
		float64(all)/1e6/(cpu-(defined-v.begun)).Seconds())
	data := filepath.Join(s.dir, "data")
	for _, part := range []string{"journal", "embedded", "grid"} {
		if n, err := bytesIn(filepath.Join(data, part)); err == nil && n > 0 {
			say("bytes on disk: "+part, "%.2f a sample (%.1f MiB)", float64(n)/float64(all), float64(n)/(1<<20))
		}
	}
	say("bytes written to the disk", "%.2f a sample", float64(written)/float64(all))
	if after == nil {
		return nil
	}
	v, err = serve(ctx, s, "--slice-width", sh.width.String())
	if err != nil {
		return err
	}
	if err := after(v, end); err != nil {
		return err
	}
	_, _, err = v.end()
	return err
}

// counted compares what answers with what was sent: the count of slices, and the sum where each sample is its own slice.
func counted(v *server, l *load, sh shape, startMs int64) error {
	perSlice := int(max(1, sh.width/sh.step))
	if sh.steps < perSlice {
		return fmt.Errorf("%d steps fill no slice", sh.steps)
	}
	// Whole slices only: the first one begins at a multiple of the width.
	slices := sh.steps / perSlice
	first := (startMs + sh.width.Milliseconds() - 1) / sh.width.Milliseconds() * sh.width.Milliseconds()
	last := time.UnixMilli(first + int64(slices-1)*sh.width.Milliseconds())
	window := last.UnixMilli() - first + 1
	for metric := range sh.metrics {
		if err := v.counts(fmt.Sprintf("storm_%s", storedName(metric)), window, last, sh.hosts*slices); err != nil {
			return err
		}
	}
	return nil
}

// storedName is what the collector makes of a field's name.
func storedName(metric int) string { return strings.ReplaceAll(fieldName(metric), ".", "_") }

// counts holds how many points of a metric answer against how many there should be.
func (v *server) counts(name string, windowMs int64, last time.Time, want int) error {
	got, err := v.query(fmt.Sprintf("sum(count_over_time(%s[%dms]))", name, windowMs), last)
	if err == nil && int(got) != want {
		err = fmt.Errorf("%d points of %s answer, %d were sent", int(got), name, want)
	}
	return err
}

// start is how soon a collector of 1,000,000 series is back, after it was killed five minutes after they came.
func start(ctx context.Context, s settings) error {
	more := []string{"--limits-series-per-topology", "1100000"}
	v, err := serve(ctx, s, more...)
	if err != nil {
		return err
	}
	sh := shape{hosts: int(10_000 * s.scale), metrics: 100, steps: 24, step: 10 * time.Second, width: 10 * time.Second}
	l := newLoad(sh.hosts, sh.metrics, sh.steps, time.Now().Add(-time.Hour).UnixMilli()/10_000*10_000, sh.step.Milliseconds())
	stop := v.profile(s, "fill")
	if err := fill(ctx, v, l, sh, s.wire); err != nil {
		return err
	}
	cpu, err := v.cpu()
	if err != nil {
		return err
	}
	say("CPU of defining and slicing them", "%.2f s", (cpu - v.begun).Seconds())
	if err := stop(); err != nil {
		return err
	}
	if err := v.command.Process.Kill(); err != nil { // no last words: what a crash leaves
		return err
	}
	_ = v.command.Wait()
	begun := time.Now()
	if v, err = serve(ctx, s, more...); err != nil {
		return err
	}
	say("ready after a kill", "%.2f s, %.2f s of CPU", time.Since(begun).Seconds(), v.begun.Seconds())
	stop = v.profile(s, "start")
	if err := v.awaitSliced(ctx, l.samples()); err != nil {
		return err
	}
	took := time.Since(begun)
	if cpu, err = v.cpu(); err != nil {
		return err
	}
	say("all slices there", "%.2f s, %.2f s of CPU", took.Seconds(), cpu.Seconds())
	resident, err := v.residentBytes()
	if err != nil {
		return err
	}
	say("memory then", "%d MiB", resident>>20)
	if err := stop(); err != nil {
		return err
	}
	cpu, _, err = v.end()
	say("ended", "%.2f s of CPU in all", (cpu + v.begun).Seconds())
	return err
}
