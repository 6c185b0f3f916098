package load

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
)

// CollectorActivity asks a collector, or any Prometheus, how many queries a topology ran. It reads
// bullet_active_queries, summed over JoinBolt's tasks. By default a slice is available about 50 s after its end.
type CollectorActivity struct {
	client   *client.Client
	selector string
}

// Active states how many queries a topology ran according to the stored slices.
type Active struct {
	Most    float64 `json:"most"`
	UntilMs int64   `json:"until_ms"` // the end of the newest slice
}

// NewCollectorActivity returns a client that asks the collector at address ("host:port" or a URL) about a topology.
func NewCollectorActivity(address, topology string) (*CollectorActivity, error) {
	asked, err := client.New(address, client.Access{})
	return &CollectorActivity{asked, fmt.Sprintf(`bullet_active_queries{topology=%s,component="JoinBolt"}`,
		strconv.Quote(topology))}, err
}

// Close closes idle connections.
func (c *CollectorActivity) Close() { c.client.Close() }

// Within reads the slices that ended in (from, to]. It returns nil if none is stored.
func (c *CollectorActivity) Within(ctx context.Context, from, to time.Time) (*Active, error) {
	series, err := c.client.Slices(ctx, c.selector, from, to)
	if err != nil {
		return nil, err
	}
	byEnd := map[int64]float64{}
	for _, one := range series {
		for _, slice := range one.Values {
			if n := float64(slice.Value); !math.IsNaN(n) {
				byEnd[int64(slice.Timestamp)] += n
			}
		}
	}
	if len(byEnd) == 0 {
		return nil, nil
	}
	active := &Active{}
	for endMs, n := range byEnd {
		active.Most, active.UntilMs = max(active.Most, n), max(active.UntilMs, endMs)
	}
	return active, nil
}
