package storetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// source is a worker as the slicer hears of it: its clock is off, and now and then it is away and then brings all at
// once.
type source struct {
	ref    slice.Ref
	skewMs int64
	sent   int64 // slices handed over
}

// testAnyHistory drives a store through any history of sources that are skewed, away and back, with kills, restarts and
// starting over in between. In the end it holds what was handed over once, no more and no less.
func testAnyHistory(t *testing.T, place func(t *testing.T) Harness) {
	rapid.Check(t, func(t2 *rapid.T) {
		h := place(t)
		j := anyJournal(t2)
		s := h.Open(t2)
		for done := 0; done < len(j.steps); {
			done = min(len(j.steps), done+rapid.IntRange(1, 400).Draw(t2, "steps"))
			from := s.Durable() - min(s.Durable(), uint64(rapid.IntRange(0, 500).Draw(t2, "before"))) // a checkpoint
			play(t2, s, j.until(done), from, rapid.IntRange(3, 40).Draw(t2, "portion"))
			durable := s.Durable()
			s = interrupt(t2, h, s)
			require.GreaterOrEqual(t2, s.Durable(), durable, "the cursor fell")
		}
		play(t2, s, j, s.Durable(), 10)
		same(t2, h, j)
		h.Kill(t2)
	})
}

// anyJournal is up to three hours of some sources.
func anyJournal(t *rapid.T) *journal {
	j := newJournal()
	sources := make([]source, rapid.IntRange(1, 4).Draw(t, "sources"))
	for i := range sources {
		sources[i] = source{ref: slice.Ref(i), skewMs: rapid.Int64Range(-600, 600).Draw(t, "skew") * 1000}
	}
	for now := int64(0); now < rapid.Int64Range(10, 1000).Draw(t, "slices"); {
		// For a while some sources are away, and the others hand over one slice a step.
		away := rapid.IntRange(0, 1<<len(sources)-1).Draw(t, "away")
		for until := now + rapid.Int64Range(1, 330).Draw(t, "for"); now < until; now++ {
			j.step()
			for i := range sources {
				if away&(1<<i) == 0 {
					sources[i].bring(j, now)
				}
			}
		}
		j.step()
		for i := range sources {
			sources[i].bring(j, now)
		}
	}
	return j
}

// bring hands over all that the source has made by now.
func (s *source) bring(j *journal, now int64) {
	for ; s.sent <= now; s.sent++ {
		endMs := start + s.skewMs + s.sent*width
		if s.sent%50 == 49 {
			j.gap(s.ref, endMs).gap(100+s.ref, endMs)
			continue
		}
		j.number(s.ref, endMs, float64(s.sent)).distribution(100+s.ref, endMs, growing(s.sent))
	}
}

func interrupt(t *rapid.T, h Harness, s Store) Store {
	switch rapid.SampledFrom([]string{"kill", "settle and kill", "close", "flush", "go on"}).Draw(t, "then") {
	case "kill":
		h.Kill(t)
		return h.Open(t)
	case "settle and kill":
		h.Settle(t)
		h.Kill(t)
		return h.Open(t)
	case "close":
		require.NoError(t, s.Close(context.Background()))
		return h.Open(t)
	case "flush":
		require.NoError(t, s.Flush(context.Background()))
	}
	return s
}
