package ingest

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
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
	require.Equal(t, metric.Raw{Worker: metric.Worker{Topology: "t", Host: "h1", Port: 6700},
		Component: "FilterBolt", Task: 3,
		Name: "memory/heap", Key: "a\x00usedBytes", Shape: metric.ShapeNumber, Temporality: metric.Cumulative,
		IntervalMs: 10_000,
		PackSpanMs: 60_000}, raw)
}

func TestHistogramsAreChecked(t *testing.T) {
	good := func() *pb.HistogramSample {
		return &pb.HistogramSample{SeriesId: 1, Schema: 3, ZeroThreshold: 0.0005, ZeroCount: 1, Count: 10, Sum: 3,
			PositiveSpans:  []*pb.BucketSpan{{Offset: -5, Length: 2}, {Offset: 3, Length: 1}},
			PositiveCounts: []uint64{2, 3, 4}}
	}
	require.NoError(t, checkHistogram(good(), true))
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
		require.Error(t, checkHistogram(h, true), name)
	}
	require.Error(t, checkHistogram(good(), false), "a series of numbers")
}

// testTable returns the table of a stream with the given journal and limits.
func testTable(j Journal, limits tableLimits) *table {
	o := DefaultOptions()
	s, err := New(j, o)
	if err != nil {
		panic(err)
	}
	return newTable("t", limits, s)
}

var roomy = tableLimits{series: 1000, layouts: 100, layoutColumns: 10_000}

func TestTableIsBounded(t *testing.T) {
	j := newSlowJournal()
	table := testTable(j, tableLimits{series: 2})
	require.NoError(t, table.add([]*pb.SeriesDefinition{series(1, "a"), series(2, "b"), series(3, "c"),
		series(1, "a")}))
	require.Equal(t, 2, table.slots.known)
	require.Equal(t, pb.RejectionReason_REJECTION_REASON_SERIES_LIMIT, table.refusal(table.slots.get(3)))
	require.NotZero(t, table.slots.get(2).id)
}

// TestSlots checks that scattered ids do not cost more than consecutive ones.
func TestSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s slots
		twin := map[uint32]slot{}
		for range rapid.IntRange(0, 3000).Draw(t, "n") {
			id := rapid.OneOf(rapid.Uint32Range(1, 4000), rapid.Uint32()).Draw(t, "id")
			at := newSlot(journal.SeriesID(rapid.Uint32().Draw(t, "series")), rapid.IntRange(0, 1<<20).Draw(t, "row"),
				rapid.SampledFrom([]kind{number, histogram, limited, bad}).Draw(t, "kind"))
			s.put(id, at)
			twin[id] = at
		}
		require.Equal(t, len(twin), s.known)
		require.LessOrEqual(t, len(s.dense), 2*(len(twin)+sparseSlack))
		for id, at := range twin {
			require.Equal(t, at, s.get(id))
		}
		require.Zero(t, s.get(
			rapid.Uint32Range(5000, 6000).Filter(func(id uint32) bool { return twin[id] == slot{} }).Draw(t, "other")))
	})
}

// TestAStepOfTheClockRefusesNothing checks that a good sample stays good if the collector's clock steps by 12 hours.
func TestAStepOfTheClockRefusesNothing(t *testing.T) {
	start := time.Now()
	c := &clock{start: start, ahead: 10 * time.Minute, maxAge: 24 * time.Hour}
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

// FuzzBatch checks arbitrary batches: there is no panic, and the admitted samples are valid and balance.
func FuzzBatch(f *testing.F) {
	for _, b := range []*pb.Batch{
		{Epoch: make([]byte, 16), Sequence: 1, OldestHeldSequence: 1, Series: []*pb.SeriesDefinition{series(1, "a")},
			Samples: &pb.SampleColumns{BaseTimeMs: 1e12, SeriesIds: []uint32{1, 2}, TimeOffsetsMs: []int64{0, -5},
				Values: []float64{1, math.NaN()}}},
		{Epoch: make([]byte, 16), Sequence: 9, OldestHeldSequence: 3,
			Series: []*pb.SeriesDefinition{{Id: 1, Host: "h", Component: "c", Name: "n",
				Shape: pb.Shape_SHAPE_HISTOGRAM}},
			Histograms: []*pb.HistogramSample{{SeriesId: 1, TimeMs: 1e12, Count: 2, PositiveCounts: []uint64{2},
				PositiveSpans: []*pb.BucketSpan{{Offset: 4, Length: 1}}}}},
		{Epoch: make([]byte, 16), Sequence: 1, OldestHeldSequence: 1, Series: []*pb.SeriesDefinition{series(1, "a"),
			series(2, "b")},
			Layouts: []*pb.Layout{{Id: 1, SeriesIds: []uint32{2, 1, 7}}},
			Blocks: []*pb.Block{{LayoutId: 1, FirstTimeMs: 1e12, StepMs: 1000, Count: 2,
				Codec: pb.ValueCodec_VALUE_CODEC_TRIMMED, Presence: []byte{0x1f},
				Values: block.AppendTrimmed(nil, []float64{1, 2, 3, math.NaN(), 5})}}},
	} {
		encoded, err := proto.Marshal(b)
		require.NoError(f, err)
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		var b pb.Batch
		if proto.Unmarshal(encoded, &b) != nil {
			return
		}
		var a admission
		table := testTable(newSlowJournal(), roomy)
		if a.check(&b, table) != nil {
			return
		}
		allowed := timeRange{newestMs: 2e12}
		require.NoError(t, a.admit(&b, table, allowed, time.UnixMilli(1e12)))
		rejected := 0
		if a.rejected != nil {
			for _, n := range a.rejected.samples {
				rejected += int(n)
			}
		}
		require.Equal(t, a.received, a.batch.Samples()+rejected)
		for i, v := range a.batch.Values {
			require.True(t, finite(v))
			require.LessOrEqual(t, a.batch.TimesMs[i], allowed.newestMs)
			require.GreaterOrEqual(t, a.batch.TimesMs[i], allowed.oldestMs)
			require.NotZero(t, a.batch.IDs[i])
		}
		for i := range a.batch.Blocks {
			b := &a.batch.Blocks[i]
			require.NoError(t, b.Check())
			require.True(t, allowed.covers(&b.Block))
			require.Equal(t, -1, b.FirstNonNumber())
			require.Len(t, table.server.journal.(*slowJournal).layouts[b.Layout-1], b.Columns)
		}
	})
}
