package slicer

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
)

var (
	stepsFirst = flag.Uint64("steps.first", 1, "the first seed of the test of clocks that step")
	stepsSeeds = cases.Flag("steps.seeds", 1000, 100, "how many seeds the test of clocks that step plays")
)

// TestNoClockMakesACounterCountMore checks that no total grows by more than the worker counted, whatever its clock
// does. One or two consumers receive its reports in turn, or each receives all. A sampler may state the start of the
// process. There are restarts and gaps. If the clock does not step, the totals equal what was counted.
func TestNoClockMakesACounterCountMore(t *testing.T) {
	var played tally4steps
	for seed := *stepsFirst; seed < *stepsFirst+stepsSeeds.N(); seed++ {
		t.Run(fmt.Sprintf("steps.first=%d", seed), func(t *testing.T) {
			w := newStepping(seed)
			defer func() {
				if t.Failed() {
					t.Logf("%+v %+v", w.stepping, w.counts)
				}
			}()
			w.play(t)
			played.add(w)
		})
	}
	if stepsSeeds.N() >= 100 {
		require.Positive(t, played.back)
		require.Positive(t, played.forth)
		require.Positive(t, played.restarts)
		require.Positive(t, played.repeated)
		require.Positive(t, played.duplicates)
		require.Positive(t, played.exact)
	}
	fmt.Printf("tally: tries=%d %+v\n", stepsSeeds.N(), played)
}

type tally4steps struct {
	back, forth, restarts, samples, repeated, duplicates, late, exact int
}

func (x *tally4steps) add(w *steppingWorld) {
	for _, step := range w.steps {
		if step < 0 {
			x.back++
		} else {
			x.forth++
		}
	}
	x.restarts += len(w.restarts)
	x.samples += w.sent
	x.repeated += int(w.counts.Refused[RefusedRepeated])
	x.duplicates += int(w.counts.Refused[RefusedDuplicate])
	x.late += int(w.counts.Late)
	if len(w.steps) == 0 {
		x.exact++
	}
}

// stepping contains what a seed decides. Times are ms of true time, which no clock shows.
type stepping struct {
	everyMs   int64 // time between two reports of a task
	sampler   bool  // the sampler states the start of the process
	storm     bool  // Storm states it, with each report, in whole seconds
	consumers int
	twice     bool // each consumer receives every report
	moves     bool // the consumers restart with the worker, and number their batches from 1
	delayMs   int64
	endMs     int64
	steps     map[int64]int64 // steps of the clock, by time
	restarts  []int64
	away      [2]int64 // from, until: the worker reports nothing
}

type steppingWorld struct {
	stepping
	random *rand.Rand
	slicer *Slicer

	truth    float64 // what each counter has counted so far
	counted  float64 // the part counted by the current process
	startMs  int64   // start of that process, by the clock at that time
	newest   float64 // truth at the newest report by its clock
	newestMs int64
	closedMs int64
	heardMs  int64
	sent     int
	ahead    bool      // ingest has refused some samples
	notNewer int       // reports of one consumer that are not newer by the clock than an earlier one
	lives    []float64 // last report of each process
	deltas   float64   // sum of the reported deltas
	arriving [][]stepReport
	sequence []uint64
	epoch    [16]byte
	names    map[slice.Ref]string
	totals   map[string]float64 // last written values
	counts   Counts
}

// stepReport is what a task reports at once, in transit from a consumer to the collector.
type stepReport struct {
	arrivesMs int64
	samples   []worldSample
	histogram *histogram.Histogram
	delta     *histogram.Histogram
	timeMs    int64
}

// The series of the worker.
const (
	stepTotal uint32 = iota
	stepDelta
	stepGauge
	stepStart
	stepDistribution
	stepDeltas
	stepFine // a total every second, in packs of 10 s
)

