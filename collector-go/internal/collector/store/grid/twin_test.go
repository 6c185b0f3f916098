package grid

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/read"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/gridtest"
)

var (
	twinSeed      = flag.Uint64("twin.seed", 1, "seed of the series that TestTheTwinAgrees compares answers over")
	twinQuestions = cases.Flag("twin.questions", 2000, 200, "how many expressions TestTheTwinAgrees asks")
)

// Whatever a store has been through, PromQL must give the same results as with a store of Prometheus that got the same
// slices, with floats equal bit by bit. gridtest.Compare says what may differ, and why. This table says where each
// ingredient comes from, and where it is counted:
//
//	random series                        gridtest.NewAgedWorld: gauges, counters, histograms, and both under one name    Tally.World
//	gaps, off-grid, intervals            life.live; what is on no other's grid comes every 7 s, or behind a gap           Tally.World
//	late, the late marker of a source    World.arrive: by seconds to hours, also the marker of a gap alone                Tally.World
//	slices months late through the port  spans that are MonthsLate: handed over, as all is, by Append, in the last hour   Tally.World
//	schemas, reset hints, both kinds     distribution.observe and hint; source.next                                       Tally.World
//	resets and markers at edges          life.at plants them; counted in the parts' pages as they lie on the disk         pairs.edges
//	ages from now to 30 days, and more   Spec.Spans: where questions are asked                                            Tally.Questions
//	series that come and go              World.HandOvers: a Ref is retired, and stands for another series                 pairs.feed
//	restarts                             pairs.feed: kills, losses of power, clean ends; then what follows the cursor     pairs.feed
//	levels                               parts of level 2 (36 flushes); watched counts what is read of each width         pairs.levels
//	snapshot and flush during queries    pairs.alongside: slices of what is asked about come, are written, or cannot be,  pairs.alongside
//	                                     and merged
//	                                     pairs.disturbed: replays, flushes, merges, deletions and snapshots, which are    disturbance
//	                                     opened and asked too
//	what contradicts                     pairs.contradict: other values for what there is, in memory or in parts          pairs.contradict
//	retention                            pairs.forget: the edge months ago and within what is asked, where windows        pairs.forget
//	                                     lie across it
//	expressions                          gridtest.Spec: instant and range, rate, *_over_time, subqueries, offset, @,      Tally.Questions
//	                                     aggregations, histogram functions, timestamp()
//
// A real Prometheus is compared in httpapi's TestRealPrometheusOverAWorld. Sources that overlap in any way, and levels
// that cannot be read, are tested in package read, by TestAnswersAsPrometheus and TestLevelsAnswerAsPrometheus.
func TestTheTwinAgrees(t *testing.T) {
	p := newPairs(t, *twinSeed)
	n := int(twinQuestions.N())
	p.feed(n * 3 / 10)
	p.alongside(n * 2 / 10)
	p.edges()
	p.disturbed(n * 2 / 10)
	p.forget(n * 3 / 10)
	p.tally.World(p.world)
	p.enough(n)
}

// pairs holds a store and its twin.
type pairs struct {
	t      *testing.T
	random *rand.Rand
	*harness
	world *gridtest.World
	steps []gridtest.HandOver
	next  int // index of the first step that was not handed over
	twin  *gridtest.Twin
	seen  int // number of steps that the twin got
	nowMs atomic.Int64
	seeds int64 // for questions
	tally gridtest.Tally
	reads [len(run.LevelsMs)]atomic.Int64
}

func newPairs(t *testing.T, seed uint64) *pairs {
	const hour, day = int64(3_600_000), int64(86_400_000)
	nowMs := now.UnixMilli()
	ago := func(fromMs, lengthMs int64) gridtest.Span {
		return gridtest.Span{FirstMs: nowMs - fromMs, LastMs: nowMs - fromMs + lengthMs}
	}
	late := func(s gridtest.Span) gridtest.Span { s.MonthsLate = true; return s }
	p := &pairs{t: t, random: rand.New(rand.NewPCG(seed, 8)), harness: newHarness(t), tally: gridtest.Tally{}}
	p.options.RetentionTime, p.options.MinFreeBytes, p.options.FlushHandOvers = 120*24*time.Hour, 0, 20
	p.options.Now = func() time.Time { return time.UnixMilli(p.nowMs.Load()) }
	p.world = gridtest.NewAgedWorld(seed, p.options.Partition, late(ago(100*day, hour)), late(ago(75*day, 2*hour)),
		ago(30*day, 2*hour), ago(21*day, hour), ago(10*day, 2*hour), ago(4*day, 90*60_000), ago(36*hour, hour),
		ago(20*hour, 20*hour))
	p.steps = p.world.HandOvers(seed)
	p.twin = p.world.Twin(t)
	p.nowMs.Store(p.steps[0].AtMs)
	p.open(t)
	return p
}

