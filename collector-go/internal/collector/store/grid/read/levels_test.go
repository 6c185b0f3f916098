package read_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/part"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/gridtest"
)

// counting is a part that counts how often its levels are read. Every failEach-th read fails.
type counting struct {
	*part.Part
	read     *int
	failEach int
}

func (c counting) Extremes(ref uint32, levelMs int64, greatest bool, fromMs, toMs int64) (run.Run, error) {
	if *c.read++; *c.read%c.failEach == 0 {
		return run.Run{}, &run.DamageError{File: "part", What: "index", ToMs: -1}
	}
	return c.Part.Extremes(ref, levelMs, greatest, fromMs, toMs)
}

// levelled returns a world in consecutive parts with levels. Late slices of some series, and repeated slices of others,
// are in another source that overlaps with them. The newest slices are in memory.
func levelled(t *testing.T, world *gridtest.World, seed uint64, failEach int) (all sources, read *int) {
	const parts = 4
	read = new(int)
	r := rand.New(rand.NewPCG(seed, 6))
	lengthMs := (world.LastMs - world.FirstMs) / parts
	onTime := make([][][]gridtest.Point, parts)
	memory := &gridtest.Memory{}
	for i := range world.Series {
		keepsLate := i%3 == 0
		var late []gridtest.Point
		split := make([][]gridtest.Point, parts)
		for _, p := range world.Series[i].Points {
			at := min(max(0, (p.Ms-world.FirstMs)/lengthMs), parts-1)
			if p.Late && keepsLate {
				late = append(late, p)
				continue
			}
			split[at] = append(split[at], p)
			if i%5 == 4 && r.IntN(300) == 0 { // the same slice in a source without precedence
				again := p
				again.Value = -1
				late = append(late, again)
			}
		}
		for at := range split {
			onTime[at] = append(onTime[at], split[at])
		}
		if len(late) > 0 {
			memory.Add(world.Series[i].Labels, gridtest.Runs(r, late))
		}
	}
	for at, series := range onTime {
		if at == parts-1 {
			newest := &gridtest.Memory{}
			for i, points := range series {
				if len(points) > 0 {
					newest.Add(world.Series[i].Labels, gridtest.Runs(r, points))
				}
			}
			all = append(all, newest)
			break
		}
		fs := disktest.NewMemory(1)
		w, err := part.Create(fs, "part", part.WriterOptions{Levels: true})
		require.NoError(t, err)
		for i, points := range series {
			require.NoError(t, w.Add(world.Series[i].Labels, gridtest.Runs(r, points)))
		}
		_, err = w.Finish()
		require.NoError(t, err)
		p, err := part.Open(fs, "part")
		require.NoError(t, err)
		all = append(all, counting{p, read, failEach})
	}
	return append(all, memory), read
}

// Select makes c the reader of what it finds.
func (c counting) Select(ctx context.Context, minMs, maxMs int64, matchers []*labels.Matcher) ([]run.Found, error) {
	found, err := c.Part.Select(ctx, minMs, maxMs, matchers)
	for i := range found {
		found[i].Reader = c
	}
	return found, err
}

// For long windows, parts with levels give the same answers as a Prometheus store with the same slices, even if some of
// a level cannot be read.
func TestLevelsAnswerAsPrometheus(t *testing.T) {
	for seed, failEach := range []int{1 << 60, 3} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			world := gridtest.NewWorld(uint64(200+seed), 1_700_000_000_000+int64(seed)*1234,
				(14 * time.Hour).Milliseconds())
			ours, read := levelled(t, world, uint64(seed), failEach)
			spec := world.Spec()
			spec.Extremes = true
			gridtest.Compare(t, int64(seed), 120, ours, world.Prometheus(t), spec)
			t.Logf("levels were read %d times", *read)
			require.Greater(t, *read, 150)
		})
	}
}
