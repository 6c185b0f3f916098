package upgrade_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/blocks"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/upgrade"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/blockstest"
)

// Wherever a conversion is interrupted, the next start continues it, and the result is the same.
func TestAConversionGoesOnWhereItEnded(t *testing.T) {
	dir := blockstest.FirstEdition(t)
	to := filepath.Join(dir, "grid")
	keep := grid.DefaultOptions()
	keep.RetentionTime, keep.RetentionBytes = 0, 0
	edition, err := blocks.OpenEdition(filepath.Join(dir, upgrade.OldDir))
	require.NoError(t, err)
	want := blockstest.Points(t, edition)
	require.NoError(t, edition.Close())

	for ends := 1; ; ends++ {
		ctx, cancel := context.WithCancel(t.Context())
		left := ends
		err := upgrade.Convert(ctx, dir, to, keep, slog.New(cancelling{slog.DiscardHandler, &left, cancel}))
		cancel()
		if err == nil {
			require.Greater(t, ends, 1, "it never ended early")
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "the next start continues")
	}
	store, err := grid.Open(to, keep)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close(t.Context())) }()
	require.Equal(t, want, blockstest.Points(t, store))
}

// cancelling is a log handler that cancels a context at the n-th line.
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