// ask compares the answers to n questions. A quarter of these ask for the least or greatest of long windows.
func (p *pairs) ask(n int, ours, theirs storage.Queryable, spec gridtest.Spec) {
	p.t.Helper()
	for _, extremes := range []bool{false, true} {
		some := n / 4
		if !extremes {
			some = n - n/4
		}
		spec.Extremes = extremes
		p.seeds++
		p.tally.Questions(gridtest.Compare(p.t, p.seeds, some, ours, theirs, spec), now.UnixMilli())
		p.tally["asked"] += some
	}
}

// spec returns a spec for questions about what was handed over.
func (p *pairs) spec() gridtest.Spec {
	spec := p.world.Spec()
	spec.LastMs = p.nowMs.Load()
	spec.Spans = slices.Clone(spec.Spans)
	done := p.nowMs.Load() > p.world.LastHourMs()
	spec.Spans = slices.DeleteFunc(spec.Spans, func(s gridtest.Span) bool {
		return s.FirstMs > spec.LastMs-60_000 || s.MonthsLate && !done
	})
	for i := range spec.Spans {
		spec.Spans[i].LastMs = min(spec.Spans[i].LastMs, spec.LastMs)
	}
	spec.Spans = append(spec.Spans, gridtest.Span{FirstMs: spec.LastMs - 3_600_000, LastMs: spec.LastMs})
	return spec
}

// feed hands over everything except the last hour, with restarts at random points, and asks n questions in between.
func (p *pairs) feed(n int) {
	const stops = 8
	last := slices.IndexFunc(p.steps, func(h gridtest.HandOver) bool { return h.AtMs > p.world.LastHourMs()+60_000 })
	for stop := range stops {
		p.hand((stop + 1) * last / stops)
		p.ask(n/stops*3/4, p.watched(p.store), p.twin, p.spec())
		copied := p.snapshot(fmt.Sprint("/copy-", stop))
		p.ask(n/stops/4, p.watched(copied), p.twin, p.spec())
		require.NoError(p.t, copied.Close(p.t.Context()))
	}
}

// hand hands over the steps before the n-th.
func (p *pairs) hand(n int) {
	for p.next < n {
		step := &p.steps[p.next]
		p.nowMs.Store(max(p.nowMs.Load(), step.AtMs))
		rejected, err := p.store.Append(p.t.Context(), step.UpTo, &step.Columns)
		require.NoError(p.t, err)
		require.Empty(p.t, rejected)
		p.next++
		if p.next > p.seen {
			p.twin.Hand(p.t, &step.Columns)
			p.seen = p.next
			p.tally["retired"] += len(step.Retired)
			p.tally["defined"] += len(step.Definitions)
		}
		if p.next == p.seen && p.random.IntN(10) == 0 {
			p.contradict()
		}
		switch p.random.IntN(150) {
		case 0:
			p.restart("kills", func() { p.reboot(false) })
		case 1:
			p.restart("losses of power", func() { p.reboot(true) })
		case 2:
			p.restart("clean ends", func() { require.NoError(p.t, p.store.Close(p.t.Context())) })
		case 3:
			require.NoError(p.t, p.store.Flush(p.t.Context()))
			p.tally["flushes"]++
		}
	}
}

// contradict hands over other values for existing numbers. No answer may contain them.
func (p *pairs) contradict() {
	i := p.random.IntN(len(p.world.Series))
	points, atMs := p.world.Series[i].Points, p.steps[p.next-1].AtMs
	const ref = 2000 // which no other series has
	l := p.world.Series[i].Labels
	c := &slice.Columns{
		Definitions: []slice.Definition{{Ref: ref, Series: metric.Series{Labels: l, Kind: metric.KindGauge},
			IntervalMs: p.world.Series[i].IntervalMs}}}
	for range 20 {
		if at := &points[p.random.IntN(len(points))]; at.ArrivesMs <= atMs && !at.IsHistogram &&
			!slices.Contains(c.EndsMs, at.Ms) {
			c.Refs, c.EndsMs, c.Values = append(c.Refs, ref), append(c.EndsMs, at.Ms),
				append(c.Values, 1e9*float64(1-2*p.random.IntN(2)))
		}
	}
	c.Retired = []slice.Ref{ref}
	rejected, err := p.store.Append(p.t.Context(), p.steps[p.next-1].UpTo, c)
	require.NoError(p.t, err)
	p.tally["contradictions that are rejected"] += rejected[RejectedConflict]
	p.tally["contradictions that are not"] += len(c.Refs) - rejected[RejectedConflict]
	delete(rejected, RejectedConflict)
	require.Empty(p.t, rejected)
}

