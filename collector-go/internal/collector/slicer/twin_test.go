package slicer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// twin is a slow and simple implementation of the slicer. It runs when all samples are known and none was late.
type twin struct {
	world    *world
	options  Options
	eventMs  map[metric.Worker]int64
	closedTo map[string]int64 // by worker, width, interval and pack
	byID     map[uint32][]ordered
	out      stored
}

type ordered struct {
	worldSample
	producer uint32
	sequence uint64
	index    int
}

func newTwin(w *world, o Options) *twin {
	tw := &twin{world: w, options: o, eventMs: map[metric.Worker]int64{}, closedTo: map[string]int64{},
		byID: map[uint32][]ordered{}, out: stored{}}
	for _, b := range w.batches {
		for i, x := range b.samples {
			tw.byID[x.id] = append(tw.byID[x.id], ordered{x, b.producer, b.sequence, i})
			worker := w.rules[x.id].Worker
			tw.eventMs[worker] = max(tw.eventMs[worker], x.timeMs)
		}
	}
	for id, samples := range tw.byID {
		slices.SortFunc(samples, func(a, b ordered) int {
			return cmp.Or(cmp.Compare(a.timeMs, b.timeMs), cmp.Compare(a.producer, b.producer),
				cmp.Compare(a.sequence, b.sequence), cmp.Compare(a.index, b.index))
		})
		rule := w.rules[id]
		_, width, key := tw.touch(&rule)
		latenessMs := o.LatenessMs
		if w.sole && rule.PackSpanMs == 0 { // what has packs is closed to its newest sample, at the end
			latenessMs = o.SoleLatenessMs
		}
		passed := (tw.eventMs[rule.Worker] - latenessMs - rule.PackSpanMs - 1) / width * width
		newest := (samples[len(samples)-1].timeMs + width - 1) / width * width
		tw.closedTo[key] = max(tw.closedTo[key], passed, newest)
	}
	return tw
}

func (tw *twin) touch(rule *metric.Rule) (missMs, widthMs int64, key string) {
	widthMs = max(tw.options.WidthMs, rule.IntervalMs)
	missMs = max(widthMs, 2*rule.IntervalMs)
	return missMs, widthMs, fmt.Sprint(rule.Worker, widthMs, rule.IntervalMs, rule.PackSpanMs)
}

func (tw *twin) run() stored {
	for id, samples := range tw.byID {
		rule := tw.world.rules[id]
		tw.series(&rule, samples)
	}
	return tw.out
}

func (tw *twin) series(rule *metric.Rule, samples []ordered) {
	miss, width, key := tw.touch(rule)
	names := []string{rule.Series.Name()}
	if rule.MinName != "" && rule.IntervalMs < width {
		names = append(names, rule.MinName, rule.MaxName)
	}
	if rule.RestartsName != "" {
		names = append(names, rule.RestartsName)
	}
	fold := tw.folder(rule)
	lastEnd := int64(0)
	gap := func(nextEmpty int64) {
		if lastEnd != 0 && lastEnd+miss <= nextEmpty {
			for _, name := range names {
				tw.write(rule, name, lastEnd+width, staleNaN)
			}
		}
	}
	for len(samples) > 0 {
		end := (samples[0].timeMs + width - 1) / width * width
		n := 0
		for n < len(samples) && samples[n].timeMs <= end {
			n++
		}
		gap(end - width)
		for i, v := range fold(samples[:n], end)[:len(names)] {
			tw.write(rule, names[i], end, v)
		}
		lastEnd, samples = end, samples[n:]
	}
	gap(tw.closedTo[key])
}

func (tw *twin) write(rule *metric.Rule, name string, endMs int64, v float64) {
	key := renamed(rule.Series.Labels, name).String()
	tw.out[key] = append(tw.out[key], fmt.Sprintf("%d %x", endMs, math.Float64bits(v)))
}

