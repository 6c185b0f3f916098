package main

import (
	"context"
	"os"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// raised are the limits and settings that differ from their defaults.
var raised = []string{
	"ours: limits.streams 2000 (a topology alone may have two thirds); limits.series_per_topology 1,100,000 for memory and start, twice the series elsewhere from 250,000 on; built-in rules with recorded traffic only",
	"VictoriaMetrics: -retentionPeriod=100y, -search.maxUniqueTimeseries=2000000, -search.disableCache, so that no answer is kept; -streamAggr.config with count_samples and sum_samples, and -search.latencyOffset=1s, where ours puts several samples into a slice",
	"QuestDB: all listeners except HTTP are off, and so is its telemetry",
	"InfluxDB: no log of requests, no monitoring of itself, no reporting",
}

// server is our collector, as it is measured.
type server struct {
	*bench.Process
	target bench.Target
	pprof  string
}

// started are the servers of the measurement at hand.
var started []*bench.Process

// endAll kills what a measurement left behind.
func endAll() {
	for _, p := range started {
		p.Kill()
	}
	started = nil
}

// serve starts the collector over a directory and waits until it is ready.
func (s *session) serve(ctx context.Context, dir string, more ...string) (*server, error) {
	v := &server{}
	if s.profiles != "" {
		var err error
		if v.pprof, err = bench.FreeAddress(); err != nil {
			return nil, err
		}
		more = append([]string{"--pprof", v.pprof}, more...)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	var err error
	if v.Process, v.target, err = bench.StartCollector(ctx, s.program, dir, more...); err != nil {
		return nil, err
	}
	started = append(started, v.Process)
	return v, nil
}
