package live

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// world sends what samplers of a topology send. Worker n has port 6700+n and the layout n.
type world struct {
	*Live
	t *testing.T
}

// columns are those of a sampler with two garbage collectors that report pauses, with two that Live does not read.
var columns = []metric.Raw{{Name: "cpu.user_ms"}, {Name: "cpu.system_ms"}, {Name: "heap.used_bytes"},
	{Name: "gc.time_ms", Key: "ZGC Cycles"}, {Name: "process.start_time_ms"}, {Name: "gc.time_ms", Key: "ZGC Pauses"},
	{Name: "gc.time_ms", Key: "old"}}

func newWorld(t *testing.T, workers int) *world {
	w := &world{New(func() time.Time { return time.UnixMilli(1_000_000) }), t}
	for n := range workers {
		w.join(n)
	}
	return w
}

func (w *world) join(n int) {
	var ids []journal.SeriesID
	for i, raw := range columns {
		raw.Worker = metric.Worker{Topology: "t", Host: "host", Port: uint32(6700 + n)}
		raw.Shape, raw.IntervalMs, raw.PackSpanMs = metric.ShapeSampler, 1_000, 2_000
		ids = append(ids, journal.SeriesID(n*len(columns)+i+1))
		w.Observe(&journal.SeriesDefined{ID: ids[i], Series: raw})
	}
	w.Observe(&journal.LayoutDefined{ID: journal.LayoutID(n), Series: ids})
}

// row is one sample: its time, and a value for each of columns. NaN is absent.
type row struct {
	timeMs int64
	values [7]float64
}

func (w *world) send(n int, receivedMs int64, rows ...row) {
	b := block.Block{Columns: len(columns), Rows: len(rows), FirstMs: rows[0].timeMs, StepMs: 1_000,
		Codec: block.Trimmed, Presence: make([]byte, (len(columns)*len(rows)+7)/8)}
	var values []float64
	for c := range columns {
		for r := range rows {
			if v := rows[r].values[c]; !math.IsNaN(v) {
				cell := c*len(rows) + r
				b.Presence[cell/8] |= 1 << (cell % 8)
				values = append(values, v)
			}
		}
	}
	for r := range rows {
		b.OffsetsMs = append(b.OffsetsMs, int32(rows[r].timeMs-b.FirstMs-int64(r)*b.StepMs))
	}
	b.Values = block.AppendTrimmed(nil, values)
	require.NoError(w.t, b.Check())
	w.Observe(&journal.Batch{ReceivedMs: receivedMs, Blocks: []journal.Block{{Layout: journal.LayoutID(n), Block: b}}})
}

// says returns the news since a number, one line per worker.
func (w *world) says(since uint64) (lines []string, newest uint64) {
	news, newest, _ := w.Since("t", since)
	for _, n := range news {
		line := fmt.Sprintf("%s heard %d every %d:", n.Name, n.HeardMs, n.EveryMs)
		for _, s := range n.Samples {
			line += fmt.Sprintf(" %d=%.3g,%.3g,%.0f", s.TimeMs, s.Cores, s.GCShare, s.HeapBytes)
		}
		lines = append(lines, line)
	}
	return lines, newest
}

func TestRatesAreOfTheSumOfCounters(t *testing.T) {
	w := newWorld(t, 1)
	w.send(0, 5_000, row{2_900, [7]float64{100, 50, 7e6, 0, 1_000, 10, 0}},
		row{3_900, [7]float64{500, 150, 8e6, 1e9, 1_000, 10, 100}})
	lines, seen := w.says(0)
	assert.Equal(t, []string{"host:6700 heard 5000 every 2000: 2900=NaN,NaN,7000000 3900=0.5,0.1,8000000"}, lines)

	w.send(0, 7_000, row{4_900, [7]float64{1_500, 150, 9e6, 1e9, 1_000, 60, 100}})
	lines, _ = w.says(seen)
	assert.Equal(t, []string{"host:6700 heard 7000 every 2000: 4900=1,0.05,9000000"}, lines)
}

