package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/feed"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	// Each kind of store registers itself.
	_ "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/influx"
	_ "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/remote"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
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
		protocol, err := protocolOf(kind, n)
		if err != nil {
			return err
		}
		o := forward.DefaultOptions(name)
		o.MaxSlices, o.MaxBytes, o.Timeout, o.Logger, o.Registerer = n.MaxSlices, int(n.MaxBytes), n.Timeout,
			col.logger, figures
		store, err := forward.Open(filepath.Join(c.DataDir, "stores", name), protocol, o)
		if err != nil {
			return err
		}
		opened := &networkStore{store: store}
		col.network = append(col.network, opened)
		feeding := feed.DefaultOptions(name, filepath.Join(c.DataDir, "feeds"))
		feeding.Slicer, feeding.Registerer, feeding.Logger = slicerOptions(feeding.Slicer, c), figures, col.logger
		feeding.Catalog.MaxSeries = bounded(feeding.Catalog.MaxSeries, 2*c.Memory.Series)
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
