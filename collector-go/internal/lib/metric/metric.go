// Package metric has the types for metrics that all folders share. Raw is a series as its source names it, Series is a
// series as the collector names it, and Kind is the kind of metric. Coder writes and reads these types in
// checkpoints.
//
// With this package, others can exchange series without importing each other. It must not know files, the network or
// time, nor which metrics exist; the catalog knows that. Start with Raw and Series.
package metric

import (
	"net"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// KeySeparator joins the keys of nested maps in Raw.Key. Ingest refuses names and keys that contain it.
const KeySeparator = "\x00"

// Shape is the shape of a data point before the plugin flattened it. The values are those of the wire format
// (bulletmetrics.v1.Shape).
type Shape uint8

// The shapes.
const (
	ShapeUnknown   Shape = iota
	ShapeNumber          // one number
	ShapeMap             // a map of numbers, possibly nested
	ShapeSampler         // a sample of our own worker sampler
	ShapeHistogram       // a native histogram of our own hook
)

// Temporality says what a value counts from. The values are those of the wire format (bulletmetrics.v1.Temporality).
type Temporality uint8

// The temporalities.
const (
	TemporalityUnknown Temporality = iota // Storm's own metrics; the catalog knows the temporality
	Gauge                                 // each value is independent
	Delta                                 // the increase since the previous sample
	Cumulative                            // the increase since the source started
)

// Worker identifies the place of a worker process in a cluster. Watermarks are per worker.
type Worker struct {
	Topology string
	Host     string
	Port     uint32
}

// String returns the label value "host:port".
func (w Worker) String() string {
	return net.JoinHostPort(w.Host, strconv.FormatUint(uint64(w.Port), 10))
}

// Raw names a series as its source does. It is comparable, and is the key of the journal's dictionary.
type Raw struct {
	Worker
	Component   string
	Task        int32  // -1 for a worker's own metrics
	Name        string // Storm's name, such as "GC.G1-Young-Generation.time"
	Key         string // path into a map, joined by KeySeparator; "" for a plain number
	Shape       Shape
	Temporality Temporality
	IntervalMs  int64 // reporting interval according to the source
	PackSpanMs  int64 // maximum time span of one pack of samples; 0 if samples are sent singly
}

// Keys returns Raw.Key as a path.
func (r Raw) Keys() []string {
	if r.Key == "" {
		return nil
	}
	return strings.Split(r.Key, KeySeparator)
}

// Kind is the kind of a canonical series.
type Kind uint8

// The kinds.
const (
	KindGauge        Kind = iota + 1 // stored as the mean of a slice, with min and max if requested
	KindCounter                      // stored as a monotonic total at the slice's end
	KindDistribution                 // stored as a cumulative native histogram
)

// String returns the name of the kind in Prometheus' metadata.
func (k Kind) String() string {
	switch k {
	case KindGauge:
		return "gauge"
	case KindCounter:
		return "counter"
	case KindDistribution:
		return "histogram"
	}
	return "unknown"
}

// Series is a canonical series, which is what users see. Its name is in Labels under "__name__".
type Series struct {
	Labels labels.Labels
	Kind   Kind
}

// Name returns the metric's name.
func (s Series) Name() string { return s.Labels.Get(model.MetricNameLabel) }

// Rule defines how the samples of one raw series become slices of a canonical series. The catalog makes it and the
// slicer applies it, so that neither needs to know the other.
type Rule struct {
	// Worker is the source whose watermark completes the slices.
	Worker Worker
	// Series is the canonical series.
	Series Series
	// MinName and MaxName are the names of the series with the minimum and maximum of a gauge's slice. They are stored
	// if a slice can have more than one sample. "" means that they are not stored.
	MinName, MaxName string
	// NegativeName is the name of the counter of a distribution's negative observations; "" for other kinds.
	NegativeName string
	// RestartsName is set only for the start time of the worker's process. It is the name of the counter of its
	// changes. Such a series is stored as the last sample of a slice, and a change resets the worker's cumulative
	// counters.
	RestartsName string
	// Temporality is Gauge, Delta or Cumulative, but never unknown.
	Temporality Temporality
	// PerUnit is how many units of the source are one canonical unit, for example 1000 from ms to seconds. It is a
	// divisor, because dividing by 1000 is exact and multiplying by 0.001 is not.
	PerUnit float64
	// Least and Most are the bounds of a valid value, inclusive and in the source's unit. A value outside is refused.
	Least, Most float64
	// IntervalMs is the reporting interval of the source; 0 if it is unknown.
	IntervalMs int64
	// PackSpanMs is the maximum time span of one pack of samples; 0 if samples are sent singly.
	PackSpanMs int64
}
