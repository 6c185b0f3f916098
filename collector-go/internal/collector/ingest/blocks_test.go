package ingest

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"pgregory.net/rapid"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// cell is a sample as the journal received it.
type cell struct {
	name   string
	timeMs int64
	value  float64
}

// keptJournal is a journal in memory that keeps what it receives.
type keptJournal struct {
	*slowJournal
	batches   []*journal.Batch
	forget    map[journal.SeriesID]bool
	noLayouts bool
}

func newKeptJournal() *keptJournal {
	return &keptJournal{slowJournal: newSlowJournal(), forget: map[journal.SeriesID]bool{}}
}

func (k *keptJournal) DefineLayout(series []journal.SeriesID) (journal.LayoutID, error) {
	for _, id := range series {
		if k.forget[id] {
			return 0, journal.ErrForgotten
		}
	}
	if k.noLayouts {
		return 0, journal.ErrLayoutLimit
	}
	return k.slowJournal.DefineLayout(series)
}

// forgetAll assigns another id to every series.
func (k *keptJournal) forgetAll() {
	for raw, id := range k.ids {
		k.forget[id] = true
		delete(k.ids, raw)
	}
}

func (k *keptJournal) DefineAll(to []journal.SeriesID, series []metric.Raw, mostNew int) []journal.SeriesID {
	for _, r := range series {
		if _, known := k.ids[r]; !known && mostNew > 0 {
			mostNew--
			k.ids[r] = journal.SeriesID(len(k.ids) + len(k.forget) + 1)
		}
		to = append(to, k.ids[r])
	}
	return to
}

func (k *keptJournal) Append(b *journal.Batch, done func(error)) (bool, error) {
	for _, id := range k.used(b) {
		if k.forget[id] {
			return false, journal.ErrForgotten
		}
	}
	k.batches = append(k.batches, b)
	done(nil)
	return false, nil
}

func (k *keptJournal) used(b *journal.Batch) []journal.SeriesID {
	used := append([]journal.SeriesID(nil), b.IDs...)
	for _, of := range b.Blocks {
		used = append(used, k.layouts[of.Layout-1]...)
	}
	for _, h := range b.Histograms {
		used = append(used, journal.SeriesID(h.GetSeriesId()))
	}
	return used
}

// cells returns all samples that were received, except histograms.
func (k *keptJournal) cells() (all []cell) {
	names := map[journal.SeriesID]string{}
	for raw, id := range k.ids {
		names[id] = raw.Name
	}
	for _, b := range k.batches {
		for i, id := range b.IDs {
			all = append(all, cell{names[id], b.TimesMs[i], b.Values[i]})
		}
		for i := range b.Blocks {
			of := &b.Blocks[i]
			values, next := of.Floats(nil), 0
			for column, id := range k.layouts[of.Layout-1] {
				for row := range of.Rows {
					if of.Present(column*of.Rows + row) {
						all = append(all, cell{names[id], of.TimeMs(row), values[next]})
						next++
					}
				}
			}
		}
	}
	return all
}

func localOn(t require.TestingT, j Journal, change func(*Options)) (*Server, *Local) {
	o := DefaultOptions()
	if change != nil {
		change(&o)
	}
	s, err := New(j, o)
	require.NoError(t, err)
	l, err := s.Local(&pb.Open{Topology: "bullet", Host: "h1"}, journal.Epoch{1})
	require.NoError(t, err)
	return s, l
}

const layoutOf3 = 5

// threeSeries returns the definitions of a, b and c and of their layout.
func threeSeries() *pb.Batch {
	return &pb.Batch{Series: []*pb.SeriesDefinition{series(1, "a"), series(2, "b"), series(3, "c")},
		Layouts: []*pb.Layout{{Id: layoutOf3, SeriesIds: []uint32{1, 2, 3}}}}
}

// blockOf returns two rows of three series, from nowMs on.
func blockOf(nowMs int64, values ...float64) *pb.Block {
	return &pb.Block{LayoutId: layoutOf3, FirstTimeMs: nowMs, StepMs: 1000, Count: uint32(len(values) / 3),
		Codec:  pb.ValueCodec_VALUE_CODEC_DOUBLES,
		Values: block.AppendDoubles(nil, values)}
}