func TestOnlyWorkersWithNewsAreReturned(t *testing.T) {
	w := newWorld(t, 2)
	w.send(0, 5_000, row{2_900, [7]float64{}})
	w.send(1, 5_100, row{2_950, [7]float64{}})
	_, seen := w.says(0)
	w.send(1, 7_000, row{3_950, [7]float64{}})
	lines, newest := w.says(seen)
	assert.Equal(t, []string{"host:6701 heard 7000 every 2000: 3950=0,0,0"}, lines)
	lines, _ = w.says(newest)
	assert.Empty(t, lines)
	lines, _ = w.says(newest + 1_000) // a number of another process
	assert.Len(t, lines, 2)
	news, _, _ := w.Since("another", 0)
	assert.Empty(t, news)
}

// What has no rate: a value that is absent, the first sample of a process, and a time without samples before it.
func TestAnUnknownRateIsNaN(t *testing.T) {
	w := newWorld(t, 1)
	absent := math.NaN()
	w.send(0, 9_000, row{1_900, [7]float64{100, 0, 1, 0, 1_000, 0, 0}},
		row{2_900, [7]float64{absent, absent, 2, 0, 1_000, 0, 0}},
		row{3_900, [7]float64{200, 0, 3, 0, 1_000, 100, 0}},
		row{20_000, [7]float64{300, 0, 4, 0, 1_000, 200, 0}},
		row{21_000, [7]float64{10, 0, 5, 0, 20_500, 0, 0}},
		row{22_000, [7]float64{510, 0, 6, 0, 20_500, 0, 0}})
	lines, _ := w.says(0)
	assert.Equal(t, []string{"host:6700 heard 9000 every 2000: 1900=NaN,NaN,1 2900=NaN,0,2 3900=NaN,0.1,3" +
		" 20000=NaN,NaN,4 21000=NaN,NaN,5 22000=0.5,0,6"}, lines)
}

// A sender may report no start of its processes. A value that falls then has no rate.
func TestWithoutAStartRatesAreKnown(t *testing.T) {
	w, none := newWorld(t, 1), math.NaN()
	w.send(0, 9_000, row{1_900, [7]float64{100, 0, 1, 0, none, 0, 0}}, row{2_900, [7]float64{300, 0, 2, 0, none, 0, 0}},
		row{3_900, [7]float64{10, 0, 3, 0, none, 0, 0}})
	lines, _ := w.says(0)
	assert.Equal(t, []string{"host:6700 heard 9000 every 2000: 1900=NaN,NaN,1 2900=0.2,0,2 3900=NaN,0,3"}, lines)
}

func TestSamplesThatComeAgainAreNotNews(t *testing.T) {
	w := newWorld(t, 1)
	w.send(0, 5_000, row{2_900, [7]float64{100}}, row{3_900, [7]float64{200}})
	w.send(0, 6_000, row{3_900, [7]float64{200}}, row{4_900, [7]float64{300}})
	lines, _ := w.says(0)
	assert.Equal(t, []string{"host:6700 heard 6000 every 2000: 2900=NaN,NaN,0 3900=0.1,0,0 4900=0.1,0,0"}, lines)
}

// Two plugin tasks send the packs of a worker by turns, and one of them is late.
func TestSamplesOfSeveralSendersAreSorted(t *testing.T) {
	w := newWorld(t, 1)
	w.send(0, 5_000, row{2_900, [7]float64{100}})
	w.send(0, 6_000, row{4_900, [7]float64{300}})
	_, seen := w.says(0)
	w.send(0, 6_100, row{3_900, [7]float64{300}})
	lines, _ := w.says(seen)
	assert.Equal(t, []string{"host:6700 heard 6100 every 2000: 3900=0.2,0,0"}, lines)
	lines, _ = w.says(0)
	assert.Equal(t, []string{"host:6700 heard 6100 every 2000: 2900=NaN,NaN,0 3900=0.2,0,0 4900=0,0,0"}, lines)
}