// folder returns the function that computes a slice's values from its samples.
func (tw *twin) folder(rule *metric.Rule) func([]ordered, int64) []float64 {
	var total, offset, last, restarts float64
	var lastMs int64
	var doubts []doubt
	var fell, past *fall
	var before ordered
	return func(samples []ordered, endMs int64) []float64 {
		least, greatest, sum := math.Inf(1), math.Inf(-1), 0.0
		for _, x := range samples {
			v := x.value / rule.PerUnit
			least, greatest, sum = min(least, v), max(greatest, v), sum+v
			switch {
			case rule.RestartsName != "":
				if lastMs != 0 && math.Abs(v-last) >= 2 {
					restarts++
				}
			case rule.Temporality == metric.Delta:
				total += v
			case rule.Temporality == metric.Cumulative:
				if past != nil && x.timeMs-past.untilMs <= tw.openMs(rule) && x.producer != past.from.producer &&
					v >= past.lost {
					continue // of the previous process
				}
				for i := 0; i < len(doubts); i++ {
					if d := doubts[i]; tw.started(rule, d.afterMs, d.untilMs, endMs) && (d.fell || d.apart(rule)) {
						if fell != nil && fell.doubt.afterMs == d.afterMs {
							fell = nil
						}
						offset += d.lost
						doubts, i = slices.Clone(doubts[i+1:]), -1
					}
				}
				restarted := false
				switch {
				case lastMs == 0:
				case tw.started(rule, lastMs, x.timeMs, endMs) &&
					(v < last || doubt{lastMs, x.timeMs, last, false}.apart(rule)):
					restarted, fell, past = true, nil, &fall{doubt{lastMs, x.timeMs, last, true}, x}
				case fell == nil && v >= last:
				case fell != nil && v >= fell.lost:
					fell = nil
				default:
					if fell == nil {
						fell = &fall{doubt{lastMs, x.timeMs, last, true}, before}
					}
					var decided bool
					if restarted, decided = tw.fell(rule, fell, x, endMs); decided {
						past = nil
						if restarted && fell.from.producer == x.producer {
							past = &fall{doubt{fell.afterMs, x.timeMs, fell.lost, true}, x}
						}
						fell = nil
					}
				}
				if restarted {
					offset, doubts = total, nil
				}
				total = max(total, offset+v)
				knownMs := tw.known(rule, endMs)
				doubts = slices.DeleteFunc(doubts, func(d doubt) bool { return d.untilMs <= knownMs })
				if lastMs != 0 && !restarted {
					doubts = append(doubts, doubt{lastMs, x.timeMs, last, v < last})
				}
			}
			last, lastMs, before = v, x.timeMs, x
		}
		switch {
		case rule.RestartsName != "":
			return []float64{last, restarts}
		case rule.Series.Kind == metric.KindCounter:
			return []float64{total}
		}
		return []float64{min(max(sum/float64(len(samples)), least), greatest), least, greatest}
	}
}

// doubt is the time between two values of a counter for which a restart is undecided. If the process did restart, what
// was counted before is lost from the total.
type doubt struct {
	afterMs, untilMs int64
	lost             float64
	fell             bool
}

// apart reports whether a restart fits in between.
func (d doubt) apart(rule *metric.Rule) bool { return d.untilMs-d.afterMs >= rule.IntervalMs+1000 }

// fall is a doubt that begins with a fall of the value.
type fall struct {
	doubt
	from ordered
}

// fell reports whether a sample shows that a fall was a restart, and whether that is decided.
func (tw *twin) fell(rule *metric.Rule, f *fall, x ordered, endMs int64) (restarted, decided bool) {
	same := x.producer == f.from.producer // then time shows the order of its samples, because nobody sets a clock
	inOrder := same || x.timeMs-f.afterMs > tw.openMs(rule)
	reports, packMs, intervalMs := tw.reports(rule.Worker)
	apart, knownMs := 3*intervalMs+packMs, endMs+rule.PackSpanMs-packMs
	newest := int64(-1)
	for _, r := range reports {
		if r.atMs > knownMs {
			continue
		}
		newest = max(newest, r.atMs)
		if inOrder && r.startMs > f.afterMs-2000 && r.startMs <= f.untilMs {
			return true, true
		}
	}
	switch {
	case newest < 0: // no starts are reported
		return inOrder, inOrder
	case knownMs-apart < f.untilMs:
		return false, false
	case knownMs-newest <= apart:
		return false, true
	}
	return inOrder, inOrder
}