func TestAGoodBlockIsHandedOnAsItCame(t *testing.T) {
	k := newKeptJournal()
	s, l := localOn(t, k, nil)
	defer l.Close()
	now := time.Now().UnixMilli()
	b := threeSeries()
	for range 2 {
		b.Blocks = []*pb.Block{blockOf(now, 1, 2, 3, 4, 5, 6)}
		rejected, err := l.Send(t.Context(), b)
		require.NoError(t, err)
		require.Empty(t, rejected)
		given := k.batches[len(k.batches)-1].Blocks
		require.Len(t, given, 1)
		require.Same(t, &b.Blocks[0].Values[0], &given[0].Values[0], "the values were not copied")
		b = &pb.Batch{}
	}
	want := []cell{{"a", now, 1}, {"a", now + 1000, 2}, {"b", now, 3}, {"b", now + 1000, 4}, {"c", now, 5},
		{"c", now + 1000, 6}}
	require.Equal(t, append(want, want...), k.cells())
	require.Equal(t, uint64(12), s.Totals().Journaled)
	require.Zero(t, s.Totals().Balance())
}

// TestCellsAreRejectedByName checks each reason for which a sample in a block is rejected. The rest of the block is
// accepted.
func TestCellsAreRejectedByName(t *testing.T) {
	const day = 86_400_000
	now := time.Now().UnixMilli()
	nan := math.NaN()
	for name, test := range map[string]struct {
		change func(*pb.Batch)
		limit  int // limit of the topology's series
		want   map[pb.RejectionReason]uint64
		taken  []cell
	}{
		"no number": {change: func(b *pb.Batch) { b.Blocks = []*pb.Block{blockOf(now, 1, nan, math.Inf(-1), 4, 5, 6)} },
			want:  map[pb.RejectionReason]uint64{pb.RejectionReason_REJECTION_REASON_NOT_A_NUMBER: 2},
			taken: []cell{{"a", now, 1}, {"b", now + 1000, 4}, {"c", now, 5}, {"c", now + 1000, 6}}},
		"too old": {change: func(b *pb.Batch) {
			b.Blocks = []*pb.Block{blockOf(now-5*day/4, 1, 2, 3, 4, 5, 6)}
			b.Blocks[0].StepMs = day / 2
		},
			want:  map[pb.RejectionReason]uint64{pb.RejectionReason_REJECTION_REASON_TOO_OLD: 3},
			taken: []cell{{"a", now - 3*day/4, 2}, {"b", now - 3*day/4, 4}, {"c", now - 3*day/4, 6}}},
		"future": {change: func(b *pb.Batch) {
			b.Blocks = []*pb.Block{blockOf(now, 1, 2, 3, 4, 5, 6)}
			b.Blocks[0].TimeOffsetsMs = []int32{0, 3_600_000}
		},
			want:  map[pb.RejectionReason]uint64{pb.RejectionReason_REJECTION_REASON_FUTURE: 3},
			taken: []cell{{"a", now, 1}, {"b", now, 3}, {"c", now, 5}}},
		"unknown series": {change: func(b *pb.Batch) {
			b.Series = b.Series[:2]
			b.Blocks = []*pb.Block{blockOf(now, 1, 2, 3)}
		},
			want:  map[pb.RejectionReason]uint64{pb.RejectionReason_REJECTION_REASON_UNKNOWN_SERIES: 1},
			taken: []cell{{"a", now, 1}, {"b", now, 2}}},
		"bad series": {change: func(b *pb.Batch) {
			b.Series[0].Name = ""
			b.Blocks = []*pb.Block{blockOf(now, 1, 2, 3)}
		},
			want:  map[pb.RejectionReason]uint64{pb.RejectionReason_REJECTION_REASON_BAD_SERIES: 1},
			taken: []cell{{"b", now, 2}, {"c", now, 3}}},
		"series limit": {change: func(b *pb.Batch) { b.Blocks = []*pb.Block{blockOf(now, 1, 2, 3)} }, limit: 2,
			want:  map[pb.RejectionReason]uint64{pb.RejectionReason_REJECTION_REASON_SERIES_LIMIT: 1},
			taken: []cell{{"a", now, 1}, {"b", now, 2}}},
		"series of histograms": {change: func(b *pb.Batch) {
			b.Series[1].Shape = pb.Shape_SHAPE_HISTOGRAM
			b.Blocks = []*pb.Block{blockOf(now, 1, 2, 3)}
		},
			want:  map[pb.RejectionReason]uint64{pb.RejectionReason_REJECTION_REASON_BAD_HISTOGRAM: 1},
			taken: []cell{{"a", now, 1}, {"c", now, 3}}},
		"nothing is left": {change: func(b *pb.Batch) { b.Blocks = []*pb.Block{blockOf(now, nan, nan, nan)} },
			want: map[pb.RejectionReason]uint64{pb.RejectionReason_REJECTION_REASON_NOT_A_NUMBER: 3}},
		"missing cells and two reasons": {change: func(b *pb.Batch) {
			b.Series = b.Series[:2]
			b.Blocks = []*pb.Block{blockOf(now, 1, nan, 3, 4, 5, 6)}
			b.Blocks[0].Presence, b.Blocks[0].Values = []byte{0b110111},
				block.AppendDoubles(nil, []float64{1, nan, 3, 5, 6})
		},
			want: map[pb.RejectionReason]uint64{pb.RejectionReason_REJECTION_REASON_NOT_A_NUMBER: 1,
				pb.RejectionReason_REJECTION_REASON_UNKNOWN_SERIES: 2},
			taken: []cell{{"a", now, 1}, {"b", now, 3}}},
	} {
		for _, noLayouts := range []bool{false, true} {
			k := newKeptJournal()
			k.noLayouts = noLayouts
			s, l := localOn(t, k, func(o *Options) {
				if test.limit > 0 {
					o.MaxTopologySeries, o.MaxStreamSeries = test.limit, 100
				}
			})
			b := threeSeries()
			test.change(b)
			rejected, err := l.Send(t.Context(), b)
			require.NoError(t, err, name)
			got := map[pb.RejectionReason]uint64{}
			for _, r := range rejected {
				require.NotEmpty(t, r.GetExample(), name)
				got[r.GetReason()] = r.GetSamples()
			}
			require.Equal(t, test.want, got, name)
			require.Equal(t, test.taken, k.cells(), name)
			require.Zero(t, s.Totals().Balance(), name)
			l.Close()
		}
	}
}

