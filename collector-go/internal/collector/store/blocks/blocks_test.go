package blocks

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/blockstest"
)

// firstEdition returns the store in a data directory of the first edition.
func firstEdition(t *testing.T) string { return filepath.Join(blockstest.FirstEdition(t), "embedded") }

func TestTheFirstEditionIsRead(t *testing.T) {
	e, err := OpenEdition(firstEdition(t))
	require.NoError(t, err)
	require.Equal(t, uint64(4295063318), e.Cursor())
	want := blockstest.Points(t, e)
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

// tsdb reads the exported slices from the blocks, one by one.
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
	require.Equal(t, blockstest.Points(t, e), blockstest.Points(t, &Edition{blocks: found}))
}

// A store that cannot be read to its end must not result in a block that looks complete.
func TestExportEndsWithTheStoresError(t *testing.T) {
	broken := storage.QueryableFunc(func(int64, int64) (storage.Querier, error) {
		return nil, errors.New("no such store")
	})
	err := Export(context.Background(), broken, t.TempDir(), 0, Width-1, func(Written) {
		t.Error("a block was written")
	})
	require.ErrorContains(t, err, "no such store")
}
