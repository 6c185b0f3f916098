package main

import (
	"context"
	"time"
)

// paced is what a collector costs beside a topology that runs as it always does: 500 workers of 100 samples a second over four streams, sent
// as they fall due, one message a worker, spread over the second.
func paced(ctx context.Context, s settings) error {
	v, err := serve(ctx, s, "--slice-width", "10s")
	if err != nil {
		return err
	}
	seconds := max(1, int(60*s.scale))
	l := newLoad(500, 100, seconds, time.Now().UnixMilli(), 1000)
	f, err := connect(ctx, v.grpc, l, 4, 1, s.wire)
	if err != nil {
		return err
	}
	if err := f.define(l); err != nil {
		return err
	}
	if err := f.second(ctx, l, time.Now()); err != nil { // what is learnt of new series is no cost of every second
		return err
	}
	before, err := v.cpu()
	if err != nil {
		return err
	}
	begun := time.Now()
	stop := v.profile(s, "paced")
	for second := range seconds {
		l.next()
		if err := f.second(ctx, l, begun.Add(time.Duration(second)*time.Second)); err != nil {
			return err
		}
	}
	took := time.Since(begun)
	after, err := v.cpu()
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
	if err := f.close(); err != nil {
		return err
	}
	if _, _, err := v.end(); err != nil {
		return err
	}
	all := l.samples()
	say("samples sent", "%d in %.1f s, in %d messages", all, took.Seconds(), seconds*l.hosts)
	say("cores used", "%.3f: %.1f us a message", (after-before).Seconds()/took.Seconds(), float64((after-before).Microseconds())/float64(seconds*l.hosts))
	say("memory", "%d MiB", resident>>20)
	return nil
}

// second sends the present values of all hosts over the second that begins then.
func (f *fleet) second(ctx context.Context, l *load, begins time.Time) error {
	const slots = 50
	for slot := range slots {
		select {
		case <-time.After(time.Until(begins.Add(time.Duration(slot) * time.Second / slots))):
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, s := range f.streams {
			for m := slot; m*f.perMessage < len(s.hosts); m += slots {
				if err := f.sendMessage(l, s, m, begins.UnixMilli()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
