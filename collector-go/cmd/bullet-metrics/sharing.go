package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/federation"
)

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
	protocol, err := protocolOf(kind, n)
	if err != nil {
		return err
	}
	o := forward.DefaultOptions(name)
	o.MaxSlices, o.MaxBytes, o.Timeout, o.Logger = n.MaxSlices, int(n.MaxBytes), n.Timeout, col.logger
	store, err := forward.Open(filepath.Join(c.DataDir, "stores", name, "annotations"), protocol, o)
	if err != nil {
		return err
	}
	writer := federation.NewWriter(col.known, store, federation.WriterOptions{Name: name, Now: time.Now,
		Logger: col.logger, Fates: fates})
	col.sharing = append(col.sharing, &sharing{store: store, writer: writer})
	return nil
}