// restart ends the store, opens it again, and repeats what follows its durable position.
func (p *pairs) restart(how string, end func()) {
	p.tally[how]++
	p.count()
	end()
	p.open(p.t)
	for p.next > 0 && p.steps[p.next-1].UpTo > p.store.Durable() {
		p.next--
		p.tally["steps that come again"]++
	}
	p.define(p.store, p.next)
}

// define repeats the definitions, as a feed does.
func (p *pairs) define(s *Store, next int) {
	upTo := uint64(0)
	if next > 0 {
		upTo = p.steps[next-1].UpTo
	}
	_, err := s.Append(p.t.Context(), upTo, &slice.Columns{Definitions: gridtest.Defined(p.steps, next)})
	require.NoError(p.t, err)
}

// count adds the metrics of a store that ends.
func (p *pairs) count() {
	p.tally["merges"] += p.merges()
}

// snapshot opens a snapshot of the store in another directory.
func (p *pairs) snapshot(dir string) *Store {
	require.NoError(p.t, p.store.Snapshot(p.t.Context(), dir))
	p.tally["snapshots"]++
	o := p.options
	o.FS = p.disk
	s, err := Open(dir, o)
	require.NoError(p.t, err)
	return s
}

// edges counts resets and gap markers at the edges of partitions, and at those of pages on disk.
func (p *pairs) edges() {
	widthMs := p.options.Partition.Milliseconds()
	reset, marker := map[string]map[int64]bool{}, map[string]map[int64]bool{}
	for i := range p.world.Series {
		s := &p.world.Series[i]
		key := s.Labels.String()
		reset[key], marker[key] = map[int64]bool{}, map[int64]bool{}
		for j := range s.Points {
			ms := s.Points[j].Ms
			marker[key][ms] = s.Points[j].IsMarker()
			if j == 0 {
				continue
			}
			reset[key][ms] = gridtest.IsReset(s, j)
			if floor(s.Points[j-1].Ms, widthMs) == floor(ms, widthMs) || ms-s.Points[j-1].Ms > 60_000 {
				continue
			}
			p.tally.Count("resets at edges of partitions", reset[key][ms])
			p.tally.Count("markers at edges of partitions", marker[key][ms] || s.Points[j-1].IsMarker())
		}
	}
	for _, piece := range p.store.pieces {
		p.tally.Count("parts with levels", piece.level >= levelledFrom)
		require.NoError(p.t, piece.Each(func(l labels.Labels, runs []run.Run) error {
			for i := 1; i < len(runs); i++ {
				key := l.String()
				p.tally.Count("resets at edges of pages", reset[key][runs[i].FirstMs])
				p.tally.Count("markers at edges of pages", marker[key][runs[i].FirstMs] ||
					marker[key][runs[i-1].LastMs()])
			}
			return nil
		}))
	}
}

