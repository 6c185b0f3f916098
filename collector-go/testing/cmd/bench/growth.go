package main

import (
	"context"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
)

// growth is the scenarios of goal 9: the same messages each time, of 1,000 samples (of 100 where senders grow), and
// what a sample costs without defining the series.
func (s *session) growth() (all []scenario) {
	for _, g := range goal.Growth {
		for _, size := range g.Sizes {
			all = append(all, s.grown(g.Name, size))
		}
	}
	return all
}

func (s *session) grown(name string, size int) scenario {
	o := bench.Ingest{Seed: s.seed, Hosts: 100, Metrics: 100, RowsPerBatch: 10, InFlight: 16, Step: 10 * time.Second,
		Width: 10 * time.Second, WorkerSamples: 100, Program: s.program}
	clients, samples := 1, s.sized(4_000_000, 1_500_000, 100_000)
	switch name {
	case "series":
		o.Hosts = size / o.Metrics
	case "senders":
		o.Hosts, o.RowsPerBatch, o.InFlight, clients = 1000, 1, max(1, 1024/size), size
	}
	steps := max(12, samples/(o.Hosts*o.Metrics))
	o.MostRows = steps * o.Hosts
	return scenario{name: goal.GrowthScenario(name, size), what: fmt.Sprintf("CPU per sample: %s %d", name, size),
		goals: []int{9}, scale: fmt.Sprintf("%d samples of %d series", o.MostRows*o.Metrics, o.Hosts*o.Metrics),
		subjects: []subject{{goal.Ours, func(ctx context.Context, dir string) (figures, error) {
			own := o
			own.Dir = dir
			r, err := own.Measure(ctx, clients)
			if err != nil {
				return nil, err
			}
			return figures{goal.Cost: r.CPUSeconds * 1e9 / float64(r.Samples),
				"definitions_cpu_s": r.DefiningCPUSeconds, "samples": float64(r.Samples), "rss_mib": r.ServerMiB,
				"rows_per_s": r.RowsPerS}, nil
		}}}}
}