// TestABlockIsTakenAsItsColumnsAre checks that a block is admitted cell by cell like the same samples in columns,
// whatever is wrong with it.
func TestABlockIsTakenAsItsColumnsAre(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	rapid.Check(t, func(t *rapid.T) {
		columns, rows := rapid.IntRange(1, 6).Draw(t, "columns"), rapid.IntRange(1, 5).Draw(t, "rows")
		definitions, asColumns := &pb.Batch{Layouts: []*pb.Layout{{Id: 1}}}, &pb.SampleColumns{}
		of := &pb.Block{LayoutId: 1, Count: uint32(rows),
			StepMs: uint32(rapid.SampledFrom([]int{1000, 400_000, 50_000_000}).Draw(t, "step")),
			Codec:  pb.ValueCodec(rapid.IntRange(1, 2).Draw(t, "codec")), Presence: make([]byte, (columns*rows+7)/8)}
		of.FirstTimeMs = now.UnixMilli() - rapid.SampledFrom([]int64{0, 86_000_000, 90_000_000}).Draw(t, "age")
		var values []float64
		for column := range columns {
			id := uint32(column + 1)
			definitions.Layouts[0].SeriesIds = append(definitions.Layouts[0].SeriesIds, id)
			d := series(id, rapid.SampledFrom([]string{"x", "y", "", "z"}).Draw(t, "name"))
			d.Task = int32(column)
			if rapid.IntRange(0, 5).Draw(t, "histogram") == 0 {
				d.Shape = pb.Shape_SHAPE_HISTOGRAM
			}
			if rapid.IntRange(0, 5).Draw(t, "undefined") > 0 {
				definitions.Series = append(definitions.Series, d)
			}
			for row := range rows {
				if rapid.IntRange(0, 3).Draw(t, "missing") == 0 {
					continue
				}
				at := column*rows + row
				of.Presence[at/8] |= 1 << (at % 8)
				value := rapid.SampledFrom([]float64{0, 1, 2.5, math.NaN(), math.Inf(1)}).Draw(t, "value")
				values = append(values, value)
				asColumns.SeriesIds = append(asColumns.SeriesIds, id)
				asColumns.TimeOffsetsMs = append(asColumns.TimeOffsetsMs, of.FirstTimeMs+int64(row)*int64(of.StepMs))
				asColumns.Values = append(asColumns.Values, value)
			}
		}
		if of.Codec == pb.ValueCodec_VALUE_CODEC_TRIMMED {
			of.Values = block.AppendTrimmed(nil, values)
		} else {
			of.Values = block.AppendDoubles(nil, values)
		}
		var taken [2][]cell
		var totals [2]Totals
		for way := range taken {
			k := newKeptJournal()
			k.noLayouts = rapid.Bool().Draw(t, "noLayouts")
			s, l := localOn(t, k, func(o *Options) { o.Now = func() time.Time { return now } })
			b := &pb.Batch{Series: definitions.Series, Layouts: definitions.Layouts, Blocks: []*pb.Block{of}}
			if way == 1 {
				b.Blocks, b.Samples = nil, asColumns
			}
			for range 2 { // the second time, the layout is known
				_, err := l.Send(t.Context(), b)
				require.NoError(t, err)
				b = &pb.Batch{Blocks: b.Blocks, Samples: b.Samples}
			}
			taken[way], totals[way] = k.cells(), s.Totals()
		}
		require.Equal(t, taken[1], taken[0])
		require.Equal(t, totals[1], totals[0])
	})
}

