package feed

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/storetest"
)

var (
	arrivalFirst = flag.Uint64("arrival.first", 1, "the first seed of the tests of order and clocks")
	arrivalSeeds = cases.Flag("arrival.seeds", 10, 2, "how many seeds the tests of order and clocks play")
)

// arriving is a batch in transit, with the seconds of the trial in which it arrives, at first and again.
type arriving struct {
	sender  *coreSender
	batch   *sent
	seconds []int
}

// trial is a few minutes of reports that two or three senders send about their workers, and the arrival time of each
// batch.
type trial struct {
	seed     uint64
	seconds  int
	arriving []*arriving
	step     map[int]int64 // by second: step of the collector's clock at its start, in ms
	late     int           // number of samples that are too late on purpose
}

// newTrial returns a trial in which every batch arrives once, in its second and in order.
func newTrial(seed uint64) *trial {
	random := rand.New(rand.NewPCG(seed, 5))
	x := &trial{seed: seed, seconds: 80 + random.IntN(100), step: map[int]int64{}}
	for i := range 2 + random.IntN(2) {
		s := &coreSender{place: journal.ProducerDefined{Topology: "t", TopologyID: "t-1", Host: "h",
			Port: 6700 + uint32(i), Task: int32(i)}}
		s.epoch[0], s.epoch[1] = byte(i+1), byte(seed)
		for second := range x.seconds {
			x.arriving = append(x.arriving, &arriving{s, x.batch(s, random, second), []int{second}})
		}
	}
	slices.SortStableFunc(x.arriving, func(a, b *arriving) int { return a.seconds[0] - b.seconds[0] })
	return x
}

// batch returns a sender's batch of a second. It contains totals, gauges, packs and histograms, and series that another
// sender reports too.
func (x *trial) batch(s *coreSender, random *rand.Rand, second int) *sent {
	atMs := int64(t0) + int64(second+1)*1000
	s.sequence++
	b := &sent{name: batchName{s.epoch, s.sequence}, receivedMs: atMs}
	s.cpuMs += float64(random.IntN(700)) / 3
	shared := s.series("own.count", "FilterBolt", 4, metric.ShapeNumber, metric.Delta, 10_000, 0)
	shared.Port = 6700
	b.samples = []sentSample{
		{s.series("cpu.user_ms", "__system", -1, metric.ShapeSampler, metric.Cumulative, 1000, 10_000), atMs, s.cpuMs},
		{s.series("heap.committed_bytes", "__system", -1, metric.ShapeSampler, metric.Gauge, 1000, 10_000), atMs,
			float64(random.IntN(1 << 30))},
		// a different value each, because two samples of one value count as one
		{shared, atMs, float64(random.IntN(1000))/7 + 1000*float64(s.place.Port)},
	}
	if atMs%5000 == 0 {
		block := sentBlock{firstMs: atMs - 4000,
			layout: []metric.Raw{s.series("heap.used_bytes", "__system", -1, metric.ShapeSampler, metric.Gauge,
				1000, 10_000),
				s.series("cpu.system_ms", "__system", -1, metric.ShapeSampler, metric.Cumulative, 1000, 10_000)}}
		for column := range block.layout {
			for row := range 5 {
				block.values = append(block.values, float64(random.IntN(1000))*float64(1-column)+
					float64(column)*(s.cpuMs/2+float64(row)))
			}
		}
		b.blocks = append(b.blocks, block)
	}
	if atMs%10_000 == 0 {
		s.count += uint64(random.IntN(50))
		b.histograms = append(b.histograms,
			sentSample{s.series("bullet_filter_latency_seconds", "FilterBolt", 9, metric.ShapeHistogram,
				metric.Cumulative, 10_000, 0), atMs, float64(s.count)})
	}
	return b
}

// mixed delays each batch by up to the allowed lateness, and makes it arrive up to three times.
func (x *trial) mixed(lateness int) {
	random := rand.New(rand.NewPCG(x.seed, 6))
	for _, a := range x.arriving {
		first := a.seconds[0] + random.IntN(lateness)
		a.seconds = []int{first}
		for range random.IntN(3) {
			a.seconds = append(a.seconds, first+random.IntN(2*lateness))
		}
	}
}

// tooOldMs is longer than a slice stays open: the lateness, a pack's span, a slice's width, and the delay that mixed
// adds.
const tooOldMs = 12_000 + 10_000 + 10_000 + 12_000 + 6_000

// tooLate adds batches with new sequences whose samples are older than everything that may still arrive.
func (x *trial) tooLate() {
	random := rand.New(rand.NewPCG(x.seed, 7))
	for range 1 + random.IntN(5) {
		s := x.arriving[random.IntN(len(x.arriving))].sender
		second := 60 + random.IntN(x.seconds-60)
		b := x.batch(s, random, second)
		b.blocks, b.histograms = nil, nil
		for i := range b.samples {
			b.samples[i].timeMs -= tooOldMs
		}
		x.late += len(b.samples)
		x.arriving = append(x.arriving, &arriving{s, b, []int{second}})
	}
}

