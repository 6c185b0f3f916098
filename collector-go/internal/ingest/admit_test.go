package ingest

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

func TestDefinitionsAreChecked(t *testing.T) {
	long := strings.Repeat("x", maxNameBytes+1)
	for name, bad := range map[string]func(*pb.SeriesDefinition){
		"empty name":          func(d *pb.SeriesDefinition) { d.Name = "" },
		"long name":           func(d *pb.SeriesDefinition) { d.Name = long },
		"not UTF-8":           func(d *pb.SeriesDefinition) { d.Name = "a\xff" },
		"NUL in name":         func(d *pb.SeriesDefinition) { d.Name = "a\x00b" },
		"empty component":     func(d *pb.SeriesDefinition) { d.Component = "" },
		"empty host":          func(d *pb.SeriesDefinition) { d.Host = "" },
		"port":                func(d *pb.SeriesDefinition) { d.Port = 65_536 },
		"NUL in key":          func(d *pb.SeriesDefinition) { d.Key = []string{"a", "b\x00c"} },
		"empty key":           func(d *pb.SeriesDefinition) { d.Key = []string{""} },
		"deep key":            func(d *pb.SeriesDefinition) { d.Key = make([]string, maxKeyDepth+1) },
		"unknown shape":       func(d *pb.SeriesDefinition) { d.Shape = 99 },
		"unknown temporality": func(d *pb.SeriesDefinition) { d.Temporality = -1 },
	} {
		d := series(1, "heap")
		bad(d)
		_, err := rawSeries("t", d)
		require.Error(t, err, name)
		require.Less(t, len(err.Error()), 300, "an attacker's name does not flood the answer")
	}
	d := series(1, "memory/heap")
	d.Key, d.PackSpanMs, d.Temporality = []string{"a", "usedBytes"}, 60_000, pb.Temporality_TEMPORALITY_CUMULATIVE
	raw, err := rawSeries("t", d)
	require.NoError(t, err)
	require.Equal(t, metric.Raw{Worker: metric.Worker{Topology: "t", Host: "h1", Port: 6700}, Component: "FilterBolt", Task: 3,
		Name: "memory/heap", Key: "a\x00usedBytes", Shape: metric.ShapeNumber, Temporality: metric.Cumulative, IntervalMs: 10_000,
		PackSpanMs: 60_000}, raw)
}

func TestHistogramsAreChecked(t *testing.T) {
	good := func() *pb.HistogramSample {
		return &pb.HistogramSample{SeriesId: 1, Schema: 3, ZeroThreshold: 0.0005, ZeroCount: 1, Count: 10, Sum: 3,
			PositiveSpans:  []*pb.BucketSpan{{Offset: -5, Length: 2}, {Offset: 3, Length: 1}},
			PositiveCounts: []uint64{2, 3, 4}}
	}
	require.NoError(t, checkHistogram(good(), known{histogram: true}))
	for name, bad := range map[string]func(*pb.HistogramSample){
		"schema":         func(h *pb.HistogramSample) { h.Schema = 9 },
		"sum":            func(h *pb.HistogramSample) { h.Sum = math.NaN() },
		"zero threshold": func(h *pb.HistogramSample) { h.ZeroThreshold = -1 },
		"count":          func(h *pb.HistogramSample) { h.Count++ },
		"overflow":       func(h *pb.HistogramSample) { h.PositiveCounts[0], h.PositiveCounts[1] = math.MaxUint64, 10 },
		"too few counts": func(h *pb.HistogramSample) { h.PositiveCounts = h.PositiveCounts[:2] },
		"span goes back": func(h *pb.HistogramSample) { h.PositiveSpans[1].Offset = -1 },
		"long span":      func(h *pb.HistogramSample) { h.PositiveSpans[1].Length = math.MaxUint32 },
		"far span":       func(h *pb.HistogramSample) { h.PositiveSpans[0].Offset = math.MinInt32 },
	} {
		h := good()
		bad(h)
		require.Error(t, checkHistogram(h, known{histogram: true}), name)
	}
	require.Error(t, checkHistogram(good(), known{}), "a series of numbers")
}

