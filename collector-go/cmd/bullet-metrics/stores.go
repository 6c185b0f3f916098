package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/storage"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/feed"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	// Each kind of store registers itself.
	_ "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/influx"
	_ "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/remote"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/upgrade"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/federation"
)

// networkStore is a store on the network with the feed that fills it. What becomes of it concerns no other store.
type networkStore struct {
	store  *forward.Store
	feed   *feed.Feed
	feeder task
}

// While a network store is behind, so much goes to it at once: a minute of a small topology, or some requests' worth of
// a large one.
const (
	catchUpTicks  = 60
	catchUpSlices = 20_000
)

// openNetwork opens the stores on the network, in the order of their kinds and names.
func (col *collector) openNetwork(c config.Config, figures prometheus.Registerer) error {
	return eachStore(c, func(_ string, kind forward.Kind, name string, n *config.Store) error {
		store, err := col.openForward(filepath.Join(c.DataDir, "stores", name), kind, name, n, figures)
		if err != nil {
			return err
		}
		opened := &networkStore{store: store}
		col.network = append(col.network, opened)
		feeding := col.feedOptions(c, name, figures)
		if n.Required {
			feeding.Transfers = col.desk
		}
		feeding.CatchUpTicks, feeding.FlushSlices = catchUpTicks, catchUpSlices
		if opened.feed, err = feed.New(col.journal, store, col.retention, feeding); err != nil {
			return err
		}
		if !n.Required {
			col.retention.MayLag(opened.feed)
		}
		return nil
	})
}

// openForward opens a store on the network. What waits for it is kept in dir.
func (col *collector) openForward(dir string, kind forward.Kind, name string, n *config.Store,
	figures prometheus.Registerer) (*forward.Store, error) {
	protocol, err := protocolOf(kind, n)
	if err != nil {
		return nil, err
	}
	o := forward.DefaultOptions(name)
	o.MaxSlices, o.MaxBytes, o.Timeout, o.Logger, o.Registerer = n.MaxSlices, int(n.MaxBytes), n.Timeout,
		col.logger, figures
	return forward.Open(dir, protocol, o)
}

// eachStore calls do for all network stores, in the order of their kinds and names, up to the first error.
func eachStore(c config.Config, do func(key string, kind forward.Kind, name string, n *config.Store) error) error {
	for _, kind := range forward.Kinds() {
		for _, name := range slices.Sorted(maps.Keys(c.Stores[kind.Name])) {
			key := "store." + kind.Name + "." + name
			if err := do(key, kind, name, c.Stores[kind.Name][name]); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	return nil
}

// receiver reads how a store is to be called.
func receiver(n *config.Store) (_ forward.Receiver, err error) {
	at := forward.Receiver{URL: n.URL}
	at.HTTP, err = httpclient.ReadConfig(n.HTTPConfigFile)
	return at, err
}

// protocolOf is the language of a store; it connects to nothing.
func protocolOf(kind forward.Kind, n *config.Store) (forward.Protocol, error) {
	at, err := receiver(n)
	if err != nil {
		return nil, err
	}
	return kind.Build(at, n.Own).Protocol()
}

// relieve keeps room in the journal for what comes, at the cost of stores that are too far behind.
func (col *collector) relieve(ctx context.Context) error {
	return eachSecond(func(time.Time) {
		if err := col.retention.Relieve(ctx, col.journal.NearlyFull); err != nil && ctx.Err() == nil {
			col.logger.Warn("releasing segments of the nearly full journal failed", "error", err)
		}
	})(ctx)
}

// endNetwork gives stores on the network a moment for what they still lack; a store that is down is not waited for,
// since the next start goes on where this one ends.
func (col *collector) endNetwork(ctx context.Context) {
	moment, cancel := context.WithTimeout(ctx, lastMoment)
	defer cancel()
	for _, n := range col.network {
		n.feeder.wait(moment)
	}
	for _, n := range col.network {
		n.feeder.end(ctx)
	}
}

// lastMoment is enough for the slices of a second, which are all that a store lacks that keeps up.
const lastMoment = 2 * time.Second

// sharing brings annotations to a store on the network, for other collectors whose queries go to the same engine. It
// has a cursor of its own there, so that neither waits for the other.
type sharing struct {
	store  *forward.Store
	writer *federation.Writer
	task   task
}

// remoteWrite is the kind of the stores that an engine may read: it speaks Prometheus.
const remoteWrite = "remote_write"

// openSharing opens what writes annotations to each store that speaks remote write.
func (col *collector) openSharing(c config.Config, figures prometheus.Registerer) error {
	fates := federation.NewFates(figures)
	return eachStore(c, func(_ string, kind forward.Kind, name string, n *config.Store) error {
		if kind.Name != remoteWrite {
			return nil
		}
		if err := col.share(c, kind, name, n, fates); err != nil {
			return fmt.Errorf("annotations: %w", err)
		}
		return nil
	})
}

func (col *collector) share(c config.Config, kind forward.Kind, name string, n *config.Store,
	fates *prometheus.CounterVec) error {
	store, err := col.openForward(filepath.Join(c.DataDir, "stores", name, "annotations"), kind, name, n, nil)
	if err != nil {
		return err
	}
	writer := federation.NewWriter(col.known, store, federation.WriterOptions{Name: name, Now: time.Now,
		Logger: col.logger, Fates: fates})
	col.sharing = append(col.sharing, &sharing{store: store, writer: writer})
	return nil
}

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

// openGrid opens the store of a data directory, with what an older program left there. Retention counts back from now.
func openGrid(c config.Config, logger *slog.Logger, figures *prometheus.Registry, now func() time.Time) (
	sliceStore, error) {
	keep := grid.DefaultOptions()
	keep.RetentionTime, keep.RetentionBytes, keep.Logger, keep.Registerer = c.Embedded.RetentionTime,
		c.Embedded.RetentionBytes, logger, figures
	keep.ReclaimAfter, keep.Now = c.Disk.MakeRoomAfter, now
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
