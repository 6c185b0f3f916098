package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/ingest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slicer"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
)

// sampled is a batch of series that each have a value every 10 s, up to end; values gives that of a series at a place
// in time.
func sampled(sequence uint64, end time.Time, series []*pb.SeriesDefinition, places int,
	values func(series, at int) float64) *pb.Batch {
	columns := &pb.SampleColumns{BaseTimeMs: end.UnixMilli() - int64(places)*10_000}
	for i, s := range series {
		s.Id, s.Host, s.Port, s.IntervalMs = uint32(i+1), "h", 6700, 10_000
		for at := range places {
			columns.SeriesIds, columns.TimeOffsetsMs, columns.Values = append(columns.SeriesIds, s.Id),
				append(columns.TimeOffsetsMs, int64(at+1)*10_000), append(columns.Values, values(i, at))
		}
	}
	return &pb.Batch{Epoch: []byte("0123456789abcdef"), Sequence: sequence, OldestHeldSequence: sequence,
		SendTimeMs: time.Now().UnixMilli(), Series: series, Samples: columns}
}

// One absurd value of a counter is refused by name, and its total rises on.
func TestAnAbsurdValueDoesNotFreezeACounter(t *testing.T) {
	r := startCollector(t, settings(t.TempDir()))
	end := time.Now().Add(-time.Minute).Truncate(10 * time.Second)
	r.send(sampled(1, end, []*pb.SeriesDefinition{
		{Component: "DataSource", Task: 1, Name: "bullet_source_records", Shape: pb.Shape_SHAPE_NUMBER,
			Temporality: pb.Temporality_TEMPORALITY_CUMULATIVE},
		{Component: "Own", Task: 2, Name: "own.count", Shape: pb.Shape_SHAPE_NUMBER,
			Temporality: pb.Temporality_TEMPORALITY_CUMULATIVE},
		{Component: "Own", Task: 2, Name: "own.added", Shape: pb.Shape_SHAPE_NUMBER,
			Temporality: pb.Temporality_TEMPORALITY_DELTA},
	}, 12, func(series, at int) float64 {
		switch {
		case at == 4:
			return math.MaxInt64
		case series == 2:
			return 100
		}
		return float64(100 * at)
	}))
	at := end.Add(-20 * time.Second)
	require.Eventually(t, func() bool { return r.number(`count(storm_own_count_total offset 0s)`, at) == 1 },
		30*time.Second, 50*time.Millisecond)
	for name, want := range map[string]float64{"bullet_source_records_total": 900, "storm_own_count_total": 900,
		"storm_own_added_total": 900} {
		assert.Equal(t, want, r.number(name, at), name)
	}
	assert.Equal(t, uint64(3), r.accounts()["refused nonsense"])
}

// A limit of -1 means that there is none: such a value is counted as unlimited, not as refused.
func TestNoLimitIsNoNonsense(t *testing.T) {
	r := startCollector(t, settings(t.TempDir()))
	end := time.Now().Add(-time.Minute).Truncate(10 * time.Second)
	r.send(sampled(1, end, []*pb.SeriesDefinition{
		{Component: "__system", Task: -1, Name: "memory.non-heap.max", Shape: pb.Shape_SHAPE_NUMBER},
		{Component: "__system", Task: -1, Name: "memory.non-heap.used", Shape: pb.Shape_SHAPE_NUMBER},
	}, 12, func(series, _ int) float64 { return -1 }))
	require.Eventually(t, func() bool { return r.accounts()["read"] == 24 }, 30*time.Second, 50*time.Millisecond)
	accounts := r.accounts()
	assert.Equal(t, uint64(12), accounts["left out unlimited"], "%v", accounts)
	assert.Equal(t, uint64(12), accounts["refused nonsense"], "what is used is never below zero: %v", accounts)
	assert.Zero(t, accounts["refused unlimited"])
}

