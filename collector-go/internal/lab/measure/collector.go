package measure

import (
	"context"
	"math"
	"time"

	"github.com/prometheus/common/model"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
)

// Series is one stored series. Its slices are sorted by their ends; gaps are left out.
type Series struct {
	Labels map[string]string
	Slices runstore.Slices
}

// Newest is the end of a series' newest slice, in ms since the Unix epoch.
type Newest struct {
	Labels map[string]string
	EndMs  int64
}

// Collector is the client of a collector's public HTTP API. It uses no private access to the collector, so a run can
// use a collector on another machine. It is safe for concurrent use.
type Collector struct{ client *client.Client }

// NewCollector returns a client of the collector that serves HTTP at address, "host:port" or a URL, with the
// credentials and TLS settings of access.
func NewCollector(address string, access CollectorAccess) (*Collector, error) {
	asked, err := client.New(address, access)
	return &Collector{asked}, err
}

// Slices returns the stored slices of the series that match a selector, with ends in (from, to]. A selector without
// matches yields no series and no error.
func (c *Collector) Slices(ctx context.Context, selector string, from, to time.Time) ([]Series, error) {
	matrix, err := c.client.Slices(ctx, selector, from, to)
	if err != nil {
		return nil, err
	}
	series := make([]Series, 0, len(matrix))
	for _, stream := range matrix {
		series = append(series, Series{labelsOf(stream.Metric), slicesOf(stream.Values)})
	}
	return series, nil
}

// Calculate implements Calculator.
func (c *Collector) Calculate(ctx context.Context, expression string, at time.Time) (tuning.Figure, error) {
	value, err := c.client.Query(ctx, expression, at)
	if err != nil {
		return tuning.Unknown, err
	}
	switch v := value.(type) {
	case *model.Scalar:
		return tuning.Figure(v.Value), nil
	case model.Vector:
		if len(v) == 1 {
			return tuning.Figure(v[0].Value), nil
		}
	}
	return tuning.Unknown, nil
}

// Newest returns, for each series that matches a selector, the end of its newest slice as of the given time.
func (c *Collector) Newest(ctx context.Context, selector string, at time.Time) ([]Newest, error) {
	vector, err := c.client.Vector(ctx, "timestamp("+selector+")", at)
	if err != nil {
		return nil, err
	}
	newest := make([]Newest, 0, len(vector))
	for _, sample := range vector {
		newest = append(newest, Newest{labelsOf(sample.Metric), int64(math.Round(float64(sample.Value) * 1000))})
	}
	return newest, nil
}

// labelsOf copies a series' labels, including the metric's name.
func labelsOf(metric model.Metric) map[string]string {
	labels := make(map[string]string, len(metric))
	for name, value := range metric {
		labels[string(name)] = string(value)
	}
	return labels
}

// slicesOf converts stored samples into slices. A sample's timestamp is the end of its slice.
func slicesOf(pairs []model.SamplePair) (s runstore.Slices) {
	for _, pair := range pairs {
		s.TimesMs = append(s.TimesMs, int64(pair.Timestamp))
		s.Values = append(s.Values, tuning.Figure(pair.Value))
	}
	return s
}