// A layout may have series of several workers in any order. Its memory grows with its columns alone.
func TestALayoutOfSeveralWorkers(t *testing.T) {
	w := newWorld(t, 2)
	w.Observe(&journal.LayoutDefined{ID: 9, Series: []journal.SeriesID{1, 8, 3, 10}}) // CPU and heap of both by turns
	w.Observe(&journal.Batch{ReceivedMs: 1_000, Blocks: []journal.Block{{Layout: 9, Block: block.Block{
		Columns: 4, Rows: 1, FirstMs: 900, Codec: block.Doubles,
		Values: block.AppendDoubles(nil, []float64{10, 20, 30, 40})}}}})
	lines, _ := w.says(0)
	assert.Equal(t, []string{"host:6700 heard 1000 every 2000: 900=NaN,NaN,30",
		"host:6701 heard 1000 every 2000: 900=NaN,NaN,40"}, lines)
	assert.Len(t, w.layouts[9], 2)
}

// If the journal or its reader is behind, nothing is known of the time since.
func TestTheTimeThatWasReadFollowsTheTicks(t *testing.T) {
	w := newWorld(t, 0)
	w.Observe(&journal.Tick{TimeMs: 999_200})
	now, read := w.NowMs()
	assert.Equal(t, []int64{1_000_000, 1_000_000}, []int64{now, read})
	w = newWorld(t, 0)
	w.Observe(&journal.Tick{TimeMs: 990_000})
	_, read = w.NowMs()
	assert.Equal(t, int64(990_000+usualTickMs), read)
}

// A worker whose clock was set back begins again: its older samples would be in the future.
func TestAClockThatIsSetBackBeginsAgain(t *testing.T) {
	w := newWorld(t, 1)
	w.send(0, 5_000, row{900_000, [7]float64{100}})
	w.send(0, 6_000, row{2_900, [7]float64{200}}, row{3_900, [7]float64{300}})
	lines, _ := w.says(0)
	assert.Equal(t, []string{"host:6700 heard 6000 every 2000: 2900=NaN,NaN,0 3900=0.1,0,0"}, lines)
}

func TestFiveMinutesAreKept(t *testing.T) {
	w := newWorld(t, 1)
	for s := int64(1); s <= 2_000; s++ {
		w.send(0, s*1_000, row{s * 1_000, [7]float64{float64(s)}})
	}
	news, _, _ := w.Since("t", 0)
	require.Len(t, news, 1)
	require.Len(t, news[0].Samples, 300)
	assert.Equal(t, int64(1_701_000), news[0].Samples[0].TimeMs)
	assert.LessOrEqual(t, len(w.topologies["t"][place{Topology: "t", Host: "host", Port: 6700}].readings), mostReadings)
}

func TestAWorkerLeavesAfterFiveMinutes(t *testing.T) {
	w := newWorld(t, 2)
	w.send(0, 1_000_000, row{2_900, [7]float64{}})
	w.send(1, 1_200_000, row{2_900, [7]float64{}})
	w.Observe(&journal.Tick{TimeMs: 1_290_000})
	lines, _ := w.says(0)
	assert.Len(t, lines, 2)
	w.Observe(&journal.Tick{TimeMs: 1_320_000})
	lines, _ = w.says(0)
	assert.Len(t, lines, 1)
	w.Observe(&journal.Tick{TimeMs: 1_560_000})
	assert.Empty(t, w.topologies)
	assert.Zero(t, w.workers)
}

func TestWorkersAreBounded(t *testing.T) {
	w := newWorld(t, maxWorkers+1)
	for n := range maxWorkers + 1 {
		w.send(n, 1_000, row{900, [7]float64{}})
	}
	lines, _ := w.says(0)
	assert.Len(t, lines, maxWorkers)
}

func TestForgottenIdsAreForgotten(t *testing.T) {
	w := newWorld(t, 1)
	w.Observe(&journal.Forgotten{Series: []journal.SeriesID{1, 2, 3, 4, 5, 6, 7}, Layouts: []journal.LayoutID{0}})
	assert.Empty(t, w.series)
	assert.Empty(t, w.layouts)
}

func TestWaitersHearOfTheNextSamples(t *testing.T) {
	w := newWorld(t, 1)
	_, _, more := w.Since("t", 0)
	w.Observe(&journal.Tick{TimeMs: 1})
	w.Observe(&journal.Batch{})
	select {
	case <-more:
		t.Fatal("nothing came")
	default:
	}
	w.send(0, 1_000, row{900, [7]float64{}})
	<-more
}
