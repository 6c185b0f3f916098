package part

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

func TestManyReadAtOnce(t *testing.T) {
	fs, all := damaged(t, func(*Part, []byte) {})
	p := open(t, fs, "part")
	byLabels := map[string]one{}
	for _, s := range all {
		byLabels[s.labels.String()] = s
	}
	var wait sync.WaitGroup
	for n := range 4 {
		wait.Go(func() {
			found, err := p.Select(context.Background(), math.MinInt64, math.MaxInt64, nil)
			assert.NoError(t, err)
			var runs []run.Run
			for i := range found {
				f := found[(i*(n+1)*7)%len(found)]
				runs, err = f.Reader.Runs(f.Ref, math.MinInt64, math.MaxInt64, runs[:0])
				assert.NoError(t, err)
				assert.Len(t, twinOf(runs), len(knownTwin(f.Labels.String(), byLabels[f.Labels.String()].runs)))
			}
		})
	}
	wait.Wait()
}

// Concurrent queries that read different series read each page as often as a single query would.
func TestQueriesDoNotTakeEachOthersPages(t *testing.T) {
	const series = 400
	fs := disktest.NewMemory(1)
	w, err := Create(fs, "part", WriterOptions{})
	require.NoError(t, err)
	values := walks(series, 500)
	for i := range series {
		require.NoError(t, w.Add(labels.FromStrings("__name__", "m", "task", fmt.Sprintf("%03d", i)),
			[]run.Run{{FirstMs: 1, StepMs: 1, Values: values[i]}}))
	}
	_, err = w.Finish()
	require.NoError(t, err)
	p := open(t, fs, "part")
	reads := 0
	fs.SetReadFault(func(string, int64, int64) error { reads++; return nil })
	read := func(queries, apart int) int {
		var found [][]run.Found
		for range queries {
			all, err := p.Select(t.Context(), math.MinInt64, math.MaxInt64, nil)
			require.NoError(t, err)
			found = append(found, all)
		}
		before := reads
		for i := range series {
			for n, all := range found {
				f := all[(i+n*apart)%series]
				_, err := f.Reader.Runs(f.Ref, math.MinInt64, math.MaxInt64, nil)
				require.NoError(t, err)
			}
		}
		return reads - before
	}
	alone := read(1, 0)
	require.Less(t, alone, series)
	// Two of the queries begin and end in the middle, and read some directory chunks again.
	require.Less(t, read(3, series/3), 4*alone)
}