func newStepping(seed uint64) *steppingWorld {
	r := rand.New(rand.NewPCG(seed, 17))
	pick := func(from ...int64) int64 { return from[r.IntN(len(from))] }
	w := &steppingWorld{random: r}
	x := &w.stepping
	x.everyMs = pick(1000, 10_000, 10_000, 60_000)
	x.sampler, x.storm = r.IntN(2) == 0, r.IntN(2) == 0
	x.consumers = 1 + r.IntN(2)
	x.twice = x.consumers == 2 && r.IntN(4) == 0
	x.moves = r.IntN(3) == 0
	x.delayMs = pick(0, 500, 5000, 15_000)
	x.endMs = max(120_000, x.everyMs*(20+r.Int64N(60)))
	x.steps = map[int64]int64{}
	within := func() int64 { return 1 + r.Int64N(x.endMs*3/4) }
	for range pick(0, 1, 2, 5) {
		size := int64(1000 * math.Exp(r.Float64()*math.Log(3600)))
		if r.IntN(2) == 0 {
			size = size / 1000 * 1000
		}
		if r.IntN(3) > 0 {
			size = -size
		}
		at := within()
		x.steps[at] = size
		if r.IntN(2) == 0 { // and forward again
			x.steps[min(at+1+r.Int64N(10*x.everyMs), x.endMs)] = -size
		}
	}
	for range pick(0, 0, 1, 2) {
		x.restarts = append(x.restarts, within())
	}
	slices.Sort(x.restarts)
	if r.IntN(4) == 0 {
		x.away[0] = within()
		x.away[1] = x.away[0] + r.Int64N(5*x.everyMs)
	}
	w.arriving, w.sequence = make([][]stepReport, x.consumers), make([]uint64, x.consumers)
	w.names, w.totals = map[slice.Ref]string{}, map[string]float64{}
	return w
}

func (w *steppingWorld) rule(id uint32) metric.Rule {
	place := metric.Worker{Topology: "t", Host: "w", Port: 1}
	rule := metric.Rule{Worker: place, PerUnit: 1, Least: 0, Most: math.MaxFloat64, IntervalMs: w.everyMs,
		Series: metric.Series{Kind: metric.KindCounter, Labels: labels.FromStrings("__name__", fmt.Sprint("m", id))}}
	switch id {
	case stepTotal:
		rule.Temporality = metric.Cumulative
	case stepFine:
		rule.Temporality, rule.IntervalMs, rule.PackSpanMs = metric.Cumulative, 1000, w.packMs()
	case stepDelta:
		rule.Temporality = metric.Delta
	case stepGauge:
		rule.Temporality, rule.Series.Kind = metric.Gauge, metric.KindGauge
	case stepStart:
		rule.Temporality, rule.Series.Kind = metric.Gauge, metric.KindGauge
		rule.RestartsName, rule.PerUnit = "restarts", 1000
		if w.sampler {
			rule.IntervalMs, rule.PackSpanMs = 1000, w.packMs()
		}
	case stepDistribution:
		rule.Temporality, rule.Series.Kind = metric.Cumulative, metric.KindDistribution
	case stepDeltas:
		rule.Temporality, rule.Series.Kind = metric.Delta, metric.KindDistribution
	}
	return rule
}

// packMs returns the time span of a sampler's pack, which it collects between two reports.
func (x *stepping) packMs() int64 { return max(10_000, x.everyMs) }

// clock returns what the worker's clock shows.
func (w *steppingWorld) clock(trueMs int64) int64 {
	shows := worldStartMs + trueMs
	for at, by := range w.steps {
		if at <= trueMs {
			shows += by
		}
	}
	return shows
}