// alongside hands over the last hour while it asks n questions, which are about what was handed over before.
func (p *pairs) alongside(n int) {
	p.options.FlushHandOvers = 2
	next := p.next
	p.restart("clean ends", func() { require.NoError(p.t, p.store.Close(p.t.Context())) })
	p.hand(next)
	const portions = 16
	merges, sequence := p.merges(), p.store.manifest.sequence
	for portion := range portions {
		fails := portion%2 == 1
		if fails { // the frozen head stays in memory together with new slices
			p.store.workers.Wait()
			p.disk.SetFault(func(int, string, string) error { return disktest.ErrInputOutput })
			p.give(&p.steps[p.next])
			p.twin.Hand(p.t, &p.steps[p.next].Columns)
			p.next++
			p.store.workers.Wait()
			require.ErrorIs(p.t, p.store.Flush(p.t.Context()), disktest.ErrInputOutput)
			p.tally["questions while nothing can be written"] += n / portions
		}
		until := gridtest.Within{Queryable: p.watched(p.store), MinMs: math.MinInt64, MaxMs: p.steps[p.next-1].AtMs}
		begun := make(chan struct{}, 1)
		ours := beginning{until, begun}
		theirs := gridtest.Within{Queryable: p.twin, MinMs: until.MinMs, MaxMs: until.MaxMs}
		some := p.steps[p.next : p.next+(len(p.steps)-p.next)/(portions-portion)]
		var ended sync.WaitGroup
		during := 0
		ended.Go(func() {
			left := some
			for range begun {
				if len(left) > 0 {
					p.give(&left[0])
					left = left[1:]
					during++
				}
			}
			for i := range left {
				p.give(&left[i])
			}
		})
		spec := p.spec() // mostly about slices that may not be in parts yet
		spec.Spans = []gridtest.Span{{FirstMs: until.MaxMs - 7_200_000, LastMs: until.MaxMs},
			{FirstMs: until.MaxMs - 120_000, LastMs: until.MaxMs}, {FirstMs: until.MaxMs - 30_000, LastMs: until.MaxMs}}
		p.ask(n/portions, ours, theirs, spec)
		close(begun)
		ended.Wait()
		p.tally["steps during questions about them"] += during
		if fails {
			p.disk.SetFault(nil)
			require.NoError(p.t, p.store.Flush(p.t.Context()))
		}
		for i := range some {
			p.twin.Hand(p.t, &some[i].Columns)
		}
		p.next += len(some)
		p.seen = p.next
		p.nowMs.Store(p.steps[p.next-1].AtMs)
	}
	p.store.workers.Wait()
	p.tally["merges during questions"] += p.merges() - merges
	p.tally["manifests during questions"] += int(p.store.manifest.sequence - sequence)
}

// beginning is a store that signals when a question begins.
type beginning struct {
	storage.Queryable
	begun chan<- struct{}
}

func (b beginning) Querier(minMs, maxMs int64) (storage.Querier, error) {
	begin(b.begun)
	return b.Queryable.Querier(minMs, maxMs)
}

func (beginning) ComputesWindows() bool { return true }

// begin signals that a question begins, unless the reaction to an earlier signal has not ended.
func begin(begun chan<- struct{}) {
	select {
	case begun <- struct{}{}:
	default:
	}
}

// give hands over a step, from a goroutine other than the test's.
func (p *pairs) give(step *gridtest.HandOver) {
	rejected, err := p.store.Append(context.Background(), step.UpTo, &step.Columns)
	assert.NoError(p.t, err)
	assert.Empty(p.t, rejected)
}

func (p *pairs) merges() int { return int(testutil.ToFloat64(p.store.figures.merged)) }

// disturbed asks questions during replays, flushes, merges, deletions and snapshots, none of which may change the
// answers.
func (p *pairs) disturbed(n int) {
	d := &disturbance{pairs: p, begun: make(chan struct{}, 4), position: p.steps[len(p.steps)-1].UpTo,
		snapshots: make(chan int)}
	merges, sequence, deleted := p.merges(), p.store.manifest.sequence, p.deleted()
	var ended sync.WaitGroup
	ended.Go(d.append)
	ended.Go(d.snapshot)
	p.ask(n-n/10, d, p.twin, p.spec())
	close(d.begun)
	ended.Wait()
	p.store.workers.Wait()
	p.tally["snapshots during questions"] += d.copies
	p.tally["merges during questions"] += p.merges() - merges
	p.tally["manifests during questions"] += int(p.store.manifest.sequence - sequence)
	p.tally["parts deleted during questions"] += p.deleted() - deleted
	p.count()
	for i := range d.copies {
		o := p.options
		o.FS = p.disk
		s, err := Open(d.copy(i), o)
		require.NoError(p.t, err)
		p.ask(n/10/d.copies, p.watched(s), p.twin, p.spec())
		require.NoError(p.t, s.Close(p.t.Context()))
	}
}

// deleted returns how many parts the open store has deleted because of their age.
func (p *pairs) deleted() int {
	return int(testutil.ToFloat64(p.store.figures.expiredParts.WithLabelValues(boundTime)))
}

// disturbance does something at the beginning of each question.
type disturbance struct {
	*pairs
	begun     chan struct{}
	snapshots chan int // number of hand-overs so far
	position  uint64
	copies    int
}

// Querier returns the store's querier, and triggers the next step of the disturbance.
func (d *disturbance) Querier(minMs, maxMs int64) (storage.Querier, error) {
	begin(d.begun)
	return d.watched(d.store).Querier(minMs, maxMs)
}

// ComputesWindows implements plan.Computing.
func (d *disturbance) ComputesWindows() bool { return true }

