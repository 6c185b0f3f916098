package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/blocks"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid"
)

// olderData unpacks a data directory that a collector of the first edition left.
func olderData(t *testing.T) string {
	t.Helper()
	f, err := os.Open("../../internal/store/blocks/testdata/data-first-edition.tar.gz")
	require.NoError(t, err)
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	require.NoError(t, err)
	dir := t.TempDir()
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

// allPoints are all points of a store by series, as text.
func allPoints(t *testing.T, from storage.Queryable) map[string][]string {
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
			text := "gap"
			if !value.IsStaleNaN(h.Sum) {
				text = h.ToFloat(nil).Compact(0).TestExpression()
			}
			all[name] = append(all[name], fmt.Sprintf("%d %s", at, text))
		}
		require.NoError(t, it.Err())
	}
	require.NoError(t, set.Err())
	return all
}

// What a collector of the first edition kept is what one of today answers with, slice by slice, and the journal is read on from its cursor.
func TestADirectoryOfTheFirstEditionIsConverted(t *testing.T) {
	dir := olderData(t)
	edition, err := blocks.OpenEdition(filepath.Join(dir, editionDir))
	require.NoError(t, err)
	want, cursor := allPoints(t, edition), edition.Cursor()
	require.NoError(t, edition.Close())
	require.Greater(t, len(want), 500)

	require.NoError(t, convert(t.Context(), dir, keepEverything(), slog.New(slog.NewTextHandler(t.Output(), nil))))
	require.NoDirExists(t, filepath.Join(dir, editionDir))
	store, err := grid.Open(filepath.Join(dir, gridDir), keepEverything())
	require.NoError(t, err)
	require.Equal(t, want, allPoints(t, store))
	require.Equal(t, cursor, store.Durable())
	require.NoError(t, store.Close(t.Context()))
	require.NoError(t, convert(t.Context(), dir, keepEverything(), slog.New(slog.DiscardHandler)), "there is nothing to convert any more")

	c := settings(dir)
	c.Embedded.RetentionTime = 0
	startCollector(t, c) // checkpoints, journal and store fit together
}

// Wherever it ends, the next start goes on, and the outcome is the same.
func TestAConversionGoesOnWhereItEnded(t *testing.T) {
	dir := olderData(t)
	edition, err := blocks.OpenEdition(filepath.Join(dir, editionDir))
	require.NoError(t, err)
	want := allPoints(t, edition)
	require.NoError(t, edition.Close())

	for ends := 1; ; ends++ {
		ctx, cancel := context.WithCancel(t.Context())
		left := ends
		err := convert(ctx, dir, keepEverything(), slog.New(cancelling{slog.DiscardHandler, &left, cancel}))
		cancel()
		if err == nil {
			require.Greater(t, ends, 1, "it never ended early")
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "the next start goes on")
	}
	store, err := grid.Open(filepath.Join(dir, gridDir), keepEverything())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close(t.Context())) }()
	require.Equal(t, want, allPoints(t, store))
}

// cancelling cancels at the n-th line that is logged.
type cancelling struct {
	slog.Handler
	left   *int
	cancel context.CancelFunc
}

func (c cancelling) Enabled(context.Context, slog.Level) bool { return true }
func (c cancelling) Handle(context.Context, slog.Record) error {
	if *c.left--; *c.left == 0 {
		c.cancel()
	}
	return nil
}
