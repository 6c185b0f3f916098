package main

import (
	"context"
	"time"
)

// meetEvery is how often an engine that does not answer is asked what it can do.
const meetEvery = 10 * time.Second

// meet finds out what the engine can do that query.url names, and logs what of ours it cannot. It asks until the engine
// answers: a collector takes samples whoever is there to ask.
func (col *collector) meet(ctx context.Context) error {
	again := time.NewTicker(meetEvery)
	defer again.Stop()
	for warned := false; ; {
		asking, cancel := context.WithTimeout(ctx, meetEvery)
		can, err := col.remote.Abilities(asking)
		cancel()
		if err == nil {
			col.logger.Info("queries are answered by another engine", "version", can.Version, "native_histograms",
				can.NativeHistograms)
			if !can.NativeHistograms {
				col.logger.Warn("the engine of query.url evaluates no native histograms: percentiles of latency have no answer there")
			}
			return nil
		}
		if !warned && ctx.Err() == nil {
			col.logger.Warn("the engine of query.url does not answer; it is asked again until it does", "error", err)
			warned = true
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}