// TestWhatWasForgottenIsDefinedAgain checks that a stream defines ids again that the journal has forgotten, and that no
// sample is lost.
func TestWhatWasForgottenIsDefinedAgain(t *testing.T) {
	k := newKeptJournal()
	s, l := localOn(t, k, nil)
	defer l.Close()
	now := time.Now().UnixMilli()
	first := threeSeries()
	first.Series = append(first.Series, &pb.SeriesDefinition{Id: 4, Host: "h", Component: "c", Name: "latency",
		Shape: pb.Shape_SHAPE_HISTOGRAM})
	first.Layouts = append(first.Layouts, &pb.Layout{Id: 6, SeriesIds: []uint32{3, 1}})
	send := func(b *pb.Batch) {
		b.Blocks = []*pb.Block{blockOf(now, 1, 2, 3),
			{LayoutId: 6, FirstTimeMs: now, Count: 1, Codec: pb.ValueCodec_VALUE_CODEC_DOUBLES,
				Values: block.AppendDoubles(nil, []float64{4, 5})}}
		b.Samples = samples(2, 9)
		b.Samples.BaseTimeMs = now
		b.Histograms = []*pb.HistogramSample{{SeriesId: 4, TimeMs: now, Count: 1, ZeroCount: 1}}
		_, err := l.Send(t.Context(), b)
		require.NoError(t, err)
	}
	send(first)
	want := k.cells()
	require.Len(t, want, 6)
	for range 3 {
		k.batches = nil
		k.forgetAll()
		send(&pb.Batch{})
		require.Equal(t, want, k.cells())
		require.Len(t, k.batches, 1)
		require.Equal(t, uint32(k.ids[metric.Raw{Worker: metric.Worker{Topology: "bullet", Host: "h"}, Component: "c",
			Name:  "latency",
			Shape: metric.ShapeHistogram}]), k.batches[0].Histograms[0].GetSeriesId())
	}
	require.Zero(t, s.Totals().Balance())
}

// TestSeriesAboveTheLimitAreTriedAgain checks that a topology at its limit gets more series when there is capacity
// again. The sender need not do anything.
func TestSeriesAboveTheLimitAreTriedAgain(t *testing.T) {
	k := newKeptJournal()
	now := time.Now()
	s, l := localOn(t, k, func(o *Options) {
		o.MaxTopologySeries, o.MaxStreamSeries = 2, 100
		o.Now = func() time.Time { return now }
	})
	defer l.Close()
	rejected, err := l.Send(t.Context(), &pb.Batch{Series: threeSeries().Series, Samples: samples(3, 1)})
	require.NoError(t, err)
	require.Len(t, rejected, 1)
	k.forgetAll()
	now = now.Add(retryEvery)
	rejected, err = l.Send(t.Context(), &pb.Batch{Samples: samples(3, 2)})
	require.NoError(t, err)
	require.Empty(t, rejected)
	require.Equal(t, uint64(1), s.Totals().Journaled)
}

