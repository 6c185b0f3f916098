package load

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// CollectorActivity asks a collector's PromQL, or any Prometheus, how many queries a topology ran: bullet_active_queries, summed over JoinBolt's
// tasks. It knows a slice once that is stored, some 50 s after its end by default.
type CollectorActivity struct {
	http     *Gateway
	selector string
}

// Active is how many queries a topology ran by what is stored.
type Active struct {
	Most    float64 `json:"most"`
	UntilMs int64   `json:"until_ms"` // the end of the newest slice
}

// NewCollectorActivity asks the collector at address, "host:port" or a URL, about a topology.
func NewCollectorActivity(address, topology string) *CollectorActivity {
	return &CollectorActivity{
		http:     NewGateway(address, 1),
		selector: fmt.Sprintf(`bullet_active_queries{topology=%s,component="JoinBolt"}`, strconv.Quote(topology)),
	}
}

// Close lets go of idle connections.
func (c *CollectorActivity) Close() { c.http.Close() }

// Within reads the slices that ended in (from, to]; nil where none is stored.
func (c *CollectorActivity) Within(ctx context.Context, from, to time.Time) (*Active, error) {
	var answer struct {
		Data struct {
			Result []struct{ Values [][2]json.RawMessage }
		}
	}
	query := url.Values{
		"query": {fmt.Sprintf("%s[%dms]", c.selector, max(1, to.Sub(from).Milliseconds()))},
		"time":  {strconv.FormatFloat(float64(to.UnixMilli())/1000, 'f', 3, 64)},
	}
	if err := c.http.exchange(ctx, http.MethodGet, "/api/v1/query?"+query.Encode(), "", nil, &answer); err != nil {
		return nil, err
	}
	byEnd := map[int64]float64{}
	for _, series := range answer.Data.Result {
		for _, slice := range series.Values {
			endMs, n, err := slicePair(slice)
			if err != nil {
				return nil, fmt.Errorf("the collector's answer: %w", err)
			}
			if !math.IsNaN(n) {
				byEnd[endMs] += n
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

func slicePair(pair [2]json.RawMessage) (endMs int64, value float64, err error) {
	var seconds float64
	var text string
	if err = json.Unmarshal(pair[0], &seconds); err == nil {
		err = json.Unmarshal(pair[1], &text)
	}
	if err != nil {
		return 0, 0, err
	}
	value, err = strconv.ParseFloat(text, 64)
	return int64(seconds*1000 + 0.5), value, err
}
