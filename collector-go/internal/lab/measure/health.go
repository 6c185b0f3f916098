package measure

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// Collections reports how complete the collected data are. It is an optional extension of Stored, which Collector
// implements.
type Collections interface {
	Collection(ctx context.Context, topology string, from, to time.Time) (*collection.Collection, error)
}

// Collection returns how completely the topology's samples arrived between two times.
func (c *Collector) Collection(ctx context.Context, topology string, from, to time.Time) (
	*collection.Collection, error) {
	health := new(collection.Collection)
	path := "/api/v1/collection/" + url.PathEscape(topology) + "?" +
		parameters("start", from.UTC().Format(time.RFC3339Nano), "end", to.UTC().Format(time.RFC3339Nano))
	return health, c.client.Call(ctx, http.MethodGet, path, nil, health)
}

// gatherHealth sets how complete the run's figures are. If the collector does not report it, as older collectors do
// not, the run has no such figures.
func gatherHealth(ctx context.Context, collector Slices, topology string, from, to time.Time, run *runstore.Figures) {
	if asked, can := collector.(Collections); can {
		if health, err := asked.Collection(ctx, topology, from, to); err == nil {
			run.Health = health
		}
	}
}