func (w *steppingWorld) play(t *testing.T) {
	o := DefaultOptions()
	s, err := New(o)
	require.NoError(t, err)
	w.slicer = s
	for id := range uint32(stepFine + 1) {
		if id != stepStart || w.sampler || w.storm {
			s.Define(id, w.rule(id))
		}
	}
	for consumer := range w.consumers {
		s.Connect(uint32(consumer))
	}
	w.startMs = w.clock(-3000)
	w.lives = []float64{0}
	phase := w.random.Int64N(1000)
	var pack stepReport
	var counted, reported float64 // since the last tick
	restarts := w.restarts
	for at := phase; at < w.endMs+40_000; at += 1000 {
		if len(restarts) > 0 && at >= restarts[0] { // it is down for a few seconds and reports nothing
			restarts = restarts[1:]
			at += 1000 * w.random.Int64N(12)
			w.startMs, w.counted, pack, reported = w.clock(at), 0, stepReport{}, 0
			w.lives = append(w.lives, 0)
			if w.moves {
				clear(w.sequence)
				clear(w.arriving)
				w.epoch[0]++
			}
			at += 1000
			phase = at // it first reports after it has run for an interval
		}
		if at < w.endMs {
			counted = float64(w.random.IntN(20))
			w.truth, w.counted, reported = w.truth+counted, w.counted+counted, reported+counted
			w.sampleFine(&pack, at)
			if at > phase && (at-phase)%w.everyMs == 0 && !(at >= w.away[0] && at < w.away[1]) {
				w.report(&pack, at, reported)
				reported = 0
			}
		}
		w.deliver(t, at)
		s.Tick(worldStartMs + at)
		w.check(t)
	}
	s.CloseAll()
	w.check(t)
	w.checkEnd(t)
}

// sampleFine takes the sampler's sample of a second, by a clock that is not truncated to seconds.
func (w *steppingWorld) sampleFine(pack *stepReport, at int64) {
	timeMs := w.clock(at) + 1
	if first := len(pack.samples); first > 0 && timeMs-pack.samples[0].timeMs > w.packMs() {
		pack.samples = pack.samples[:0] // the sampler's buffer is full
	}
	pack.samples = append(pack.samples, worldSample{stepFine, timeMs, w.counted})
	if w.sampler {
		pack.samples = append(pack.samples, worldSample{stepStart, timeMs, float64(w.startMs)})
	}
}

// report gives what a task counted to one consumer or to both.
func (w *steppingWorld) report(pack *stepReport, at int64, delta float64) {
	timeMs := w.clock(at) / 1000 * 1000
	r := stepReport{timeMs: timeMs, samples: append(slices.Clone(pack.samples),
		worldSample{stepTotal, timeMs, w.counted},
		worldSample{stepDelta, timeMs, delta}, worldSample{stepGauge, timeMs, delta}),
		histogram: counting1(w.counted), delta: counting1(delta)}
	pack.samples = pack.samples[:0]
	if w.storm && !w.sampler {
		r.samples = append(r.samples, worldSample{stepStart, timeMs, float64(w.startMs / 1000 * 1000)})
	}
	w.deltas += delta
	w.lives[len(w.lives)-1] = w.counted
	first := w.random.IntN(w.consumers)
	for consumer := range w.consumers {
		if consumer != first && !w.twice {
			continue
		}
		queue := w.arriving[consumer]
		r.arrivesMs = at + w.random.Int64N(w.delayMs+1)
		if n := len(queue); n > 0 {
			r.arrivesMs = max(r.arrivesMs, queue[n-1].arrivesMs)
		}
		w.arriving[consumer] = append(queue, r)
	}
}

// counting1 returns a distribution with the given number of observations.
func counting1(n float64) *histogram.Histogram {
	d := distribution{zeroThreshold: 0.001, count: uint64(n), sum: n, buckets: []indexed{{1, uint64(n)}}}
	if n == 0 {
		d.buckets = nil
	}
	return d.histogram()
}

// aheadMs is how far samples may be ahead of the collector's clock at ingest.
const aheadMs = 600_000

