package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/bench"
)

// server is a process that is measured.
type server struct {
	*bench.Process
	target bench.Target // of a collector
	pprof  string
}

// started are the servers of the scenario at hand.
var started []*bench.Process

// endAll kills what a scenario that failed left behind: the next one begins in its directory.
func endAll() {
	for _, p := range started {
		p.Kill()
	}
	started = nil
}

// serve starts the collector over a directory and waits until it is ready.
func serve(ctx context.Context, s settings, more ...string) (*server, error) {
	v := &server{}
	if s.pprof != "" {
		var err error
		if v.pprof, err = bench.FreeAddress(); err != nil {
			return nil, err
		}
		more = append([]string{"--pprof", v.pprof}, more...)
	}
	if err := os.MkdirAll(s.dir, 0o750); err != nil {
		return nil, err
	}
	var err error
	if v.Process, v.target, err = bench.StartCollector(ctx, s.program, s.dir, more...); err != nil {
		return nil, err
	}
	started = append(started, v.Process)
	return v, nil
}

// startVictoria starts VictoriaMetrics over a directory and waits until it is healthy.
func startVictoria(ctx context.Context, s settings) (*server, error) {
	address, err := bench.FreeAddress()
	if err != nil {
		return nil, err
	}
	p, err := bench.Start(ctx, s.victoria, []string{"-storageDataPath=" + filepath.Join(s.dir, "data"), "-httpListenAddr=" + address,
		"-retentionPeriod=100y", "-search.maxUniqueTimeseries=2000000", "-search.disableCache"}, "http://"+address, "/health", filepath.Join(s.dir, "log"))
	if err != nil {
		return nil, err
	}
	started = append(started, p)
	return &server{Process: p}, nil
}
