package feed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// once is a store on the network. What it receives is durable at once, and it ignores what lies before its cursor.
type once struct {
	cursor uint64
	series map[slice.Ref]string
	times  map[string]int
	hands  int // hand-overs with slices
}

func (s *once) Append(_ context.Context, upTo uint64, c *slice.Columns) (map[string]int, error) {
	for _, d := range c.Definitions {
		s.series[d.Ref] = d.Series.Labels.String()
	}
	if upTo <= s.cursor {
		return nil, nil
	}
	s.cursor = upTo
	if len(c.Refs) > 0 {
		s.hands++
	}
	for i, ref := range c.Refs {
		s.times[fmt.Sprintf("%s@%d", s.series[ref], c.EndsMs[i])]++
	}
	return nil, nil
}

func (s *once) Durable() uint64 { return s.cursor }

// TestNoSliceIsHandedOverTwice checks that slices which the store has are never handed over together with new ones.
// This holds wherever a collector ends, and however much is handed over at once.
func TestNoSliceIsHandedOverTwice(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w, store, checkpoints := newWorld(t), &once{series: map[slice.Ref]string{}, times: map[string]int{}}, t.TempDir()
	for range 15 {
		for range 1 + random.IntN(80) {
			w.second()
		}
		o := options(checkpoints)
		o.CatchUpTicks, o.CheckpointTicks = 1+random.IntN(60), 1+random.IntN(60)
		retention := NewRetention(w.journal.Release)
		f, err := New(w.journal, store, retention, o)
		require.NoError(t, err)
		require.NoError(t, w.journal.Close())
		ctx, cancel := context.WithCancel(t.Context())
		if random.IntN(2) == 0 { // killed at some point: there is no last checkpoint
			time.AfterFunc(time.Duration(random.IntN(2000))*time.Microsecond, cancel)
		}
		require.NoError(t, f.Run(ctx))
		cancel()
		w.open()
	}
	w.runToEnd(store, options(checkpoints))
	require.NotEmpty(t, store.times)
	for key, n := range store.times {
		require.Equal(t, 1, n, key)
	}
}

// TestABacklogIsHandedOverInFewPieces checks that a backlog needs few hand-overs, while a feed that keeps up hands over
// slices every second.
func TestABacklogIsHandedOverInFewPieces(t *testing.T) {
	hands := map[int]int{}
	for _, ticks := range []int{1, 60} {
		w, store := newWorld(t), &once{series: map[slice.Ref]string{}, times: map[string]int{}}
		for range 600 {
			w.second()
		}
		o := options(t.TempDir())
		o.CatchUpTicks, o.CheckpointTicks = ticks, 600
		w.runToEnd(store, o)
		hands[ticks] = store.hands
	}
	assert.Greater(t, hands[1], 50)
	assert.LessOrEqual(t, hands[60], 14) // ten minutes, and the last seconds one by one
}

type busy struct{ after time.Duration }

func (busy) Error() string               { return "busy" }
func (b busy) RetryAfter() time.Duration { return b.after }

func TestAStoreThatAsksToBeLeftAloneIs(t *testing.T) {
	assert.Equal(t, 7*time.Second, asked(fmt.Errorf("forward: %w", busy{7 * time.Second})))
	assert.Equal(t, longestAsked, asked(busy{time.Hour}))
	assert.Zero(t, asked(assert.AnError))

	w := newWorld(t)
	for range 60 {
		w.second()
	}
	store := newMemory()
	var attempts []time.Time
	store.fail = func() error {
		if attempts = append(attempts, time.Now()); len(attempts) == 1 {
			return busy{400 * time.Millisecond}
		}
		return nil
	}
	w.runToEnd(store, options(t.TempDir()))
	require.Greater(t, len(attempts), 1)
	assert.GreaterOrEqual(t, attempts[1].Sub(attempts[0]), 400*time.Millisecond)
}