// deliver gives what has arrived to the slicer, in the order of each consumer. Ingest has refused samples that are
// ahead.
func (w *steppingWorld) deliver(t *testing.T, at int64) {
	for consumer := range w.arriving {
		for len(w.arriving[consumer]) > 0 && w.arriving[consumer][0].arrivesMs <= at {
			r := w.arriving[consumer][0]
			w.arriving[consumer] = w.arriving[consumer][1:]
			w.sequence[consumer]++
			w.slicer.beginEpoch(uint32(consumer), w.epoch)
			w.slicer.beginBatch(uint32(consumer), w.sequence[consumer])
			w.slicer.received(worldStartMs + at)
			taken := func(timeMs int64) bool { return timeMs <= worldStartMs+at+aheadMs }
			for _, x := range r.samples {
				if !taken(x.timeMs) {
					w.ahead = true
					continue
				}
				w.sent++
				w.heardMs = max(w.heardMs, x.timeMs)
				switch {
				case x.id != stepTotal:
				case w.newestMs >= x.timeMs, w.heardMs-DefaultOptions().LatenessMs >= x.timeMs:
					if w.newestMs >= x.timeMs {
						w.notNewer++
					}
					w.closedMs = w.heardMs + 2*max(DefaultOptions().WidthMs, w.everyMs) // the slice may be closed there
				case x.timeMs > w.closedMs: // in time, whatever else arrived
					w.newestMs, w.newest = x.timeMs, x.value
				}
				require.True(t, w.slicer.Add(x.id, x.timeMs, x.value))
			}
			if taken(r.timeMs) {
				w.sent += 2
				require.True(t, w.slicer.AddHistogram(stepDistribution, r.timeMs, r.histogram, 0))
				require.True(t, w.slicer.AddHistogram(stepDeltas, r.timeMs, r.delta, 0))
			}
			w.slicer.endBatch()
		}
	}
}

// check compares what was written with what was counted so far.
func (w *steppingWorld) check(t *testing.T) {
	c := w.slicer.Closed()
	for _, d := range c.Definitions {
		w.names[d.Ref] = d.Series.Name()
	}
	note := func(ref slice.Ref, total float64) {
		name := w.names[ref]
		switch {
		case math.IsNaN(total) || name == "m2" || name == "m3":
			return
		case name == "restarts":
			require.LessOrEqual(t, total, float64(len(w.restarts)))
		case total > w.truth:
			t.Errorf("%s is %v, but %v was counted", name, total, w.truth)
		case total < w.totals[name]:
			t.Errorf("%s fell from %v to %v", name, w.totals[name], total)
		}
		w.totals[name] = total
	}
	for i, ref := range c.Refs {
		note(ref, c.Values[i])
	}
	for i, ref := range c.HistogramRefs {
		if h := c.Histograms[i]; h != nil {
			note(ref, float64(h.Count))
		}
	}
	c.Reset()
}

// checkEnd compares the final result with what was reported.
func (w *steppingWorld) checkEnd(t *testing.T) {
	w.counts = w.slicer.Counts()
	refused := uint64(0)
	for _, n := range w.counts.Refused {
		refused += n
	}
	require.EqualValues(t, w.sent, w.counts.InSlices+w.counts.Late+refused)
	inOrder := w.consumers == 1
	if inOrder && w.everyMs > fullSecondsMs && !w.ahead {
		require.GreaterOrEqual(t, int(w.counts.Refused[RefusedRepeated]), 5*w.notNewer)
	}
	if len(w.restarts) == 0 && !w.ahead {
		require.GreaterOrEqual(t, w.totals["m0"], w.newest, "the process went on, and it has reported as much")
		require.GreaterOrEqual(t, w.totals["m4"], w.newest)
	}
	if len(w.steps) > 0 {
		return
	}
	require.Zero(t, w.counts.Refused[RefusedRepeated]+uint64(w.counts.Late))
	if w.moves && len(w.restarts) > 0 { // what the consumers held is lost
		return
	}
	require.Equal(t, w.deltas, w.totals["m1"])
	require.Equal(t, w.deltas, w.totals["m5"])
	settled := len(w.restarts) == 0 || len(w.restarts) == 1 && (w.sampler || w.storm) &&
		w.endMs-w.restarts[0] > 6*w.everyMs+120_000
	if settled {
		reported := 0.0
		for _, life := range w.lives {
			reported += life
		}
		require.Equal(t, reported, w.totals["m0"])
		if len(w.restarts) == 0 { // a distribution does not consider a start that is reported late
			require.Equal(t, reported, w.totals["m4"])
		}
	}
}
