package ingest

import (
	"fmt"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

// table is what the ids of one stream mean. It dies with the stream.
type table struct {
	topology string
	limit    int
	define   func(metric.Raw) (journal.SeriesID, error) // fails when a limit on series is reached
	series   map[uint32]known
}

// known is what an id stands for: a series of the journal, or the reason for which its samples are rejected.
type known struct {
	id        journal.SeriesID
	name      string // for examples
	histogram bool
	reason    pb.RejectionReason // unspecified where the series is good
	example   string
}

func newTable(topology string, limit int, define func(metric.Raw) (journal.SeriesID, error)) *table {
	return &table{topology: topology, limit: limit, define: define, series: map[uint32]known{}}
}

// add takes definitions. The error is one that ends the stream.
func (t *table) add(definitions []*pb.SeriesDefinition) error {
	for _, d := range definitions {
		if err := t.addOne(d); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) addOne(d *pb.SeriesDefinition) error {
	if d.GetId() == 0 {
		return fmt.Errorf("batch.series.id is 0 for %.40q: ids start at 1", d.GetName())
	}
	before, again := t.series[d.GetId()]
	if !again && len(t.series) >= t.limit {
		return nil // its samples are rejected for the limit: see lookUp
	}
	now := t.resolve(d)
	if again && before.id != now.id && before.reason != pb.RejectionReason_REJECTION_REASON_SERIES_LIMIT {
		return fmt.Errorf("batch.series.id %d is defined again with another meaning, as %.40q", d.GetId(), d.GetName())
	}
	t.series[d.GetId()] = now
	return nil
}

// resolve finds the journal's name for a definition.
func (t *table) resolve(d *pb.SeriesDefinition) known {
	raw, err := rawSeries(t.topology, d)
	if err != nil {
		return known{reason: pb.RejectionReason_REJECTION_REASON_BAD_SERIES, example: err.Error()}
	}
	id, err := t.define(raw)
	if err != nil {
		return known{reason: pb.RejectionReason_REJECTION_REASON_SERIES_LIMIT,
			example: fmt.Sprintf("%.40q of %v: %v", raw.Name, raw.Worker, err)}
	}
	return known{id: id, name: raw.Name, histogram: raw.Shape == metric.ShapeHistogram}
}

// lookUp is what an id stands for.
func (t *table) lookUp(id uint32) known {
	if k, ok := t.series[id]; ok {
		return k
	}
	if len(t.series) >= t.limit {
		return known{reason: pb.RejectionReason_REJECTION_REASON_SERIES_LIMIT,
			example: fmt.Sprintf("id %d: a stream may define %d series", id, t.limit)}
	}
	return known{reason: pb.RejectionReason_REJECTION_REASON_UNKNOWN_SERIES,
		example: fmt.Sprintf("id %d was not defined on this stream", id)}
}