// play sends the trial through a journal and a feed into a store, and returns the content of the store. It leaves out
// the metrics about the collection itself, because they depend on how samples arrived.
func (x *trial) play(t *testing.T) (map[string][]storetest.Point, Accounting) {
	c := &core{t: t, random: rand.New(rand.NewPCG(x.seed, 11)), disk: disktest.NewMemory(x.seed),
		acknowledged: map[batchName]bool{}}
	c.journaled = newJournaled(t)
	c.clock.Store(t0)
	for _, a := range x.arriving {
		if c.journaled.sent[a.batch.name] = a.batch; !slices.Contains(c.senders, a.sender) {
			c.senders = append(c.senders, a.sender)
		}
	}
	c.open()
	defer func() {
		c.end()
		c.dropStore()
	}()
	last := x.seconds
	due := map[int][]*arriving{}
	for _, a := range x.arriving {
		for _, second := range a.seconds {
			due[second] = append(due[second], a)
			last = max(last, second+1)
		}
	}
	for second := range last {
		c.clock.Add(1000 + x.step[second])
		c.random.Shuffle(len(due[second]), func(i, j int) {
			due[second][i], due[second][j] = due[second][j], due[second][i]
		})
		for _, a := range due[second] {
			c.offer(a.sender, a.batch)
		}
		require.NoError(t, c.journal.AppendControl(&journal.Tick{TimeMs: c.clock.Load()}))
	}
	c.settle()
	c.readJournal()
	for _, a := range x.arriving {
		require.True(t, c.acknowledged[a.batch.name])
		require.Equal(t, 1, c.journaled.batches[a.batch.name], "it came %d times", len(a.seconds))
	}
	c.closeAtEnd = true
	c.reopen()
	require.NoError(t, c.journal.Close())
	require.NoError(t, <-c.ran)
	counts := c.feed.Accounting()
	require.Equal(t, counts.Read, counts.InSlices+counts.Open+counts.Expired+sumOf(counts.Refused)+
		sumOf(counts.LeftOut), "%+v", counts)
	require.Zero(t, counts.Open+counts.Expired)
	require.NoError(t, c.store.Close(context.Background()))
	c.openStore()
	answers := c.stored()
	for series := range answers {
		if strings.Contains(series, `"bullet_metrics_collection_`) {
			delete(answers, series)
		}
	}
	require.Greater(t, len(answers), 10)
	return answers, counts
}

// inOrder returns the result of a trial that arrives in order and once, without clock steps.
func inOrder(t *testing.T, seed uint64) (map[string][]storetest.Point, int) {
	want, counts := newTrial(seed).play(t)
	require.Zero(t, sumOf(counts.Refused), "nothing is late where all comes in order: %+v", counts)
	return want, int(counts.Read)
}

// requireSame fails with the differences, series by series.
func requireSame(t *testing.T, want, got map[string][]storetest.Point) {
	require.Len(t, got, len(want))
	for series, points := range want {
		require.Equal(t, points, got[series], series)
	}
}

// TestAnyOrder checks that the slices do not depend on the order in which batches arrive, nor on repetitions, within
// the allowed lateness. Their values equal those of the ordered run exactly. Later samples are counted and change
// nothing.
func TestAnyOrder(t *testing.T) {
	samples, late, doubles := 0, 0, 0
	for seed := *arrivalFirst; seed < *arrivalFirst+arrivalSeeds.N(); seed++ {
		t.Run(fmt.Sprintf("arrival.first=%d", seed), func(t *testing.T) {
			want, read := inOrder(t, seed)
			x := newTrial(seed)
			x.mixed(12)
			x.tooLate()
			for _, a := range x.arriving {
				doubles += len(a.seconds) - 1
			}
			got, counts := x.play(t)
			requireSame(t, want, got)
			require.EqualValues(t, x.late, counts.Refused["late"]+counts.Refused["repeated_time"], "%+v", counts)
			require.EqualValues(t, read+x.late, counts.Read)
			samples, late = samples+read, late+x.late
		})
	}
	require.Positive(t, late)
	require.Positive(t, doubles)
	fmt.Printf("tally: tries=%d samples=%d doubled_batches=%d late=%d\n", arrivalSeeds.N(), samples, doubles, late)
}

// TestStepsOfTheCollectorsClock checks that steps of the collector's clock, from a second to twelve hours in either
// direction, lose no samples and make none late.
func TestStepsOfTheCollectorsClock(t *testing.T) {
	samples, steps := 0, 0
	for seed := *arrivalFirst; seed < *arrivalFirst+arrivalSeeds.N(); seed++ {
		t.Run(fmt.Sprintf("arrival.first=%d", seed), func(t *testing.T) {
			want, read := inOrder(t, seed)
			x := newTrial(seed)
			random := rand.New(rand.NewPCG(seed, 8))
			for range 1 + random.IntN(3) {
				step := 1000 + random.Int64N([]int64{10_000, 600_000, 12*3_600_000 - 1000}[random.IntN(3)])
				if random.IntN(2) == 0 {
					step = -step
				}
				x.step[10+random.IntN(x.seconds-20)] = step
			}
			steps += len(x.step)
			got, counts := x.play(t)
			require.Zero(t, sumOf(counts.Refused), "steps %v: %+v", x.step, counts)
			requireSame(t, want, got)
			samples += read
		})
	}
	fmt.Printf("tally: tries=%d samples=%d steps=%d\n", arrivalSeeds.N(), samples, steps)
}
