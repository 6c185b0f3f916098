//go:build page

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
)

// sampledTopology has two workers with a sample per second, in packs of two seconds, as the plugin sends them.
const (
	sampledTopology = "sampled"
	packSpan        = 2 * time.Second
	sampledHistory  = 2 * time.Minute
)

// reportSamples reports the samples of the topology until the test ends. Its second worker stops when somebody requests
// the returned address; the response is the time of its last pack, in Unix ms.
func (r *running) reportSamples() (stop string) {
	var stopped atomic.Bool
	var last atomic.Int64
	began := time.Now().Truncate(time.Second).Add(-sampledHistory)
	next := 0
	send := func(workers int) error {
		to := int(time.Since(began) / time.Second)
		if to == next {
			return nil
		}
		batch := samplesOf(began, next, to, workers)
		next = to
		return r.export("host-0", sampledTopology, batch)
	}
	if err := send(2); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan struct{})
	r.t.Cleanup(func() { <-ended })
	go func() {
		defer close(ended)
		for ctx, due := r.t.Context(), time.Tick(packSpan); ; {
			select {
			case <-ctx.Done():
				return
			case <-due:
			}
			workers := 2
			if stopped.Load() {
				workers = 1
			} else {
				last.Store(time.Now().UnixMilli())
			}
			if err := send(workers); err != nil && ctx.Err() == nil {
				r.t.Errorf("report of %s: %v", sampledTopology, err)
			}
		}
	}()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stopped.Store(true)
		fmt.Fprint(w, last.Load())
	}))
	r.t.Cleanup(server.Close)
	return server.URL
}

// samplesOf are the samples of some workers in some seconds. The first uses 0.25 cores, 100 MiB and 1% of its time for
// garbage collection; the second uses twice as much.
func samplesOf(began time.Time, from, to, workers int) *pb.Batch {
	b := &pb.Batch{Epoch: []byte("sampled-16-bytes"), Sequence: uint64(from + 1), OldestHeldSequence: uint64(from + 1),
		SendTimeMs: time.Now().UnixMilli(),
		Topology:   &pb.TopologyInfo{Name: sampledTopology, Id: sampledTopology + "-1-1800000000", StormVersion: "2.8.3"}}
	gauge, total := pb.Temporality_TEMPORALITY_GAUGE, pb.Temporality_TEMPORALITY_CUMULATIVE
	layout := &pb.Layout{Id: 1}
	var values []float64
	for w := range workers {
		k := float64(w + 1)
		define := func(name string, key []string, kind pb.Temporality, value func(second float64) float64) {
			id := uint32(len(b.Series) + 1)
			b.Series = append(b.Series, &pb.SeriesDefinition{Id: id, Host: fmt.Sprintf("host-%d", w), Port: 6700,
				Component: "__system", Task: -1, Name: name, Key: key, IntervalMs: 1000, Shape: pb.Shape_SHAPE_SAMPLER,
				PackSpanMs: uint32(packSpan.Milliseconds()), Temporality: kind})
			layout.SeriesIds = append(layout.SeriesIds, id)
			for i := from; i < to; i++ {
				values = append(values, value(float64(i)))
			}
		}
		define("cpu.user_ms", nil, total, func(s float64) float64 { return 250 * k * s })
		define("heap.used_bytes", nil, gauge, func(float64) float64 { return 100 * k * (1 << 20) })
		define("gc.time_ms", []string{"G1 Young"}, total, func(s float64) float64 { return 10 * k * s })
	}
	b.Layouts = []*pb.Layout{layout}
	first := began.Add(time.Duration(from)*time.Second - 100*time.Millisecond)
	b.Blocks = []*pb.Block{{LayoutId: 1, FirstTimeMs: first.UnixMilli(), StepMs: 1000, Count: uint32(to - from),
		Codec: pb.ValueCodec_VALUE_CODEC_DOUBLES, Values: block.AppendDoubles(nil, values)}}
	return b
}
