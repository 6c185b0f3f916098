package blocks

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"
)

// firstEdition unpacks a data directory that a collector of the first edition left: a replayed capture of a real topology.
func firstEdition(t *testing.T) string {
	t.Helper()
	f, err := os.Open("testdata/data-first-edition.tar.gz")
	require.NoError(t, err)
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	require.NoError(t, err)
	dir := t.TempDir()
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, "embedded")
		}
		require.NoError(t, err)
		path := filepath.Join(dir, filepath.Clean("/"+header.Name))
		if header.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(path, 0o750))
			continue
		}
		file, err := os.Create(path)
		require.NoError(t, err)
		_, err = io.Copy(file, archive)
		require.NoError(t, errors.Join(err, file.Close()))
	}
}

// pointsOf are all points of a store by series, as text that tells apart what must not be mixed up.
func pointsOf(t *testing.T, from storage.Queryable) map[string][]string {
	t.Helper()
	q, err := from.Querier(math.MinInt64/2, math.MaxInt64/2)
	require.NoError(t, err)
	defer q.Close()
	all := map[string][]string{}
	set := q.Select(t.Context(), true, nil, labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, ".+"))
	for set.Next() {
		it := set.At().Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			text := ""
			if kind == chunkenc.ValFloat {
				at, v := it.At()
				text = fmt.Sprintf("%d %x", at, math.Float64bits(v))
			} else {
				at, h := it.AtHistogram(nil)
				text = histogramText(at, h)
			}
			all[set.At().Labels().String()] = append(all[set.At().Labels().String()], text)
		}
		require.NoError(t, it.Err())
	}
	require.NoError(t, set.Err())
	return all
}

func histogramText(at int64, h *histogram.Histogram) string {
	if h == nil || value.IsStaleNaN(h.Sum) {
		return fmt.Sprintf("%d gap", at)
	}
	return fmt.Sprintf("%d %s", at, h.ToFloat(nil).TestExpression())
}

func TestTheFirstEditionIsRead(t *testing.T) {
	e, err := OpenEdition(firstEdition(t))
	require.NoError(t, err)
	require.Equal(t, uint64(4295063318), e.Cursor())
	want := pointsOf(t, e)
	require.Greater(t, len(want), 500)
	total := 0
	for _, points := range want {
		total += len(points)
	}
	require.Equal(t, e.Slices(), uint64(total))
	from, to := e.Range()
	series := 0
	require.NoError(t, e.Each(t.Context(), from, to, func(s storage.Series) error {
		require.Contains(t, want, s.Labels().String())
		series++
		return nil
	}))
	require.Len(t, want, series)
	require.NoError(t, e.Remove())
	require.NoDirExists(t, e.dir)
}

func TestNoFirstEdition(t *testing.T) {
	e, err := OpenEdition(t.TempDir())
	require.NoError(t, err)
	require.Nil(t, e)
	dir := firstEdition(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, cursorFile), []byte("position 5"), 0o600))
	_, err = OpenEdition(dir)
	require.ErrorContains(t, err, "remove it to fill the store from the journal")
}

// What was exported is what tsdb reads in the blocks, slice by slice.
func TestExportedBlocksHoldWhatWasAsked(t *testing.T) {
	e, err := OpenEdition(firstEdition(t))
	require.NoError(t, err)
	defer e.Close()
	from, to := e.Range()
	dir := t.TempDir()
	var written []Written
	require.NoError(t, Export(t.Context(), e, dir, from-Width, to, func(w Written) { written = append(written, w) }))
	require.True(t, written[0].HasNothing)
	slices := 0
	for _, w := range written {
		slices += w.Slices
	}
	require.Equal(t, e.Slices(), uint64(slices))

	db, err := tsdb.OpenDBReadOnly(dir, "", nil)
	require.NoError(t, err)
	defer db.Close()
	found, err := db.Blocks()
	require.NoError(t, err)
	require.Equal(t, pointsOf(t, e), pointsOf(t, &Edition{blocks: found}))
}

// A store that cannot be read to its end gives no block that looks whole.
func TestExportEndsWithTheStoresError(t *testing.T) {
	broken := storage.QueryableFunc(func(int64, int64) (storage.Querier, error) { return nil, errors.New("no such store") })
	err := Export(context.Background(), broken, t.TempDir(), 0, Width-1, func(Written) { t.Error("a block was written") })
	require.ErrorContains(t, err, "no such store")
}
