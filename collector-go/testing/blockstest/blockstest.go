// Package blockstest is a data directory of the first edition, and the text of all that a store holds, for tests that
// compare stores.
package blockstest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "embed" // the directory
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
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"
)

//go:embed testdata/data-first-edition.tar.gz
var firstEdition []byte

// FirstEdition unpacks a data directory that a collector of the first edition left: a replayed capture of a real
// topology.
func FirstEdition(t testing.TB) (dir string) {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(firstEdition))
	require.NoError(t, err)
	dir = t.TempDir()
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		require.NoError(t, err)
		path := filepath.Join(dir, filepath.Clean("/"+header.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		if header.Typeflag != tar.TypeReg {
			continue
		}
		file, err := os.Create(path)
		require.NoError(t, err)
		_, err = io.Copy(file, archive)
		require.NoError(t, errors.Join(err, file.Close()))
	}
}

// Points are all points of a store by series, as text that distinguishes what must not be mixed up.
func Points(t testing.TB, from storage.Queryable) map[string][]string {
	t.Helper()
	q, err := from.Querier(math.MinInt64/2, math.MaxInt64/2)
	require.NoError(t, err)
	defer q.Close()
	all := map[string][]string{}
	set := q.Select(t.Context(), true, nil, labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, ".+"))
	for set.Next() {
		name := set.At().Labels().String()
		it := set.At().Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			if kind == chunkenc.ValFloat {
				at, v := it.At()
				all[name] = append(all[name], fmt.Sprintf("%d %x", at, math.Float64bits(v)))
				continue
			}
			at, h := it.AtHistogram(nil)
			all[name] = append(all[name], fmt.Sprintf("%d %s", at, histogramText(h)))
		}
		require.NoError(t, it.Err())
	}
	require.NoError(t, set.Err())
	return all
}

func histogramText(h *histogram.Histogram) string {
	if value.IsStaleNaN(h.Sum) {
		return "gap"
	}
	return h.ToFloat(nil).TestExpression()
}
