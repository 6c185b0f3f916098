// Package influx speaks InfluxDB's line protocol: to InfluxDB 2 (and whatever else takes /api/v2/write) through
// influxdb-client-go, and to InfluxDB 1 through its /write. It owns lines: how a slice, a gap and a histogram are
// written in them, and what line protocol cannot carry.
//
// It must not know what became of a slice before, nor when it is sent again: that is package forward's. Start with
// Protocol, then line.go. docs/stores/influxdb.md describes the result.
package influx

import (
	"context"
	"errors"
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Options of a receiver. Database is InfluxDB 1's, Bucket InfluxDB 2's: exactly one of them is set.
type Options struct {
	forward.Receiver
	Org             string // InfluxDB 2
	Bucket          string
	Database        string // InfluxDB 1
	RetentionPolicy string // "" for the database's default
}

// Validate returns an error that names what is invalid, by the keys of the settings.
func (o Options) Validate() error {
	if err := o.Receiver.Validate(); err != nil {
		return err
	}
	switch {
	case o.Bucket == "" && o.Database == "":
		return errors.New("bucket is missing, for InfluxDB 2, or database, for InfluxDB 1")
	case o.Bucket != "" && o.Database != "":
		return errors.New("bucket is for InfluxDB 2 and database for InfluxDB 1: set one of them")
	case o.Database != "" && o.Org != "":
		return errors.New("org belongs to bucket: InfluxDB 1 knows none")
	case o.Bucket != "" && o.RetentionPolicy != "":
		return errors.New("retention_policy belongs to database: a bucket of InfluxDB 2 has one")
	}
	return nil
}

// NotFinite is the reason why InfluxDB cannot hold a number: it has no NaN and no infinity.
const NotFinite = "not_finite"

// writer brings lines to a server of one version. An error is a *forward.Refusal, a *forward.Unavailable, or one of the
// connection.
type writer interface {
	write(ctx context.Context, lines []byte) error
	close()
}

// Protocol implements forward.Protocol. It keeps the beginning of each series' lines, so that encoding a slice escapes
// nothing.
type Protocol struct {
	writer writer
	series []series // by slice.Ref
	counts []float64
}

// New makes the protocol for a receiver; it connects to nothing. Which version of InfluxDB it is for follows from the
// settings: Database or Bucket.
func New(o Options) (*Protocol, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	client, err := o.Client()
	if err != nil {
		return nil, err
	}
	if o.Database != "" {
		return &Protocol{writer: newVersion1(o, client)}, nil
	}
	return &Protocol{writer: newVersion2(o, client)}, nil
}

// Define implements forward.Protocol.
func (p *Protocol) Define(d slice.Definition) (reason string) {
	for int(d.Ref) >= len(p.series) {
		p.series = append(p.series, series{})
	}
	s, err := newSeries(d.Series.Labels, d.Series.Kind == metric.KindDistribution)
	if err != nil {
		return forward.Invalid
	}
	p.series[d.Ref] = s
	return ""
}

// Holds implements forward.Protocol.
func (p *Protocol) Holds(c *slice.Columns, point forward.Point) string {
	var v float64
	switch s := &p.series[point.Ref]; {
	case point.Histogram != (s.key == nil):
		return forward.Invalid // of another kind than the series
	case !point.Histogram:
		v = c.Values[point.Index]
	case c.Histograms[point.Index] != nil:
		v = c.Histograms[point.Index].Sum
	}
	if finite(v) || isGap(v) {
		return ""
	}
	return NotFinite
}

// Encode implements forward.Protocol.
func (p *Protocol) Encode(to []byte, c *slice.Columns, points []forward.Point) []byte {
	for _, point := range points {
		s := &p.series[point.Ref]
		if point.Histogram {
			to = p.histogram(to, s, c.Histograms[point.Index], point.EndMs)
		} else {
			to = line(to, s.key, c.Values[point.Index], point.EndMs)
		}
	}
	return to
}

// Post implements forward.Protocol.
func (p *Protocol) Post(ctx context.Context, body []byte) error {
	if err := p.writer.write(ctx, body); err != nil {
		return fmt.Errorf("write to InfluxDB: %w", err)
	}
	return nil
}

// Close implements forward.Protocol.
func (p *Protocol) Close() { p.writer.close() }

var _ forward.Protocol = (*Protocol)(nil)