func TestTableIsBounded(t *testing.T) {
	j := newSlowJournal()
	table := newTable("t", 2, j.Define)
	require.NoError(t, table.add([]*pb.SeriesDefinition{series(1, "a"), series(2, "b"), series(3, "c"), series(1, "a")}))
	require.Len(t, table.series, 2)
	require.Equal(t, pb.RejectionReason_REJECTION_REASON_SERIES_LIMIT, table.lookUp(3).reason)
	require.NotZero(t, table.lookUp(2).id)
}

// TestAStepOfTheClockRefusesNothing steps the collector's clock by 12 hours either way: a good sample stays good.
func TestAStepOfTheClockRefusesNothing(t *testing.T) {
	start := time.Now()
	c := newClock(func() time.Time { return start }, 10*time.Minute, 24*time.Hour)
	for _, step := range []time.Duration{-12 * time.Hour, -time.Second, time.Second, 12 * time.Hour} {
		stepped := start.Add(time.Minute).Round(0).Add(step) // Round drops the monotonic reading
		allowed := c.allowed(stepped)
		for _, sampleMs := range []int64{stepped.UnixMilli(), stepped.Add(-time.Hour).UnixMilli()} {
			require.LessOrEqual(t, sampleMs, allowed.newestMs)
			require.GreaterOrEqual(t, sampleMs, allowed.oldestMs)
		}
	}
}

func TestSkewIsTheLeastDifference(t *testing.T) {
	var s skew
	now := time.Unix(1000, 0)
	at := func(second int, difference time.Duration) time.Duration {
		return s.observe(now.Add(time.Duration(second)*time.Second), difference)
	}
	require.Equal(t, 5*time.Second, at(0, 5*time.Second))
	require.Equal(t, 2*time.Second, at(10, 2*time.Second))
	require.Equal(t, 2*time.Second, at(20, 9*time.Second))
	require.Equal(t, 2*time.Second, at(70, 9*time.Second))
	require.Equal(t, 9*time.Second, at(131, 9*time.Second), "two minutes later the old least is forgotten")
}

// FuzzBatch feeds the door what a sender could send: no panic, and what is admitted is sound and adds up.
func FuzzBatch(f *testing.F) {
	for _, b := range []*pb.Batch{
		{Epoch: make([]byte, 16), Sequence: 1, OldestHeldSequence: 1, Series: []*pb.SeriesDefinition{series(1, "a")},
			Samples: &pb.SampleColumns{BaseTimeMs: 1e12, SeriesIds: []uint32{1, 2}, TimeOffsetsMs: []int64{0, -5}, Values: []float64{1, math.NaN()}}},
		{Epoch: make([]byte, 16), Sequence: 9, OldestHeldSequence: 3,
			Series: []*pb.SeriesDefinition{{Id: 1, Host: "h", Component: "c", Name: "n", Shape: pb.Shape_SHAPE_HISTOGRAM}},
			Histograms: []*pb.HistogramSample{{SeriesId: 1, TimeMs: 1e12, Count: 2, PositiveCounts: []uint64{2},
				PositiveSpans: []*pb.BucketSpan{{Offset: 4, Length: 1}}}}},
	} {
		encoded, err := proto.Marshal(b)
		require.NoError(f, err)
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		var b pb.Batch
		if proto.Unmarshal(encoded, &b) != nil || checkBatch(&b) != nil {
			return
		}
		table := newTable("t", 100, newSlowJournal().Define)
		if table.add(b.GetSeries()) != nil {
			return
		}
		allowed := timeRange{newestMs: 2e12}
		a := admit(&b, table, allowed, time.UnixMilli(1e12))
		rejected := 0
		for _, n := range a.rejected.samples {
			rejected += int(n)
		}
		require.Equal(t, a.received, a.batch.Samples()+rejected)
		for i, v := range a.batch.Values {
			require.True(t, finite(v))
			require.LessOrEqual(t, a.batch.TimesMs[i], allowed.newestMs)
			require.GreaterOrEqual(t, a.batch.TimesMs[i], allowed.oldestMs)
			require.NotZero(t, a.batch.IDs[i])
		}
	})
}
