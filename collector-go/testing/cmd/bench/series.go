package main

import (
	"context"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
)

// manySeries raises the limit on series of a topology.
var manySeries = []string{"--limits-series-per-topology", "1100000"}

// memory is what live series take in memory.
func (s *session) memory(name string, series int) scenario {
	sh := shape{hosts: s.sized(series, series, 10_000) / 100, metrics: 100, steps: 12, step: 10 * time.Second,
		width: 10 * time.Second, streams: 4, perMessage: 50, back: 2 * time.Hour}
	return scenario{name: name, what: fmt.Sprintf("memory of %d series", series), goals: []int{9}, scale: sh.String(),
		once: series > 500_000, subjects: []subject{{goal.Ours, func(ctx context.Context, dir string) (figures, error) {
			f, err := s.fill(ctx, dir, sh, manySeries...)
			if err == nil {
				err = rest(ctx)
			}
			if err != nil {
				return nil, err
			}
			return f.end(ctx, s, dir)
		}}, {"victoria", func(ctx context.Context, dir string) (figures, error) {
			h, err := s.hold(ctx, "victoria", dir, sh)
			if err == nil {
				err = rest(ctx)
			}
			if err != nil {
				return nil, err
			}
			return h.end(ctx, dir)
		}}}}
}

// rest lets a server give back what the burst of samples took: its memory is that of live series then.
func rest(ctx context.Context) error {
	select {
	case <-time.After(30 * time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start is how soon a collector that was killed is ready again.
func (s *session) start() scenario {
	sh := shape{hosts: s.sized(2_000, 2_000, 500), metrics: 100, steps: s.sized(60, 12, 12), step: 10 * time.Second,
		width: 10 * time.Second, streams: 4, perMessage: 50, back: time.Hour}
	return scenario{name: goal.Start, what: "ready again after a kill", goals: []int{4},
		scale: fmt.Sprintf("%d series; %s", sh.hosts*sh.metrics, sh), subjects: []subject{{goal.Ours,
			func(ctx context.Context, dir string) (figures, error) {
				f, err := s.fill(ctx, dir, sh, manySeries...)
				if err != nil {
					return nil, err
				}
				f.Kill() // no last words: what a crash leaves
				begun := time.Now()
				v, err := s.serve(ctx, dir, append([]string{"--slice-width", sh.width.String()}, manySeries...)...)
				if err != nil {
					return nil, err
				}
				out := figures{"ready_s": time.Since(begun).Seconds(), "ready_cpu_s": v.Begun.Seconds(),
					"empty_rss_mib": float64(f.empty) / (1 << 20)}
				if err := bench.Await(ctx, sh.samples(), v.InSlices); err != nil {
					return nil, err
				}
				out["all_slices_after_s"] = time.Since(begun).Seconds()
				resident, err := v.Resident(ctx)
				if err != nil {
					return nil, err
				}
				out["rss_mib"] = float64(resident) / (1 << 20)
				_, _, err = v.End()
				return out, err
			}}}}
}
