package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/blockstest"
)

// exportStart is a full two hours, so that blocks begin there.
var exportStart = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

// dataOf is a data directory whose store holds a slice a minute of one series, from exportStart on.
func dataOf(t *testing.T, minutes int) string {
	dir := t.TempDir()
	store, err := grid.Open(filepath.Join(dir, datadir.Grid), datadir.KeepAll())
	require.NoError(t, err)
	c := &slice.Columns{
		Definitions: []slice.Definition{
			{Series: metric.Series{Labels: labels.FromStrings("__name__", "a", "topology", "t")}, IntervalMs: 60_000}}}
	for i := range minutes {
		c.Refs, c.EndsMs, c.Values = append(c.Refs, 0), append(c.EndsMs, exportStart.UnixMilli()+int64(i)*60_000),
			append(c.Values, float64(i))
	}
	rejected, err := store.Append(t.Context(), 1, c)
	require.NoError(t, err)
	require.Empty(t, rejected)
	require.NoError(t, store.Flush(t.Context()))
	require.NoError(t, store.Close(t.Context()))
	return dir
}

// valuesOfBlocks are the values in the blocks of a directory, by what Prometheus' own reader finds.
func valuesOfBlocks(t *testing.T, dir string) (values []float64) {
	db, err := tsdb.OpenDBReadOnly(dir, t.TempDir(), nil)
	require.NoError(t, err)
	defer db.Close()
	q, err := db.Querier(0, 1<<62)
	require.NoError(t, err)
	defer q.Close()
	set := q.Select(t.Context(), true, nil, labels.MustNewMatcher(labels.MatchEqual, "topology", "t"))
	for set.Next() {
		for it := set.At().Iterator(nil); it.Next() != chunkenc.ValNone; {
			_, v := it.At()
			values = append(values, v)
		}
	}
	require.NoError(t, set.Err())
	return values
}

func TestExportBlocks(t *testing.T) {
	t.Parallel()
	data := dataOf(t, 300) // five hours: three blocks
	for _, test := range []struct {
		name        string
		flags       []string
		first, last float64
		blocks      int
	}{
		{"everything", nil, 0, 299, 3},
		{"from a time on", []string{"--start", "2026-11-22T11:00:00Z"}, 180, 299, 2},
		{"up to a time, in seconds", []string{"--end", fmt.Sprint(exportStart.Unix() + 600)}, 0, 10, 1},
		{"between", []string{"--start", "2026-11-22T09:59:00Z", "--end", "2026-11-22T10:01:00Z"}, 119, 121, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			into := filepath.Join(t.TempDir(), "new", "blocks")
			out, err := program(append([]string{"export", "blocks", data, "--out", into}, test.flags...)...)
			require.NoError(t, err)
			values := valuesOfBlocks(t, into)
			require.Len(t, values, int(test.last-test.first)+1)
			assert.Equal(t, [2]float64{test.first, test.last}, [2]float64{values[0], values[len(values)-1]})
			assert.Contains(t, out, fmt.Sprintf("%d blocks, %d slices\n", test.blocks, len(values)))
			found, err := filepath.Glob(filepath.Join(into, "*", "meta.json"))
			require.NoError(t, err)
			assert.Len(t, found, test.blocks)
		})
	}
}

func TestExportBlocksOfNothing(t *testing.T) {
	empty, into := dataOf(t, 0), filepath.Join(t.TempDir(), "blocks")
	out, err := program("export", "blocks", empty, "--out", into)
	require.NoError(t, err)
	assert.Equal(t, empty+" contains no slices in this time range\n", out)
	data := dataOf(t, 10)
	out, err = program("export", "blocks", data, "--out", into, "--start", "2026-11-23T00:00:00Z")
	require.NoError(t, err)
	assert.Contains(t, out, "contains no slices in this time range")
	assert.NoDirExists(t, into)
}

func TestExportBlocksStatesWhatIsWrong(t *testing.T) {
	data := dataOf(t, 1)
	held := dataOf(t, 1)
	store, err := grid.Open(filepath.Join(held, datadir.Grid), datadir.KeepAll())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close(t.Context())) }()
	taken := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(taken, nil, 0o600))
	for _, test := range []struct {
		args []string
		want string
		code int
	}{
		{nil, "export blocks takes one argument (data directory), or --data-dir", exitUsage},
		{[]string{data, data, "--out", "x"}, "(data directory), got 2", exitUsage},
		{[]string{data}, "--out is required", exitUsage},
		{[]string{data, "--out", taken, "--start", "yesterday"},
			`--start "yesterday": use Unix seconds or RFC 3339`, exitUsage},
		{[]string{data, "--out", taken, "--end", "2026-11-22"}, `--end "2026-11-22": use`, exitUsage},
		{[]string{filepath.Join(data, "nothing"), "--out", taken}, "is not a data directory", exitFailed},
		{[]string{blockstest.FirstEdition(t), "--out", taken},
			"written by an older version of bullet-metrics; run \"bullet-metrics serve --data-dir", exitFailed},
		{[]string{held, "--out", taken}, "if a collector uses the directory, query that collector over HTTP", exitFailed},
		{[]string{data, "--out", taken}, "export: mkdir " + taken, exitFailed},
	} {
		_, err := program(append([]string{"export", "blocks"}, test.args...)...)
		if assert.ErrorContains(t, err, test.want, test.args) {
			assert.Equal(t, test.code, code(err), test.args)
		}
	}
}
