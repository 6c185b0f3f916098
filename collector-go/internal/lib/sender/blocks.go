package sender

import (
	"encoding/binary"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
)

// maxLayouts is the maximum number of layouts of a Sender.
const maxLayouts = 256

// maxLayoutSeries bounds the series that a sender's layouts list together.
const maxLayoutSeries = 1 << 20

// Layouts are the lists of series that were reported together, for a collector that accepts blocks. They are kept
// across streams, because a program reports the same series repeatedly. Samples of other combinations of series are
// sent as columns once there are Max layouts.
type Layouts struct {
	Max int
	// List has the layout with an id at the index id-1.
	List []*pb.Layout

	ids    map[string]uint32
	series int // in all layouts
}

// of returns the id of the layout for a list of series, or 0 if the samples must be sent as columns.
func (l *Layouts) of(series []uint32) uint32 {
	key := make([]byte, 0, 4*len(series))
	for _, id := range series {
		key = binary.LittleEndian.AppendUint32(key, id)
	}
	id, known := l.ids[string(key)]
	if known || len(series) < 2 || len(series) > block.MaxColumns || len(l.List) >= l.Max ||
		l.series+len(series) > maxLayoutSeries {
		return id
	}
	if l.ids == nil {
		l.ids = map[string]uint32{}
	}
	id = uint32(len(l.List) + 1)
	l.ids[string(key)] = id
	l.List = append(l.List, &pb.Layout{Id: id, SeriesIds: series})
	l.series += len(series)
	return id
}

// AddRow adds samples of one time and of different series to a batch: as a block with one row if possible, otherwise as
// columns.
func (l *Layouts) AddRow(to *pb.Batch, timeMs int64, series []uint32, values []float64) {
	if layout := l.of(series); layout != 0 {
		to.Blocks = append(to.Blocks, &pb.Block{LayoutId: layout, FirstTimeMs: timeMs, Count: 1,
			Codec: pb.ValueCodec_VALUE_CODEC_TRIMMED, Values: block.AppendTrimmed(nil, values)})
		return
	}
	for i, id := range series {
		to.Samples.SeriesIds = append(to.Samples.SeriesIds, id)
		to.Samples.TimeOffsetsMs = append(to.Samples.TimeOffsetsMs, timeMs-to.Samples.BaseTimeMs)
		to.Samples.Values = append(to.Samples.Values, values[i])
	}
}

// inBlocks returns a batch in which samples of the same time form a block with one row. It shares unchanged parts with
// b. Blocks are cheaper for the collector than columns of samples, because it stores them unchanged.
func (l *Layouts) inBlocks(b *pb.Batch) *pb.Batch {
	out := &pb.Batch{Epoch: b.GetEpoch(), Sequence: b.GetSequence(), Histograms: b.GetHistograms(),
		Samples: &pb.SampleColumns{}, Closing: b.GetClosing()}
	from := b.GetSamples()
	for begin := 0; begin < len(from.GetValues()); {
		end := runOf(from, begin)
		l.AddRow(out, from.GetBaseTimeMs()+from.GetTimeOffsetsMs()[begin], from.GetSeriesIds()[begin:end],
			from.GetValues()[begin:end])
		begin = end
	}
	return out
}

// runOf returns the end of the run of samples from begin that can form one row. They have the same time and different
// series, and are at most as many as a layout may have.
func runOf(from *pb.SampleColumns, begin int) int {
	seen := map[uint32]bool{}
	for i := begin; i < len(from.GetValues()); i++ {
		id := from.GetSeriesIds()[i]
		if from.GetTimeOffsetsMs()[i] != from.GetTimeOffsetsMs()[begin] || seen[id] || len(seen) == block.MaxColumns {
			return i
		}
		seen[id] = true
	}
	return len(from.GetValues())
}
