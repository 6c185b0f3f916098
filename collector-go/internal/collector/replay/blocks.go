package replay

import (
	"cmp"
	"slices"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
)

// maxLayouts limits the number of layouts of one sender. A replay sends blocks as the plugin does, so that it exercises
// the same path through the collector.
const maxLayouts = 16_384

// tick is what one task reported for one time. Its samples share the time, so they can be one row of a block.
type tick struct {
	worker    metric.Worker
	component string
	task      int32
	timeMs    int64
}

// numbered is a sample under the sender's number of its series.
type numbered struct {
	id    uint32
	value float64
}

// fill adds samples to a batch. Samples of one task and time become a block with one row when there are several; the
// rest become columns. ids are the sender's numbers of the samples' series.
func fill(l *sender.Layouts, out *pb.Batch, b *batch, ids []uint32) {
	var order []tick
	of := map[tick][]numbered{}
	for i := range ids {
		raw := &b.series[i]
		at := tick{raw.Worker, raw.Component, raw.Task, b.timesMs[i]}
		if of[at] == nil {
			order = append(order, at)
		}
		of[at] = append(of[at], numbered{ids[i], b.values[i]})
	}
	defined := len(l.List)
	for _, at := range order {
		fillTick(l, out, at.timeMs, of[at])
	}
	out.Layouts = l.List[defined:]
}

// fillTick adds the samples of one task and time. A series that occurs twice at the same time cannot be in a block, so
// such samples become columns.
func fillTick(l *sender.Layouts, out *pb.Batch, timeMs int64, samples []numbered) {
	slices.SortStableFunc(samples, func(a, b numbered) int { return cmp.Compare(a.id, b.id) })
	series, values := make([]uint32, len(samples)), make([]float64, len(samples))
	row := len(samples)
	for i, s := range samples {
		series[i], values[i] = s.id, s.value
		if i > 0 && s.id == series[i-1] {
			row = 1
		}
	}
	for i := 0; i < len(samples); i += row {
		l.AddRow(out, timeMs, series[i:i+row], values[i:i+row])
	}
}
