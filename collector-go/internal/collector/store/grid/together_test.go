package grid

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// A query finds exactly once all that was handed over before it began, whatever is written, merged and retired
// meanwhile.
func TestQueriesWhileItWrites(t *testing.T) {
	p := newHarness(t, func(o *Options) { o.FlushHandOvers = 3; o.RetentionTime = 0 })
	s := p.open(t)
	var handed atomic.Int64
	stop, stopped := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for stop.Err() == nil {
				least := handed.Load()
				n, err := counted(s)
				if !assert.NoError(t, err) || !assert.GreaterOrEqual(t, n, least) {
					return
				}
			}
		})
	}
	for i := range int64(400) {
		c := numbers(today+i*10_000, 1)
		d := define(1, int(i)/5) // a series that exists for five hand-overs
		c.Definitions = append(c.Definitions, d)
		c.Refs, c.EndsMs, c.Values = append(c.Refs, d.Ref), append(c.EndsMs, today+i*10_000), append(c.Values, 1)
		if i%5 == 4 {
			c.Retired = []slice.Ref{d.Ref}
		}
		_, err := s.Append(t.Context(), uint64(i+1), c)
		require.NoError(t, err)
		handed.Add(2)
	}
	s.workers.Wait()
	stopped()
	readers.Wait()
	n, err := counted(s)
	require.NoError(t, err)
	assert.Equal(t, int64(800), n)
	for i := range int64(6) { // two more heads, which drop what was retired while flushes waited for the disk
		_, err := s.Append(t.Context(), uint64(401+i), numbers(today+(400+i)*10_000, 1))
		require.NoError(t, err)
		s.workers.Wait()
	}
	assert.Less(t, len(s.live.table.labels), 40, "what is retired does not stay in memory")
	assert.Less(t, len(s.pieces), 3*mergeFan)
}

// counted returns how many slices a query finds. Two slices at one time are an error.
func counted(s *Store) (n int64, err error) {
	q, err := s.Querier(0, farthestMs)
	if err != nil {
		return 0, err
	}
	defer func() { _ = q.Close() }()
	set := q.Select(context.Background(), true, nil, labels.MustNewMatcher(labels.MatchRegexp, "task", "0|1"))
	for set.Next() {
		last := int64(-1)
		for it := set.At().Iterator(nil); it.Next() != chunkenc.ValNone; n++ {
			if it.AtT() <= last {
				return 0, fmt.Errorf("%d after %d", it.AtT(), last)
			}
			last = it.AtT()
		}
	}
	return n, set.Err()
}
