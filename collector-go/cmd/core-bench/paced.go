package main

import (
	"context"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/bench"
)

// paced is what a collector costs beside a topology that runs as it always does: 500 workers of 100 samples a second over four streams, sent
// as they fall due, one message a worker, spread over the second.
func paced(ctx context.Context, s settings) error {
	v, err := serve(ctx, s, "--slice-width", "10s")
	if err != nil {
		return err
	}
	seconds := max(1, int(60*s.scale))
	sh := shape{hosts: 500, metrics: 100, steps: seconds, step: time.Second, streams: 4, perMessage: 1}
	f, err := bench.Connect(ctx, v.target, sh.rows(), sh.load(time.Now().UnixMilli(), s.wire))
	if err != nil {
		return err
	}
	if err := f.Define(); err != nil {
		return err
	}
	if err := f.Pace(ctx, time.Now()); err != nil { // what is learnt of new series is no cost of every second
		return err
	}
	before, err := v.CPU(ctx)
	if err != nil {
		return err
	}
	begun := time.Now()
	stop := v.profile(s, "paced")
	for second := range seconds {
		if err := f.Pace(ctx, begun.Add(time.Duration(second)*time.Second)); err != nil {
			return err
		}
	}
	took := time.Since(begun)
	after, err := v.CPU(ctx)
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
	if err := f.Close(); err != nil {
		return err
	}
	if _, _, err := v.End(); err != nil {
		return err
	}
	all := sh.samples(seconds)
	say("samples sent", "%d in %.1f s, in %d messages", all, took.Seconds(), seconds*sh.hosts)
	say("cores used", "%.3f: %.1f us a message", (after-before).Seconds()/took.Seconds(), float64((after-before).Microseconds())/float64(seconds*sh.hosts))
	say("memory", "%d MiB", resident>>20)
	return nil
}
