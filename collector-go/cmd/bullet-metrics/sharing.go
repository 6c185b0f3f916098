package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/federation"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query/remote"
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
	for _, kind := range forward.Kinds() {
		if kind.Name != remoteWrite {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(c.Stores[kind.Name])) {
			if err := col.share(c, kind, name, fates); err != nil {
				return fmt.Errorf("store.%s.%s: annotations: %w", kind.Name, name, err)
			}
		}
	}
	return nil
}

func (col *collector) share(c config.Config, kind forward.Kind, name string, fates *prometheus.CounterVec) error {
	n := c.Stores[kind.Name][name]
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

// evaluated asks an engine elsewhere as a whole, whatever lies beside it here.
type evaluated struct{ engine *remote.Store }

// Evaluate implements federation.Engine.
func (e evaluated) Evaluate(ctx context.Context, expression string, at time.Time) ([]federation.Line, error) {
	value, _, err := e.engine.Evaluate(ctx, plan.Text{Expression: expression, Start: at, End: at})
	if err != nil {
		return nil, err
	}
	var all []federation.Line
	switch found := value.(type) {
	case promql.Vector:
		for _, s := range found {
			all = append(all, federation.Line{Labels: s.Metric.Map(), TimesMs: []int64{s.T}, Values: []float64{s.F}})
		}
	case promql.Matrix:
		for _, s := range found {
			line := federation.Line{Labels: s.Metric.Map()}
			for _, p := range s.Floats {
				line.TimesMs, line.Values = append(line.TimesMs, p.T), append(line.Values, p.F)
			}
			all = append(all, line)
		}
	}
	return all, nil
}
