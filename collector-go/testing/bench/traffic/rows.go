package traffic

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
)

// Row is samples of one time and one source, such as a task of a component, by metric.
type Row struct {
	// Host is as recorded. Tags are further labels of all its metrics, as the line protocol writes them.
	Host, Tags string
	TimeMs     int64
	Metrics    []string
	Values     []float64
}

// series is what a stream defined under an id.
type series struct{ host, tags, metric string }

// decoder decodes the batches of one stream.
type decoder struct {
	series  map[uint32]series
	layouts map[uint32][]uint32
}

// escape is how the line protocol writes names, and values of tags.
var escape = strings.NewReplacer(",", `\,`, "=", `\=`, " ", `\ `)

func (d *decoder) define(b *pb.Batch) {
	for _, s := range b.GetSeries() {
		tags := ""
		for _, tag := range [][2]string{{"port", strconv.Itoa(int(s.GetPort()))}, {"component", s.GetComponent()},
			{"task", strconv.Itoa(int(s.GetTask()))}, {"key", strings.Join(s.GetKey(), "/")}} {
			if tag[1] != "" {
				tags += "," + tag[0] + "=" + escape.Replace(tag[1])
			}
		}
		d.series[s.GetId()] = series{s.GetHost(), tags, escape.Replace(s.GetName())}
	}
	for _, l := range b.GetLayouts() {
		d.layouts[l.GetId()] = l.GetSeriesIds()
	}
}

// sample is a value of a metric.
type sample struct {
	series
	timeMs int64
	value  float64
}

// rows returns the samples of a batch, and how many they are. Of a distribution, which counts as one, a row has the
// count and the sum.
func (d *decoder) rows(b *pb.Batch) (rows []Row, n int, err error) {
	d.define(b)
	var all []sample
	columns := b.GetSamples()
	for i, id := range columns.GetSeriesIds() {
		all = append(all, sample{d.series[id], columns.GetBaseTimeMs() + columns.GetTimeOffsetsMs()[i],
			columns.GetValues()[i]})
	}
	for _, wire := range b.GetBlocks() {
		if all, err = d.cells(all, wire); err != nil {
			return nil, 0, err
		}
	}
	n = len(all) + len(b.GetHistograms())
	for _, h := range b.GetHistograms() {
		s := d.series[h.GetSeriesId()]
		count, sum := s, s
		count.metric, sum.metric = s.metric+"_count", s.metric+"_sum"
		all = append(all, sample{count, h.GetTimeMs(), float64(h.GetCount())}, sample{sum, h.GetTimeMs(), h.GetSum()})
	}
	slices.SortStableFunc(all, func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.timeMs, b.timeMs), cmp.Compare(a.host, b.host), cmp.Compare(a.tags, b.tags))
	})
	for i, s := range all {
		if i == 0 || s.timeMs != all[i-1].timeMs || s.host != all[i-1].host || s.tags != all[i-1].tags {
			rows = append(rows, Row{Host: s.host, Tags: s.tags, TimeMs: s.timeMs})
		}
		r := &rows[len(rows)-1]
		r.Metrics, r.Values = append(r.Metrics, s.metric), append(r.Values, s.value)
	}
	return rows, n, nil
}

func (d *decoder) cells(to []sample, wire *pb.Block) ([]sample, error) {
	ids := d.layouts[wire.GetLayoutId()]
	b := block.Block{Columns: len(ids), Rows: int(wire.GetCount()), FirstMs: wire.GetFirstTimeMs(),
		StepMs: int64(wire.GetStepMs()), OffsetsMs: wire.GetTimeOffsetsMs(), Presence: wire.GetPresence(),
		Codec: block.Codec(wire.GetCodec()), Values: wire.GetValues()}
	if err := b.Check(); err != nil {
		return nil, err
	}
	values := b.Floats(nil)
	for cell := range b.Cells() {
		if b.Present(cell) {
			to = append(to, sample{d.series[ids[cell/b.Rows]], b.TimeMs(cell % b.Rows), values[0]})
			values = values[1:]
		}
	}
	return to, nil
}