func (tw *twin) openMs(rule *metric.Rule) int64 {
	_, width, _ := tw.touch(rule)
	return tw.options.LatenessMs + rule.PackSpanMs + width
}

type report struct{ atMs, startMs int64 }

// reports returns what a worker's samples state about the start of its process. Clocks are never set in these worlds.
func (tw *twin) reports(w metric.Worker) (all []report, packMs, intervalMs int64) {
	for id, samples := range tw.byID {
		other := tw.world.rules[id]
		if other.RestartsName == "" || other.Worker != w {
			continue
		}
		packMs, intervalMs = other.PackSpanMs, other.IntervalMs
		for _, x := range samples {
			all = append(all, report{x.timeMs, int64(x.value / 1000 * 1000)})
		}
	}
	return all, packMs, intervalMs
}

// known returns the time up to which all starts are known when a slice closes.
func (tw *twin) known(rule *metric.Rule, endMs int64) int64 {
	for _, other := range tw.world.rules {
		if other.RestartsName != "" && other.Worker == rule.Worker {
			return endMs + rule.PackSpanMs - other.PackSpanMs - other.IntervalMs
		}
	}
	return math.MaxInt64
}

// started searches the samples for a start of the process.
func (tw *twin) started(rule *metric.Rule, afterMs, untilMs, endMs int64) bool {
	reports, packMs, _ := tw.reports(rule.Worker)
	return slices.ContainsFunc(reports, func(r report) bool {
		return r.startMs > afterMs && r.startMs <= untilMs && r.atMs <= endMs+rule.PackSpanMs-packMs &&
			slices.ContainsFunc(reports, func(before report) bool {
				return before.startMs <= r.startMs-2000 && before.atMs < r.atMs // another process
			})
	})
}

// TestOrderOfArrivalDoesNotMatter varies the order in which batches arrive within the lateness. The slices are exactly
// the same, and equal those of the twin. Nothing is late, and counters do not fall.
func TestOrderOfArrivalDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		want := newTwin(w, DefaultOptions()).run()
		for _, batches := range [][]testBatch{w.batches, w.shuffled(t, DefaultOptions().LatenessMs)} {
			s, err := New(DefaultOptions())
			require.NoError(t, err)
			got := w.run(t, s, batches)
			w.requireAll(t, s, want, got)
		}
	})
}

// TestASoleSenderNeedsLessLateness checks that the slices of a sole sender are exactly the same although they close
// earlier, in any order within the lateness of a sole sender.
func TestASoleSenderNeedsLessLateness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := DefaultOptions()
		w := drawWorld(t).ofOneSender(t, o.SoleLatenessMs)
		want := newTwin(w, o).run()
		for _, batches := range [][]testBatch{w.batches, w.shuffled(t, o.SoleLatenessMs)} {
			s, err := New(o)
			require.NoError(t, err)
			w.requireAll(t, s, want, w.run(t, s, batches))
		}
	})
}

// requireAll checks that a slicer stored what its twin did, with no sample late.
func (w *world) requireAll(t require.TestingT, s *Slicer, want, got stored) {
	require.Equal(t, sortedKeys(want), sortedKeys(got))
	for name := range want {
		require.Equal(t, want[name], got[name], name)
	}
	counts := s.Counts()
	require.Zero(t, counts.Late+counts.Open)
	require.Equal(t, w.samples(), counts.InSlices)
	requireNoFalls(t, s.Closed())
}

func (w *world) samples() (n uint64) {
	for _, b := range w.batches {
		n += uint64(len(b.samples))
	}
	return n
}

func sortedKeys(m stored) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func requireNoFalls(t require.TestingT, c *slice.Columns) {
	counters := make(map[slice.Ref]string)
	for _, d := range c.Definitions {
		if d.Series.Kind == metric.KindCounter {
			counters[d.Ref] = d.Series.Labels.String()
		}
	}
	last := make(map[slice.Ref]float64)
	for i, ref := range c.Refs {
		if name, ok := counters[ref]; ok && !math.IsNaN(c.Values[i]) {
			require.GreaterOrEqual(t, c.Values[i], last[ref], "%s falls at %d", name, c.EndsMs[i])
			last[ref] = c.Values[i]
		}
	}
}

