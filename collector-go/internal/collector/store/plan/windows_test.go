package plan

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// EdgeFrom returns the same edges as a list of all of them.
func TestEdges(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := Windows{Instants: Instants{FirstMs: r.Int64N(100) - 50, StepMs: 1 + r.Int64N(20)},
			RangeMs: 1 + r.Int64N(60)}
		w.LastMs = w.FirstMs + r.Int64N(100)
		var all []int64
		for at := w.FirstMs; at <= w.LastMs; at += w.StepMs {
			all = append(all, at, at-w.RangeMs)
		}
		for ms := int64(-150); ms < 200; ms++ {
			from := int64(math.MaxInt64)
			for _, edge := range all {
				if edge >= ms {
					from = min(from, edge)
				}
			}
			require.Equal(t, from, w.EdgeFrom(ms), "%+v at %d", w, ms)
		}
	}
}
