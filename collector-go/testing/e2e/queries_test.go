//go:build e2e

package e2e

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// heldQueries find nothing, so each lives for its whole time.
const (
	heldQueries = 7
	heldQuery   = "SELECT * FROM STREAM(30000, TIME) WHERE probe = 'nothing-has-this' LIMIT 10"
	heldFor     = 30 * time.Second
)

func activeQueries(t *testing.T, b *bench) {
	// Right after a slice's end, so that two whole slices fit into the queries' life.
	submitted := nextSliceEnd(time.Now())
	waitUntil(t, submitted)
	var clients sync.WaitGroup
	took := make([]time.Duration, heldQueries)
	for i := range heldQueries {
		clients.Go(func() {
			began := time.Now()
			defer func() { took[i] = time.Since(began) }()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			answer, err := b.gateway.Query(ctx, heldQuery)
			assert.NoError(t, err)
			assert.Empty(t, answer.Records)
		})
	}
	clients.Wait()
	b.queriesTook = slices.Max(took)
	end := nextSliceEnd(submitted.Add(heldFor))
	b.awaitSlices(t, "bullet_active_queries", `,component="JoinBolt"`, end)
	sums := b.sumOfActive(t, submitted, end)
	t.Logf("active queries by slice: %v", sums)
	for i := 1; i < len(sums); i++ {
		if sums[i-1] == heldQueries && sums[i] == heldQueries {
			return
		}
	}
	assert.Failf(t, "never two ticks in a row", "with %d active queries: %v", heldQueries, sums)
}

// sumOfActive is the sum over the JoinBolt's tasks at each slice end in (from, to].
func (b *bench) sumOfActive(t *testing.T, from, to time.Time) (sums []float64) {
	t.Helper()
	series, err := b.slices(t.Context(), "bullet_active_queries", `,component="JoinBolt"`, from, to)
	require.NoError(t, err)
	require.NotEmpty(t, series)
	for end := from.Add(sliceWidth); !end.After(to); end = end.Add(sliceWidth) {
		sum := 0.0
		for _, s := range series {
			for i, ms := range s.Slices.TimesMs {
				if ms == end.UnixMilli() {
					sum += float64(s.Slices.Values[i])
				}
			}
		}
		sums = append(sums, sum)
	}
	return sums
}