// TestTheAccountingBalances checks that samples later than the lateness are counted as late, and that the accounting
// balances.
func TestTheAccountingBalances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		s, err := New(DefaultOptions())
		require.NoError(t, err)
		for _, id := range sortedIDs(w.rules) {
			s.Define(id, w.rules[id])
		}
		var retracted, sent uint64
		clock := int64(worldStartMs)
		for _, b := range w.shuffled(t, 200_000) {
			send(t, s, b)
			sent += uint64(len(b.samples))
			switch rapid.IntRange(0, 40).Draw(t, "what else") {
			case 0:
				id := rapid.SampledFrom(sortedIDs(w.rules)).Draw(t, "withdrawn")
				retracted += uint64(s.Retract(id))
				s.Define(id, w.rules[id])
			case 1, 2, 3:
				clock += rapid.Int64Range(-50_000, 50_000).Draw(t, "step")
				s.Tick(clock)
			}
			c := s.Counts()
			require.Equal(t, sent, c.InSlices+c.Open+c.Late+retracted)
		}
		s.CloseAll()
		requireNoFalls(t, s.Closed())
		requireOneValueATime(t, s.Closed())
	})
}

// requireOneValueATime checks that a closed slice never changes, and that a series' slices are in order of time.
func requireOneValueATime(t require.TestingT, c *slice.Columns) {
	last := make(map[slice.Ref]int64)
	for i, ref := range c.Refs {
		require.Greater(t, c.EndsMs[i], last[ref], "ref %d", ref)
		last[ref] = c.EndsMs[i]
	}
}

// TestRestartsChangeNothing checks that a restart from a snapshot between any two entries changes nothing in the
// output, including refs.
func TestRestartsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		steps := drawSteps(t, w)
		o := drawMemory(t)
		straight, restarted := &stepper{world: w, options: o}, &stepper{world: w, options: o}
		straight.start(t)
		restarted.start(t)
		restarts := rapid.SliceOfDistinct(rapid.IntRange(0, len(steps)-1), rapid.ID[int]).Draw(t, "restarts after")
		for i, step := range steps {
			straight.do(t, step)
			restarted.do(t, step)
			if slices.Contains(restarts, i) {
				restarted.restart(t)
			}
		}
		require.Equal(t, straight.out.String(), restarted.out.String())
		require.Equal(t, straight.slicer.Counts(), restarted.slicer.Counts())
		require.Equal(t, straight.slicer.Snapshot(), restarted.slicer.Snapshot())
	})
}

// drawMemory returns options with which a slicer keeps state for long or hardly at all, and much or little of it.
func drawMemory(t *rapid.T) Options {
	o := withHealth()
	if rapid.Bool().Draw(t, "forgets") {
		o.LatenessMs, o.BacklogMs, o.KeepMs = 12_000, 40_000, 90_000
	}
	o.MaxSeries = rapid.SampledFrom([]int{o.MaxSeries, 6}).Draw(t, "max series")
	o.MaxOpenSamples = rapid.SampledFrom([]int{o.MaxOpenSamples, 200}).Draw(t, "max open")
	o.Health.MaxMetrics = rapid.SampledFrom([]int{o.Health.MaxMetrics, 3}).Draw(t, "max metrics")
	return o
}

// step is an entry. stepper.do implements the kinds.
type step struct {
	kind  string
	batch testBatch
	n     int64
}

