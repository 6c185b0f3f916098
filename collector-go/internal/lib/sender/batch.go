package sender

import (
	"time"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// Series identifies a series: a metric of the sender's component, with a key if the metric has several series.
type Series struct {
	Name string
	// Key distinguishes the series of a metric, for example by class.
	Key [2]string
	// Histogram means that its samples are distributions instead of numbers.
	Histogram bool
	// Cumulative means that its values count from the sender's start. Otherwise each value is independent.
	Cumulative bool
	// Interval is the reporting interval.
	Interval time.Duration
}

// Sample is a number or a distribution of a series at one time.
type Sample struct {
	Series Series
	Time   time.Time
	Value  float64
	// Histogram replaces Value for a distribution. The sender sets its series and time.
	Histogram *pb.HistogramSample
}

// definition returns the definition of a series in the wire format.
func (o Options) definition(id uint32, s Series) *pb.SeriesDefinition {
	d := &pb.SeriesDefinition{
		Id: id, Host: o.Host, Component: o.Component, Task: -1, Name: s.Name,
		IntervalMs:  uint32(s.Interval.Milliseconds()),
		Temporality: pb.Temporality_TEMPORALITY_GAUGE, Shape: pb.Shape_SHAPE_NUMBER,
	}
	for _, key := range s.Key {
		if key != "" {
			d.Key, d.Shape = append(d.Key, key), pb.Shape_SHAPE_MAP
		}
	}
	if s.Cumulative {
		d.Temporality = pb.Temporality_TEMPORALITY_CUMULATIVE
	}
	if s.Histogram {
		d.Shape = pb.Shape_SHAPE_HISTOGRAM
	}
	return d
}

// queued is a batch in the queue, without the parts that depend on the stream, such as definitions. Its expiry counts
// from made.
type queued struct {
	batch *pb.Batch
	made  time.Time
}

func (h queued) samples() uint64 {
	return uint64(len(h.batch.GetSamples().GetValues()) + len(h.batch.GetHistograms()))
}

// fill returns a batch with the samples. The caller must hold mu.
func (s *Sender) fill(samples []Sample) *pb.Batch {
	b := &pb.Batch{Samples: &pb.SampleColumns{}}
	for _, sample := range samples {
		id := s.id(sample.Series)
		timeMs := sample.Time.UnixMilli()
		if h := sample.Histogram; h != nil {
			h.SeriesId, h.TimeMs = id, timeMs
			b.Histograms = append(b.Histograms, h)
			continue
		}
		b.Samples.SeriesIds = append(b.Samples.SeriesIds, id)
		b.Samples.TimeOffsetsMs = append(b.Samples.TimeOffsetsMs, timeMs)
		b.Samples.Values = append(b.Samples.Values, sample.Value)
	}
	return b
}

func (s *Sender) id(series Series) uint32 {
	id, known := s.ids[series]
	if !known {
		id = uint32(len(s.ids) + 1)
		s.ids[series] = id
		s.series = append(s.series, s.options.definition(id, series))
	}
	return id
}