// append hands over other series in all partitions, and sometimes repeats earlier slices, which must change nothing.
func (d *disturbance) append() {
	defer close(d.snapshots)
	n := 0
	for range d.begun {
		n++
		if n%10 == 0 {
			d.again(d.random.IntN(len(d.steps)))
		}
		if n%20 == 0 { // one more partition expires
			d.nowMs.Add(d.options.Partition.Milliseconds())
		}
		d.position += 10
		d.give(&gridtest.HandOver{UpTo: d.position, Columns: *d.others(int64(n))})
		if n%80 == 0 {
			d.snapshots <- n
		}
	}
	d.tally["hand-overs during questions"] = n
}

// others returns slices of a series that no question is about.
func (d *disturbance) others(i int64) *slice.Columns {
	const ref = 1000 // which no other series has
	l := labels.FromStrings(model.MetricNameLabel, "others_total", "component", "Filter", "worker", "w0", "topology",
		"a", "life", fmt.Sprint(i/7))
	c := &slice.Columns{
		Definitions: []slice.Definition{{Ref: ref, Series: metric.Series{Labels: l, Kind: metric.KindCounter},
			IntervalMs: 1000}}}
	fromMs := []int64{d.store.oldestMs(), d.store.oldestMs() + d.options.Partition.Milliseconds(), d.nowMs.Load()}
	for _, span := range d.world.Spans {
		fromMs = append(fromMs, span.FirstMs)
	}
	for _, ms := range fromMs {
		c.Refs, c.EndsMs, c.Values = append(c.Refs, ref), append(c.EndsMs, ms+i*1000), append(c.Values, float64(i))
	}
	if i%7 == 6 {
		c.Retired = []slice.Ref{ref}
	}
	return c
}

// again hands over some steps a second time.
func (d *disturbance) again(from int) {
	d.store.Rewind(d.steps[from].UpTo)
	d.define(d.store, from)
	for i := from; i < min(from+30, len(d.steps)); i++ {
		d.give(&d.steps[i])
	}
}

func (d *disturbance) copy(i int) string { return fmt.Sprint("/meanwhile-", i) }

func (d *disturbance) snapshot() {
	for range d.snapshots {
		if assert.NoError(d.t, d.store.Snapshot(context.Background(), d.copy(d.copies))) {
			d.copies++
		}
	}
}

// forget moves the bound of retention: first to where there are no slices, and then through the range of the questions,
// across restarts.
func (p *pairs) forget(n int) {
	p.nowMs.Store(now.UnixMilli())
	edges := []time.Duration{33 * 24 * time.Hour, 20*24*time.Hour + time.Hour, 10 * time.Hour, 4 * time.Hour}
	for i, retention := range edges {
		require.NoError(p.t, p.store.Close(p.t.Context()))
		p.options.RetentionTime = retention
		p.open(p.t)
		before := p.deleted()
		require.NoError(p.t, p.store.Flush(p.t.Context()))
		p.tally["parts deleted"] += p.deleted() - before
		if i%2 == 1 {
			p.reboot(i%4 == 1)
			p.open(p.t)
		}
		edgeMs, spec := p.store.oldestMs(), p.spec()
		kept := gridtest.Within{Queryable: p.twin, MinMs: edgeMs, MaxMs: math.MaxInt64}
		p.ask(n/len(edges)/2, p.watched(p.store), kept, p.after(spec, edgeMs))
		if edgeMs < now.Add(-20*time.Hour).UnixMilli() {
			p.ask(n/len(edges)/2, p.watched(p.store), kept, p.after(spec, edgeMs))
			continue
		}
		across := spec
		across.Spans = []gridtest.Span{{FirstMs: edgeMs - 3_600_000/2, LastMs: edgeMs + 3_600_000},
			{FirstMs: edgeMs, LastMs: edgeMs + 4*3_600_000}}
		answered := p.tally["answered"]
		p.ask(n/len(edges)/2, p.watched(p.store), kept, across)
		p.tally["answered across the edge"] += p.tally["answered"] - answered
	}
}

// after changes a spec to questions about slices after a time.
func (p *pairs) after(spec gridtest.Spec, ms int64) gridtest.Spec {
	spec.Spans = slices.DeleteFunc(slices.Clone(spec.Spans), func(s gridtest.Span) bool { return s.LastMs < ms })
	return spec
}

// watched wraps a store and counts how often its levels are read.
func (p *pairs) watched(s *Store) storage.Queryable { return watched{s, p.reads[:]} }

