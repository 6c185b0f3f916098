package sender

import (
	"encoding/binary"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
)

// maxLayouts is the maximum number of layouts of a sender. Samples with other combinations of series are sent as
// columns.
const maxLayouts = 256

// layouts are the lists of series that were offered together, for a collector that accepts blocks. They are kept
// across streams, because a program offers the same series repeatedly.
type layouts struct {
	ids  map[string]uint32
	list []*pb.Layout // index is id-1
}

// of returns the id of the layout for a list of series, or 0 if the maximum number of layouts is reached.
func (l *layouts) of(series []uint32) uint32 {
	key := make([]byte, 0, 4*len(series))
	for _, id := range series {
		key = binary.LittleEndian.AppendUint32(key, id)
	}
	id, known := l.ids[string(key)]
	if !known && len(l.list) < maxLayouts {
		if l.ids == nil {
			l.ids = map[string]uint32{}
		}
		id = uint32(len(l.list) + 1)
		l.ids[string(key)] = id
		l.list = append(l.list, &pb.Layout{Id: id, SeriesIds: series})
	}
	return id
}

// inBlocks returns a batch in which samples of the same time form a block with one row. It shares unchanged parts with
// b. Blocks are cheaper for the collector than columns of samples, because it stores them unchanged.
func (l *layouts) inBlocks(b *pb.Batch) *pb.Batch {
	out := &pb.Batch{Epoch: b.GetEpoch(), Sequence: b.GetSequence(), Histograms: b.GetHistograms(),
		Samples: &pb.SampleColumns{}, Closing: b.GetClosing()}
	from := b.GetSamples()
	for begin := 0; begin < len(from.GetValues()); {
		end := runOf(from, begin)
		ids, timeMs := from.GetSeriesIds()[begin:end], from.GetBaseTimeMs()+from.GetTimeOffsetsMs()[begin]
		layout := uint32(0)
		if len(ids) > 1 {
			layout = l.of(ids)
		}
		if layout == 0 {
			for i := begin; i < end; i++ {
				out.Samples.SeriesIds = append(out.Samples.SeriesIds, from.GetSeriesIds()[i])
				out.Samples.TimeOffsetsMs = append(out.Samples.TimeOffsetsMs, timeMs)
				out.Samples.Values = append(out.Samples.Values, from.GetValues()[i])
			}
		} else {
			out.Blocks = append(out.Blocks, &pb.Block{LayoutId: layout, FirstTimeMs: timeMs, Count: 1,
				Codec:  pb.ValueCodec_VALUE_CODEC_TRIMMED,
				Values: block.AppendTrimmed(nil, from.GetValues()[begin:end])})
		}
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
