package load

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
)

// CollectorActivity asks a collector's PromQL, or any Prometheus, how many queries a topology runs. It is as fresh as what is stored: a
// slice and its lateness old.
type CollectorActivity struct {
	http     *Gateway
	selector string
}

// NewCollectorActivity asks the collector at address, "host:port" or a URL, about a topology.
func NewCollectorActivity(address, topology string) *CollectorActivity {
	return &CollectorActivity{
		http:     NewGateway(address, 1),
		selector: fmt.Sprintf(`sum(bullet_active_queries{topology=%s,component="JoinBolt"})`, strconv.Quote(topology)),
	}
}

// Close lets go of idle connections.
func (c *CollectorActivity) Close() { c.http.Close() }

// Active implements Activity; NaN while there is nothing stored.
func (c *CollectorActivity) Active(ctx context.Context) (float64, error) {
	var answer struct {
		Data struct {
			Result []struct{ Value [2]json.RawMessage }
		}
	}
	if err := c.http.exchange(ctx, http.MethodGet, "/api/v1/query?query="+url.QueryEscape(c.selector), "", nil, &answer); err != nil {
		return 0, err
	}
	if len(answer.Data.Result) == 0 {
		return math.NaN(), nil
	}
	var text string
	if err := json.Unmarshal(answer.Data.Result[0].Value[1], &text); err != nil {
		return 0, fmt.Errorf("the collector's answer: %w", err)
	}
	return strconv.ParseFloat(text, 64)
}
