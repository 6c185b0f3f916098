package replay

import (
	"cmp"
	"encoding/binary"
	"slices"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
)

// maxLayouts limits the number of layouts of one sender. Samples that fit no known layout are sent as columns.
const maxLayouts = 16_384

// maxLayoutSeries bounds the series that they list together.
const maxLayoutSeries = 1 << 20

// layouts assigns ids to the lists of series that a task reported together. A replay sends blocks as the plugin does,
// so that it exercises the same path through the collector.
type layouts struct {
	ids    map[string]uint32
	listed int
}

// of returns the layout of a list of series, or 0 if there are too many layouts. isNew reports that the sender has to
// define it in the same batch.
func (l *layouts) of(series []uint32) (id uint32, isNew bool) {
	key := make([]byte, 0, 4*len(series))
	for _, id := range series {
		key = binary.LittleEndian.AppendUint32(key, id)
	}
	if id, known := l.ids[string(key)]; known {
		return id, false
	}
	if len(l.ids) >= maxLayouts || l.listed+len(series) > maxLayoutSeries {
		return 0, false
	}
	if l.ids == nil {
		l.ids = map[string]uint32{}
	}
	id = uint32(len(l.ids) + 1)
	l.ids[string(key)] = id
	l.listed += len(series)
	return id, true
}

// tick is what one task reported for one time. Its samples share the time, so they can be one row of a block.
type tick struct {
	task   taskOf
	timeMs int64
}

// taskOf identifies a task with the worker that runs it.
type taskOf struct {
	host      string
	port      uint32
	component string
	task      int32
}

// numbered is a sample under the sender's number of its series.
type numbered struct {
	id    uint32
	value float64
}

// fill adds samples to a batch. Samples of one task and time become a block with one row when there are several; the
// rest become columns. ids are the sender's numbers of the samples' series.
func (l *layouts) fill(out *pb.Batch, b *batch, ids []uint32) {
	var order []tick
	of := map[tick][]numbered{}
	for i := range ids {
		raw := &b.series[i]
		at := tick{taskOf{raw.Host, raw.Port, raw.Component, raw.Task}, b.timesMs[i]}
		if of[at] == nil {
			order = append(order, at)
		}
		of[at] = append(of[at], numbered{ids[i], b.values[i]})
	}
	for _, at := range order {
		l.fillTick(out, at, of[at])
	}
}

// fillTick adds the samples of one task and time. A series that occurs twice at the same time cannot be in a block, so
// such samples become columns.
func (l *layouts) fillTick(out *pb.Batch, at tick, samples []numbered) {
	slices.SortStableFunc(samples, func(a, b numbered) int { return cmp.Compare(a.id, b.id) })
	series, values := make([]uint32, len(samples)), make([]float64, len(samples))
	repeats := false
	for i, s := range samples {
		series[i], values[i] = s.id, s.value
		repeats = repeats || i > 0 && s.id == series[i-1]
	}
	if len(samples) > 1 && !repeats && len(samples) <= block.MaxColumns {
		if layout, isNew := l.of(series); layout != 0 {
			if isNew {
				out.Layouts = append(out.Layouts, &pb.Layout{Id: layout, SeriesIds: series})
			}
			out.Blocks = append(out.Blocks, &pb.Block{LayoutId: layout, FirstTimeMs: at.timeMs, Count: 1,
				Codec:  pb.ValueCodec_VALUE_CODEC_TRIMMED,
				Values: block.AppendTrimmed(nil, values)})
			return
		}
	}
	for i := range samples {
		out.Samples.SeriesIds = append(out.Samples.SeriesIds, series[i])
		out.Samples.TimeOffsetsMs = append(out.Samples.TimeOffsetsMs, at.timeMs-out.Samples.BaseTimeMs)
		out.Samples.Values = append(out.Samples.Values, values[i])
	}
}