func drawSteps(t *rapid.T, w *world) []step {
	steps := []step{{kind: "connect", n: 0}, {kind: "connect", n: 1}}
	for _, b := range w.shuffled(t, 60_000) {
		steps = append(steps, step{kind: "batch", batch: b}, step{kind: "tick", n: b.last() + 2000})
		switch kind := rapid.SampledFrom([]string{"", "", "", "", "connect", "disconnect", "started", "detach",
			"withdraw", "describe", "tick", "beats", "idle", "again", "faster", "refused", "dropped", "sole"}).Draw(t,
			"kind"); kind {
		case "":
		case "detach", "withdraw", "again", "faster", "refused":
			steps = append(steps, step{kind: kind, n: int64(rapid.SampledFrom(sortedIDs(w.rules)).Draw(t, "id"))})
		case "tick":
			for n := range rapid.Int64Range(1, 400).Draw(t, "ticks") {
				steps = append(steps, step{kind: "tick", n: b.last() + 2000 + n*4000})
			}
		default:
			steps = append(steps, step{kind: kind, n: rapid.Int64Range(0, 1).Draw(t, "n")})
		}
	}
	return append(steps, step{kind: "close"})
}

type stepper struct {
	world   *world
	options Options
	slicer  *Slicer
	entered uint32 // series that replaced another one
	out     strings.Builder
}

func (p *stepper) start(t require.TestingT) {
	var err error
	p.slicer, err = New(p.options)
	require.NoError(t, err)
}

func (p *stepper) restart(t require.TestingT) {
	snapshot := p.slicer.Snapshot()
	var err error
	p.slicer, err = Restore(snapshot, p.options)
	require.NoError(t, err)
	require.Equal(t, snapshot, p.slicer.Snapshot())
}

func (p *stepper) do(t require.TestingT, x step) {
	s := p.slicer
	switch x.kind {
	case "batch":
		s.beginBatch(x.batch.producer, x.batch.sequence)
		for _, sample := range x.batch.samples {
			if !s.Add(sample.id, sample.timeMs, sample.value) {
				s.Define(sample.id, p.world.rules[sample.id])
				require.True(t, s.Add(sample.id, sample.timeMs, sample.value))
			}
			if sample.id%2 == 0 {
				s.received(sample.timeMs + 10)
			}
		}
		s.endBatch()
	case "tick":
		s.Tick(x.n)
	case "beats": // a producer sends other data for two minutes
		for range 120 {
			s.Tick(s.tickMs + 1000)
			s.beginBatch(uint32(x.n), 0)
			s.endBatch()
		}
	case "idle": // nobody sends anything for longer than a sweep takes to run
		for range 150 {
			s.Tick(s.tickMs + 5000)
		}
	case "again": // the series gets another id, as from a journal that had forgotten it
		s.Detach(uint32(x.n))
		p.entered++
		s.Define(1000*p.entered+uint32(x.n), p.world.rules[uint32(x.n)])
		s.Define(uint32(x.n), p.world.rules[uint32(x.n)]) // collides
	case "faster": // its interval changes
		rule := p.world.rules[uint32(x.n)]
		rule.IntervalMs /= 2
		s.Define(uint32(x.n), rule)
	case "refused":
		s.Refused(p.world.rules[uint32(x.n)], RefusedCollision, 2)
	case "dropped":
		s.Dropped(p.world.rules[0].Worker, fmt.Sprint("reason ", x.n), 3)
	case "connect":
		s.Connect(uint32(x.n))
	case "disconnect":
		s.Disconnect(uint32(x.n))
	case "started":
		s.Started()
	case "sole":
		s.SoleSender(uint32(x.n), "t", x.n == 1)
	case "detach":
		s.Detach(uint32(x.n))
	case "withdraw":
		s.Retract(uint32(x.n))
	case "describe":
		rule := p.world.rules[0]
		s.Describe(rule.Worker,
			metric.Series{Kind: metric.KindGauge, Labels: labels.FromStrings("__name__", "info", "worker",
				rule.Worker.String(), "pid", fmt.Sprint(x.n))})
		s.Describe(rule.Worker,
			metric.Series{Kind: metric.KindGauge, Labels: labels.FromStrings("__name__", "topology_info", "id",
				fmt.Sprint(x.n))})
	case "close":
		s.CloseAll()
	}
	c := s.Closed()
	for i, ref := range c.Refs {
		fmt.Fprintf(&p.out, "%d %d %x\n", ref, c.EndsMs[i], math.Float64bits(c.Values[i]))
	}
	for _, ref := range c.Retired {
		fmt.Fprintf(&p.out, "retired %d\n", ref)
	}
	c.Reset()
}