type watched struct {
	*Store
	reads []atomic.Int64 // by level
}

func (w watched) Querier(minMs, maxMs int64) (storage.Querier, error) {
	sources, release, err := w.sources(minMs, maxMs)
	if err != nil {
		return nil, err
	}
	for i := range sources {
		if p, is := sources[i].(*piece); is {
			sources[i] = watchedPiece{p, w.reads}
		}
	}
	return read.NewQuerier(sources, minMs, maxMs, release), nil
}

type watchedPiece struct {
	*piece
	reads []atomic.Int64
}

func (w watchedPiece) Select(ctx context.Context, minMs, maxMs int64, matchers []*labels.Matcher) ([]run.Found, error) {
	found, err := w.piece.Select(ctx, minMs, maxMs, matchers)
	for i := range found {
		found[i].Reader = w
	}
	return found, err
}

func (w watchedPiece) Extremes(ref uint32, levelMs int64, greatest bool, fromMs, toMs int64) (run.Run, error) {
	w.reads[slices.Index(run.LevelsMs[:], levelMs)].Add(1)
	return w.piece.Extremes(ref, levelMs, greatest, fromMs, toMs)
}

// least is the required number of each ingredient, about a third of the usual number. leastOfQuestions has the numbers
// for 2,000 questions.
var least = []struct {
	n    int
	name string
}{
	{30, "series"}, {100_000, "slices"}, {20_000, "slices on the grid"}, {20_000, "slices off the grid"},
	{10_000, "histograms"},
	{200, "gaps without a marker"}, {200, "gaps' markers"}, {100, "intervals that change"}, {300, "counter resets"},
	{200, "schemas that change"},
	{1000, "histograms with the hint none"}, {1000, "histograms with the hint no reset"},
	{100, "histograms with the hint reset"},
	{1000, "histograms with the hint gauge"}, {1, "series of numbers and histograms"}, {5000, "late slices"},
	{30, "markers later than what follows"},
	{5000, "slices months late"}, {100, "retired"}, {1000, "defined"},
	{1, "resets at edges of pages"}, {30, "markers at edges of pages"}, {3, "resets at edges of partitions"},
	{15, "markers at edges of partitions"},
	{6, "kills"}, {6, "losses of power"}, {6, "clean ends"}, {100, "steps that come again"}, {6, "flushes"},
	{8, "snapshots"}, {5, "contradictions that are rejected"}, {100, "contradictions that are not"},
	{100, "merges"}, {2, "parts with levels"}, {20, "parts deleted"},
}

var leastOfQuestions = []struct {
	n    int
	name string
}{
	{1000, "answered"}, {40, "answered across the edge"}, {30, "age of an hour"}, {90, "age of a day"},
	{90, "age of a week"}, {150, "age of a month"},
	{30, "age of months"}, {100, "instant"}, {300, "range"}, {80, "rate"}, {180, "_over_time"}, {25, "subquery"},
	{80, "offset"}, {35, "@"},
	{100, "aggregation"}, {60, "histogram function"}, {40, "timestamp"}, {15, "resets or changes"},
	{20, "vectors joined"}, {10, "absent"},
	{5, "a window of days"}, {25, "relabelled"}, {180, "selector of patterns"}, {100, "least or greatest"},
	{50, "levels read of 1h0m0s"}, {50, "levels read of 5m0s"}, {10, "levels read of 1m0s"},
	{1, "snapshots during questions"}, {30, "merges during questions"}, {50, "manifests during questions"},
	{10, "parts deleted during questions"},
	{100, "hand-overs during questions"}, {40, "steps during questions about them"},
	{60, "questions while nothing can be written"},
}

// enough requires that all ingredients occurred often enough.
func (p *pairs) enough(n int) {
	for i := range p.reads {
		p.tally["levels read of "+(time.Duration(run.LevelsMs[i])*time.Millisecond).String()] = int(p.reads[i].Load())
	}
	for _, name := range slices.Sorted(maps.Keys(p.tally)) {
		p.t.Logf("%7d %s", p.tally[name], name)
	}
	for _, of := range least {
		assert.GreaterOrEqual(p.t, p.tally[of.name], of.n, of.name)
	}
	for _, of := range leastOfQuestions {
		least := float64(of.n*n) / 2000
		if n < 2000 { // as with the race detector: chance matters more with few questions
			least -= 2 * math.Sqrt(least)
		}
		assert.GreaterOrEqual(p.t, float64(p.tally[of.name]), least, of.name)
	}
}