// Two names that become one: the second is refused, in the accounts and in the counter of its worker.
func TestNamesThatCollideAreCounted(t *testing.T) {
	r := startCollector(t, settings(t.TempDir()))
	end := time.Now().Add(-time.Minute).Truncate(10 * time.Second)
	r.send(sampled(1, end, []*pb.SeriesDefinition{
		{Component: "Own", Task: 2, Name: "a.x", Shape: pb.Shape_SHAPE_NUMBER,
			Temporality: pb.Temporality_TEMPORALITY_GAUGE},
		{Component: "Own", Task: 2, Name: "a_x", Shape: pb.Shape_SHAPE_NUMBER,
			Temporality: pb.Temporality_TEMPORALITY_GAUGE},
	}, 12, func(series, _ int) float64 { return float64(series) }))
	require.Eventually(t, func() bool { return r.accounts()["read"] == 24 }, 30*time.Second, 50*time.Millisecond)
	assert.Equal(t, uint64(12), r.accounts()["refused collision"], "%v", r.accounts())
	const counter = `last_over_time(bullet_metrics_collection_%s_total{topology="t",worker="h:6700",%sreason="collision"}[5m])`
	for of, more := range map[string]string{"refused_samples": `metric="storm_a_x",`, "worker_refused_samples": ""} {
		assert.Positive(t, r.number(fmt.Sprintf(counter, of, more), end), of)
	}
}

// The distributions of a backlog that spans hours, handed over at once beside floats of the same times, are all in
// slices and answer.
func TestDistributionsOfABacklog(t *testing.T) {
	r := startCollector(t, settings(t.TempDir()))
	end := time.Now().Add(-time.Minute).Truncate(10 * time.Second)
	const places = 1080 // three hours
	b := sampled(1, end,
		[]*pb.SeriesDefinition{{Component: "Own", Task: 1, Name: "beside", Shape: pb.Shape_SHAPE_NUMBER,
			Temporality: pb.Temporality_TEMPORALITY_GAUGE}},
		places, func(_, at int) float64 { return float64(at) })
	b.Series = append(b.Series, &pb.SeriesDefinition{Id: 2, Host: "h", Port: 6700, IntervalMs: 10_000, Component: "Own",
		Task: 2, Name: "own.latency",
		Shape: pb.Shape_SHAPE_HISTOGRAM, Temporality: pb.Temporality_TEMPORALITY_DELTA})
	for at := range places {
		b.Histograms = append(b.Histograms,
			&pb.HistogramSample{SeriesId: 2, TimeMs: end.UnixMilli() - int64(places-at-1)*10_000, Schema: 3,
				Count: 2, Sum: 1,
				PositiveSpans: []*pb.BucketSpan{{Offset: 0, Length: 1}}, PositiveCounts: []uint64{2}})
	}
	require.Empty(t, r.send(b).GetRejections())
	for _, name := range []string{"storm_own_latency", "storm_beside"} {
		require.Eventually(t, func() bool {
			return r.number(fmt.Sprintf(`count_over_time(%s[4h])`, name), end) >= places-4 // the last ones are open
		}, 30*time.Second, 50*time.Millisecond, "%s: %v", name, r.accounts())
	}
	assert.Zero(t, r.accounts()["refused late"])
}

// A collector that nobody configured takes as many series of a topology as proto/ states, whose numbers are held to the
// door's own.
func TestTheDoorsDefaultsAreTheSettings(t *testing.T) {
	limits, door, slices := config.Default().Limits, ingest.DefaultOptions(), slicer.DefaultOptions()
	assert.Equal(t, door.MaxTopologySeries, limits.SeriesPerTopology)
	assert.Equal(t, door.MaxStreams, limits.Streams)
	assert.Equal(t, door.MaxBatchBytes, limits.BatchBytes)
	assert.Equal(t, door.MaxTopologySamplesPerSecond, limits.SamplesPerSecondPerTopology)
	assert.Equal(t, [2]int{slices.MaxOpenSamples, slices.MaxTopologyOpenSamples},
		[2]int{limits.OpenSamples, limits.OpenSamplesPerTopology})
	assert.Equal(t, config.Default().Slice.Width.Milliseconds(), slices.WidthMs)
	assert.Equal(t, config.Default().Slice.Lateness.Milliseconds(), slices.LatenessMs)
}
