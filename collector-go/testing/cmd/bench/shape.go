package main

import (
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/peer"
)

// shape is a load and how it is sent.
type shape struct {
	hosts, metrics, steps int
	step, width           time.Duration
	streams, perMessage   int
	recorded              bool
	back                  time.Duration // how far before now it begins
}

// topology is under which name ours stores a load.
const topology = "bench"

// begin is the time of the first row, a whole slice after a multiple of ten minutes.
func (sh shape) begin(now time.Time) int64 {
	return (now.UnixMilli()-sh.back.Milliseconds())/600_000*600_000 + sh.step.Milliseconds()
}

// load is how a shape's rows are sent to ours, beginning at a time.
func (sh shape) load(startMs int64) bench.Load {
	// many at once would be answered with FULL
	return bench.Load{Topology: topology, Clients: sh.streams, RowsPerBatch: sh.perMessage,
		InFlight: max(4096/sh.streams, 4),
		StartMs:  startMs, Step: sh.step, Lead: 64}
}

// toPeer is how they are sent to a peer.
func (sh shape) toPeer(startMs int64) peer.Load {
	return peer.Load{Connections: sh.streams, PerRequest: sh.perMessage, StartMs: startMs, Step: sh.step,
		Steps: sh.steps}
}

func (sh shape) rows(seed uint64) *bench.Rows {
	if sh.recorded {
		return recordedRows(seed, sh.hosts, sh.metrics)
	}
	return bench.NewRows(seed, sh.hosts, sh.metrics)
}

func (sh shape) samples() int { return sh.hosts * sh.metrics * sh.steps }

// String is the shape's scale.
func (sh shape) String() string {
	return fmt.Sprintf("%d samples: %d hosts x %d metrics x %s every %s", sh.samples(), sh.hosts, sh.metrics,
		time.Duration(sh.steps)*sh.step, sh.step)
}