// TestBlocksReachTheJournalOverAStream sends columns and blocks side by side over a stream, with the real journal.
func TestBlocksReachTheJournalOverAStream(t *testing.T) {
	c := start(t, func(o *Options) { o.Registerer = prometheus.NewRegistry() })
	service := c.dial()
	old, s := opened(t, service), export(t, service)
	require.True(t, s.receive().GetOpened().GetTakesBlocks())
	now := time.Now().UnixMilli()
	b := threeSeries()
	b.Sequence, b.Blocks = 1, []*pb.Block{blockOf(now, 1, math.NaN(), 3, 4, 5, 6)}
	s.batch(b)
	rejected := s.acknowledged(1)
	require.Len(t, rejected, 1)
	old.batch(&pb.Batch{Sequence: 1, Series: []*pb.SeriesDefinition{series(9, "a")}, Samples: samples(9, 7)})
	old.acknowledged(1)
	s.batch(&pb.Batch{Sequence: 2, Blocks: []*pb.Block{blockOf(now+2000, 1, 2, 3)}, Samples: samples(2, 8)})
	require.Empty(t, s.acknowledged(2))
	totals := c.server.Totals()
	require.Equal(t, uint64(11), totals.Received)
	require.Equal(t, uint64(10), totals.Journaled)
	total := 0
	for _, b := range c.batches() {
		total += b.Samples()
	}
	require.Equal(t, 10, total)
}

func TestBlocksThatBreakTheProtocolEndTheirStream(t *testing.T) {
	c := start(t, nil)
	service := c.dial()
	now := time.Now().UnixMilli()
	for message, change := range map[string]func(*pb.Batch){
		"batch.blocks[0].layout_id 7 was not defined": func(b *pb.Batch) { b.Blocks[0].LayoutId = 7 },
		"batch.blocks[0]: values has 24 bytes": func(b *pb.Batch) {
			b.Blocks[0].Count = 2
			b.Blocks[0].StepMs = 1
		},
		"batch.blocks[0]: codec 0 is unknown":  func(b *pb.Batch) { b.Blocks[0].Codec = 0 },
		"batch.blocks[0]: codec -7 is unknown": func(b *pb.Batch) { b.Blocks[0].Codec = -7 },
		"batch.blocks[0]: count 5000":          func(b *pb.Batch) { b.Blocks[0].Count = 5000 },
		"batch.layouts.id is 0":                func(b *pb.Batch) { b.Layouts[0].Id = 0 },
		"has 0 series_ids":                     func(b *pb.Batch) { b.Layouts[0].SeriesIds = nil },
		"lists the series id 2 twice": func(b *pb.Batch) {
			b.Layouts[0].SeriesIds = []uint32{2, 1, 2}
		},
		"batch.layouts.id 5 is already defined with other": func(b *pb.Batch) {
			b.Layouts = append(b.Layouts, &pb.Layout{Id: 5, SeriesIds: []uint32{1}})
		},
		"batch.blocks have more than 1048576 cells": func(b *pb.Batch) {
			b.Layouts[0].SeriesIds = nil
			for id := range uint32(1024) {
				b.Layouts[0].SeriesIds = append(b.Layouts[0].SeriesIds, id+1)
			}
			big := &pb.Block{LayoutId: 5, Count: 1024, StepMs: 1, Presence: make([]byte, 1024*1024/8), Codec: 1}
			b.Blocks = []*pb.Block{big, big}
		},
	} {
		s := opened(t, service)
		b := threeSeries()
		b.Sequence, b.Blocks = 1, []*pb.Block{blockOf(now, 1, 2, 3)}
		change(b)
		s.batch(b)
		s.fails(codes.InvalidArgument, message)
	}
}
