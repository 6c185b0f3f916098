package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
)

// layouts holds the layouts that a stream defined, by the stream's ids. Their number and size are bounded for each
// stream (tableLimits), because their lists of ids stay in memory for as long as the stream lasts.
type layouts struct {
	byID    map[uint32]*layout
	listed  int      // columns of all layouts
	columns []uint32 // scratch memory for unpacking
}

// layout is a layout as the stream defined it and as the journal knows it. Bad series make the two differ, so the
// journal's layout of the remaining columns is stored too.
type layout struct {
	columns int
	packed  []byte // the ids of the series as differences, about as large as on the wire
	// complete is the journal's layout if every series is good, otherwise 0.
	complete journal.LayoutID
	// part is the journal's layout of the columns in kept if some series are not good, otherwise 0.
	part journal.LayoutID
	kept []int32
}

var errLayouts = errors.New("layout limit of the stream reached")

func (l *layouts) get(id uint32) *layout { return l.byID[id] }

// forget drops the journal's ids of a layout, so that they are requested again.
func (l *layout) forget() { l.complete, l.part, l.kept = 0, 0, nil }

// pack encodes ids as differences. Layouts of a stream may list millions of series, and neighbours usually differ by 1.
func pack(ids []uint32) []byte {
	packed := make([]byte, 0, len(ids))
	before := int64(0)
	for _, id := range ids {
		packed = binary.AppendVarint(packed, int64(id)-before)
		before = int64(id)
	}
	return packed
}

// unpack appends the stream's ids of the series, one per column.
func (l *layout) unpack(to []uint32) []uint32 {
	rest, before := l.packed, int64(0)
	for len(rest) > 0 {
		difference, n := binary.Varint(rest)
		rest = rest[n:]
		before += difference
		to = append(to, uint32(before))
	}
	return to
}

// addLayouts adds the definitions of layouts. An error ends the stream. After errLayouts the sender can open a new
// stream and define only the layouts that it still uses.
func (t *table) addLayouts(definitions []*pb.Layout) error {
	for _, d := range definitions {
		if err := t.addLayout(d); err != nil {
			return err
		}
	}
	return nil
}

// addLayout adds one definition. A repeated definition changes nothing. A definition with other series ends the stream.
func (t *table) addLayout(d *pb.Layout) error {
	if err := checkLayout(d); err != nil {
		return err
	}
	packed := pack(d.GetSeriesIds())
	if before := t.layouts.get(d.GetId()); before != nil {
		if string(before.packed) != string(packed) {
			return fmt.Errorf("batch.layouts.id %d is already defined with other series", d.GetId())
		}
		return nil
	}
	if len(t.layouts.byID) >= t.limits.layouts || t.layouts.listed+len(d.GetSeriesIds()) > t.limits.layoutColumns {
		return fmt.Errorf("%w (%d layouts with %d series in total): open a new stream and define only the layouts in use",
			errLayouts, t.limits.layouts, t.limits.layoutColumns)
	}
	if t.layouts.byID == nil {
		t.layouts.byID = map[uint32]*layout{}
	}
	t.layouts.listed += len(d.GetSeriesIds())
	t.layouts.byID[d.GetId()] = &layout{columns: len(d.GetSeriesIds()), packed: packed}
	return nil
}

// checkLayout returns an error that explains what is wrong with a layout.
func checkLayout(d *pb.Layout) error {
	ids := d.GetSeriesIds()
	switch {
	case d.GetId() == 0:
		return errors.New("batch.layouts.id is 0: ids start at 1")
	case len(ids) == 0 || len(ids) > block.MaxColumns:
		return fmt.Errorf("batch.layouts.id %d has %d series_ids; 1 to %d are allowed", d.GetId(), len(ids),
			block.MaxColumns)
	}
	sorted := slices.Sorted(slices.Values(ids))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return fmt.Errorf("batch.layouts.id %d lists the series id %d twice", d.GetId(), sorted[i])
		}
	}
	return nil
}
