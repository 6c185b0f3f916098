package main

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/blocks"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/upgrade"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/blockstest"
)

// What a collector of the first edition kept is what one of today answers with, slice by slice, and the journal is read
// on from its cursor.
func TestADirectoryOfTheFirstEditionIsConverted(t *testing.T) {
	dir := blockstest.FirstEdition(t)
	edition, err := blocks.OpenEdition(filepath.Join(dir, upgrade.OldDir))
	require.NoError(t, err)
	want, cursor := blockstest.Points(t, edition), edition.Cursor()
	require.NoError(t, edition.Close())
	require.Greater(t, len(want), 500)

	to := filepath.Join(dir, datadir.Grid)
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	require.NoError(t, upgrade.Convert(t.Context(), dir, to, datadir.KeepAll(), logger))
	require.NoDirExists(t, filepath.Join(dir, upgrade.OldDir))
	store, err := grid.Open(to, datadir.KeepAll())
	require.NoError(t, err)
	require.Equal(t, want, blockstest.Points(t, store))
	require.Equal(t, cursor, store.Durable())
	require.NoError(t, store.Close(t.Context()))
	require.NoError(t, upgrade.Convert(t.Context(), dir, to, datadir.KeepAll(), slog.New(slog.DiscardHandler)),
		"there is nothing to convert any more")

	c := settings(dir)
	c.Embedded.RetentionTime = 0
	startCollector(t, c) // checkpoints, journal and store fit together
}
