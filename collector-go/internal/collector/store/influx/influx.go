// Package influx writes InfluxDB's line protocol. It writes to InfluxDB 2, and to anything else that accepts
// /api/v2/write, through influxdb-client-go. It writes to InfluxDB 1 through /write. It owns the form of the lines: how
// a slice, a gap and a histogram are written, and what line protocol cannot represent.
//
// It must not know what happened to a slice before, nor when it is sent again; package forward knows that. Start with
// Protocol, then read line.go. docs/stores/influxdb.md describes the result.
package influx

import (
	"context"
	"errors"
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Options describe a receiver. Database is for InfluxDB 1 and Bucket for InfluxDB 2. Exactly one of them must be set.
type Options struct {
	forward.Receiver
	Org             string // for InfluxDB 2
	Bucket          string
	Database        string // for InfluxDB 1
	RetentionPolicy string // "" means the database's default
}

// Validate returns an error that names the invalid setting by its key.
func (o Options) Validate() error {
	if err := o.Receiver.Validate(); err != nil {
		return err
	}
	switch {
	case o.Bucket == "" && o.Database == "":
		return errors.New("bucket is missing: set bucket (InfluxDB 2) or database (InfluxDB 1)")
	case o.Bucket != "" && o.Database != "":
		return errors.New("bucket excludes database: set bucket (InfluxDB 2) or database (InfluxDB 1), not both")
	case o.Database != "" && o.Org != "":
		return errors.New("org requires bucket: InfluxDB 1 has no organisations")
	case o.Bucket != "" && o.RetentionPolicy != "":
		return errors.New("retention_policy requires database: a bucket of InfluxDB 2 has its own")
	}
	return nil
}

// NotFinite is the reason for rejecting NaN and infinities, which InfluxDB cannot store.
const NotFinite = "not_finite"

// writer sends lines to a server of one version. Its errors are a *forward.Refusal, a *forward.Unavailable, or an error
// of the connection.
type writer interface {
	write(ctx context.Context, lines []byte) error
	close()
}

// Protocol implements forward.Protocol. It keeps the escaped beginning of each series' lines, so that encoding a slice
// need not escape anything.
type Protocol struct {
	writer writer
	series []series // by slice.Ref
	counts []float64
}

// New returns the protocol for a receiver. It does not connect. Database or Bucket in the options decides for which
// version of InfluxDB it is.
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

// Forget implements forward.Protocol.
func (p *Protocol) Forget(ref slice.Ref) {
	if int(ref) < len(p.series) { // a series that the receiver does not take may be beyond the last one
		p.series[ref] = series{}
	}
}

// Holds implements forward.Protocol.
func (p *Protocol) Holds(c *slice.Columns, point forward.Point) string {
	var v float64
	switch s := &p.series[point.Ref]; {
	case point.Histogram != (s.key == nil):
		return forward.Invalid // not of the kind of the series
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

// InfluxDB 1.8 has the API of version 2 too, so a bucket may also name a database of InfluxDB 1.8.
func init() {
	forward.Register(forward.Kind{
		Name: "influxdb", Address: "an InfluxDB, such as http://localhost:8086", Receiver: "the InfluxDB",
		Settings: []forward.Setting{
			{Name: "bucket", Usage: "bucket of InfluxDB 2, or DATABASE/RETENTION_POLICY of InfluxDB 1.8 or later"},
			{Name: "org", Usage: "organisation of InfluxDB 2"},
			{Name: "database", Usage: "database of InfluxDB 1, written to through its endpoint /write"},
			{Name: "retention_policy", Usage: "retention policy of InfluxDB 1; the database's default if not set"},
		},
		Build: func(at forward.Receiver, own map[string]string) forward.Builder {
			return Options{Receiver: at, Org: own["org"], Bucket: own["bucket"], Database: own["database"],
				RetentionPolicy: own["retention_policy"]}
		},
	})
}

// Protocol implements forward.Builder.
func (o Options) Protocol() (forward.Protocol, error) { return New(o) }
