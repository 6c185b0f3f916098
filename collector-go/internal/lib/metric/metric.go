// Package metric is the vocabulary of a metric that all folders share: how its source names a number (Raw), how the
// collector names it (Series), and what kind of number it is (Kind). Encoder and Decoder write and read this vocabulary
// in checkpoints.
//
// It is here so that packages can exchange series without importing each other. It must not know files, the network or
// time, nor which metrics exist; the catalog knows that. Start with Raw and Series.
package metric

import (
	"net"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// KeySeparator joins the keys of nested maps in Raw.Key. Names and keys that contain it are refused at the door.
const KeySeparator = "\x00"

// Shape is the shape of a data point before the plugin flattened it; the values are those of the wire
// (bulletmetrics.v1.Shape).
type Shape uint8

// The shapes.
const (
	ShapeUnknown   Shape = iota
	ShapeNumber          // one number
	ShapeMap             // a map, possibly of maps, of numbers
	ShapeSampler         // a sample of our own worker sampler
	ShapeHistogram       // a native histogram of our own hook
)

// Temporality is what values count from; the values are those of the wire (bulletmetrics.v1.Temporality).
type Temporality uint8

// The temporalities.
const (
	TemporalityUnknown Temporality = iota // Storm's own metrics: the catalogue knows
	Gauge                                 // each value stands for itself
	Delta                                 // added since the previous sample
	Cumulative                            // added since the source started
)

// Worker is a worker process' place in a cluster. It is what a watermark belongs to.
type Worker struct {
	Topology string
	Host     string
	Port     uint32
}

// String is the label value "host:port".
func (w Worker) String() string {
	return net.JoinHostPort(w.Host, strconv.FormatUint(uint64(w.Port), 10))
}

// Raw names a series as its source does. It is comparable, and is the key of the journal's dictionary.
type Raw struct {
	Worker
	Component   string
	Task        int32  // -1 for a worker's own metrics
	Name        string // Storm's name, such as "GC.G1-Young-Generation.time"
	Key         string // path into a map value, joined by KeySeparator; "" for a plain number
	Shape       Shape
	Temporality Temporality
	IntervalMs  int64 // how often the source reports, by its own account
	PackSpanMs  int64 // the most that one pack of samples spans; 0 where samples come alone
}

// Keys is Raw.Key as a path.
func (r Raw) Keys() []string {
	if r.Key == "" {
		return nil
	}
	return strings.Split(r.Key, KeySeparator)
}

// Kind is what a canonical series is made of.
type Kind uint8

// The kinds.
const (
	KindGauge        Kind = iota + 1 // stored as the mean of a slice, with min and max beside it where asked for
	KindCounter                      // stored as a monotone total at the slice's end
	KindDistribution                 // stored as a cumulative native histogram
)

// String is Prometheus' name of the kind, as its metadata endpoint gives it.
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

// Series is a canonical series: what users meet. The name is in Labels under "__name__".
type Series struct {
	Labels labels.Labels
	Kind   Kind
}

// Name is the metric's name.
func (s Series) Name() string { return s.Labels.Get(model.MetricNameLabel) }
