package main

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/storage"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/feed"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/upgrade"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
)

// sliceStore is the store inside the collector, as the program sees it: slices go in through a feed, and PromQL reads
// them.
type sliceStore interface {
	feed.Store
	storage.Queryable
	// Newest is the end of the newest slice; ok is false where there is none.
	Newest(ctx context.Context) (endMs int64, ok bool, err error)
	// Extent is the ends of the oldest and the newest slice; ok is false where there is none.
	Extent(ctx context.Context) (oldestMs, newestMs int64, ok bool, err error)
	// Flush writes all that was handed over to the disk.
	Flush(ctx context.Context) error
	// Reclaim deletes what retention asks for; where the disk has lacked room for long, also what it sacrifices for
	// that. It is to be called once a second.
	Reclaim() error
	// Close flushes within ctx and ends the store. It may be called twice.
	Close(ctx context.Context) error
}

// openGrid opens the store of a data directory, with what an older program left there.
func openGrid(c config.Config, logger *slog.Logger, figures *prometheus.Registry) (sliceStore, error) {
	keep := grid.DefaultOptions()
	keep.RetentionTime, keep.RetentionBytes, keep.Logger, keep.Registerer = c.Embedded.RetentionTime,
		c.Embedded.RetentionBytes, logger, figures
	keep.ReclaimAfter = c.Disk.MakeRoomAfter
	keep.MaxSeries = bounded(max(keep.MaxSeries, 4*c.Limits.SeriesPerTopology), 2*c.Memory.Series)
	keep.HeadBytes = bounded(keep.HeadBytes, c.Memory.HeadBytes)
	dir := filepath.Join(c.DataDir, datadir.Grid)
	if err := upgrade.Convert(context.Background(), c.DataDir, dir, keep, logger); err != nil {
		return nil, err
	}
	store, err := grid.Open(dir, keep)
	if err != nil {
		return nil, err
	}
	return store, nil
}
