package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/blocks"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/blockstest"
)

// What a collector of the first edition kept is what one of today answers with, slice by slice, and the journal is read
// on from its cursor.
func TestADirectoryOfTheFirstEditionIsConverted(t *testing.T) {
	dir := blockstest.FirstEdition(t)
	edition, err := blocks.OpenEdition(filepath.Join(dir, editionDir))
	require.NoError(t, err)
	want, cursor := blockstest.Points(t, edition), edition.Cursor()
	require.NoError(t, edition.Close())
	require.Greater(t, len(want), 500)

	require.NoError(t, convert(t.Context(), dir, keepEverything(), slog.New(slog.NewTextHandler(t.Output(), nil))))
	require.NoDirExists(t, filepath.Join(dir, editionDir))
	store, err := grid.Open(filepath.Join(dir, gridDir), keepEverything())
	require.NoError(t, err)
	require.Equal(t, want, blockstest.Points(t, store))
	require.Equal(t, cursor, store.Durable())
	require.NoError(t, store.Close(t.Context()))
	require.NoError(t, convert(t.Context(), dir, keepEverything(), slog.New(slog.DiscardHandler)),
		"there is nothing to convert any more")

	c := settings(dir)
	c.Embedded.RetentionTime = 0
	startCollector(t, c) // checkpoints, journal and store fit together
}

// Wherever it ends, the next start goes on, and the outcome is the same.
func TestAConversionGoesOnWhereItEnded(t *testing.T) {
	dir := blockstest.FirstEdition(t)
	edition, err := blocks.OpenEdition(filepath.Join(dir, editionDir))
	require.NoError(t, err)
	want := blockstest.Points(t, edition)
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
	require.Equal(t, want, blockstest.Points(t, store))
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
