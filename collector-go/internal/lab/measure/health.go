package measure

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
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
		url.Values{"start": {from.UTC().Format(time.RFC3339Nano)}, "end": {to.UTC().Format(time.RFC3339Nano)}}.Encode()
	return health, c.client.Call(ctx, http.MethodGet, path, nil, health)
}
