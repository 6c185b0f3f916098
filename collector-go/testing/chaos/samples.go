package chaos

import (
	"context"
	"fmt"
	"strconv"
	"time"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// What a producer sends counts: the samples of chaos_sent are what was added since the one before, and the collector
// stores their total at the end of each slice. A slice holds one sample, so that its total less the one before is that
// sample's value, and twice it where it was counted twice.
const (
	sentName   = "chaos_sent"
	storedName = "storm_chaos_sent_total"
	endName    = "chaos_end"
	component  = "chaos"
)

// endAfter is how far behind the last batch the end is, in event time: further than any lateness that is set here.
const endAfter = 2 * time.Minute

// value is the sample of a series in a batch: its place among a million identifies it.
func (p *Producer) value(batch uint64, series int) float64 {
	x := p.seed + batch*0x9e3779b97f4a7c15 + uint64(series)*0xbf58476d1ce4e5b9
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64(1 + (x^x>>31)%1_000_000)
}

// at is a batch's event time.
func (p *Producer) at(batch uint64) time.Time {
	return p.options.From.Add(time.Duration(batch-1) * p.options.Step)
}

// batch is one as it is sent, less its definitions; the end is the one behind the last. It is the same however often it
// is made.
func (p *Producer) batch(number uint64, end bool) *pb.Batch {
	b := &pb.Batch{Epoch: p.epoch[:], Sequence: number, SendTimeMs: time.Now().UnixMilli()}
	if end {
		b.Samples = &pb.SampleColumns{SeriesIds: []uint32{uint32(p.options.Series) + 1},
			TimeOffsetsMs: []int64{p.at(number).Add(endAfter).UnixMilli()}, Values: []float64{1}}
		return b
	}
	n := p.options.Series
	b.Samples = &pb.SampleColumns{BaseTimeMs: p.at(number).UnixMilli(), SeriesIds: make([]uint32, n),
		TimeOffsetsMs: make([]int64, n), Values: make([]float64, n)}
	for i := range n {
		b.Samples.SeriesIds[i], b.Samples.Values[i] = uint32(i)+1, p.value(number, i)
	}
	return b
}

func (p *Producer) definitions() []*pb.SeriesDefinition {
	series := func(id int, name string, temporality pb.Temporality) *pb.SeriesDefinition {
		return &pb.SeriesDefinition{Id: uint32(id), Host: p.options.Host, Port: 6700, Component: component,
			Task: int32(id), Name: name,
			IntervalMs: uint32(p.options.Step.Milliseconds()), Temporality: temporality, Shape: pb.Shape_SHAPE_NUMBER}
	}
	var all []*pb.SeriesDefinition
	for i := range p.options.Series {
		all = append(all, series(i+1, sentName, pb.Temporality_TEMPORALITY_DELTA))
	}
	return append(all, series(p.options.Series+1, endName, pb.Temporality_TEMPORALITY_GAUGE))
}

func (p *Producer) selector() string {
	return fmt.Sprintf(`%s{topology=%q,worker=%q}`, storedName, p.options.Topology, p.options.Host+":6700")
}

// answerLimit bounds how long what is acknowledged may take to answer.
const answerLimit = 30 * time.Second

// awaitAnswer waits until the last batch that was acknowledged answers.
func (p *Producer) awaitAnswer(ctx context.Context, http string) error {
	p.mu.Lock()
	last := p.batches()
	p.mu.Unlock()
	if last == 0 {
		return nil
	}
	limit := time.Now().Add(answerLimit)
	for {
		found, err := storedSlices(ctx, http, p.selector(), p.at(last).Add(-time.Millisecond), p.at(last))
		if err != nil {
			return err
		}
		if len(found) == p.options.Series || time.Now().After(limit) { // what is missing is counted
			return nil
		}
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// perQuestion bounds the samples that are asked for at once.
const perQuestion = 200_000

// verify asks for all that was ever sent, a piece after the other.
func (p *Producer) verify(ctx context.Context, http string, o *Outcome) error {
	v, rejected := p.verification(), p.Sending().Rejected
	o.Acknowledged += int64(v.last)*int64(p.options.Series) - rejected
	if rejected > 0 {
		o.Broken = append(o.Broken, fmt.Sprintf("%d samples were rejected: %s", rejected, p.Sending().Example))
	}
	batches := uint64(max(1, perQuestion/p.options.Series))
	for first := uint64(1); first <= v.last; first += batches {
		end := min(first+batches-1, v.last)
		found, err := storedSlices(ctx, http, p.selector(), p.at(first).Add(-p.options.Step), p.at(end))
		if err != nil {
			return err
		}
		if err := v.take(found); err != nil {
			return err
		}
	}
	return v.close(ctx, http, o)
}

// verification walks along a producer's series.
type verification struct {
	p      *Producer
	last   uint64    // that was acknowledged
	totals []float64 // of each series' newest slice
	seen   []uint64  // its batch

	lost, doubled int64
}

// verification begins one.
func (p *Producer) verification() *verification {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &verification{p: p, last: p.batches(), totals: make([]float64, p.options.Series),
		seen: make([]uint64, p.options.Series)}
}

func (v *verification) take(found []answered) error {
	for _, series := range found {
		task, err := strconv.Atoi(series.Metric["task"])
		if err != nil || task < 1 || task > v.p.options.Series {
			return fmt.Errorf("a series with the labels %v was never sent", series.Metric)
		}
		for _, point := range series.Values {
			v.slice(task-1, point)
		}
	}
	return nil
}

func (v *verification) slice(series int, p point) {
	behind := time.UnixMilli(p.ms).Sub(v.p.options.From)
	batch := uint64(behind/v.p.options.Step) + 1
	if behind%v.p.options.Step != 0 || batch <= v.seen[series] {
		v.doubled++ // nothing was sent for that time
		return
	}
	v.lost += int64(batch - v.seen[series] - 1)
	// What lies between is lost where the total does not have it, and has no slice of its own where it does.
	grown, between := p.value-v.totals[series], 0.0
	for b := v.seen[series] + 1; b < batch; b++ {
		between += v.p.value(b, series)
	}
	own := v.p.value(batch, series)
	switch {
	case grown == own, grown == own+between:
	case grown > own:
		v.doubled++
	default:
		v.lost++
	}
	v.totals[series], v.seen[series] = p.value, batch
}

// end counts what is missing behind the last that came.
func (v *verification) end() {
	for _, seen := range v.seen {
		v.lost += int64(v.last - min(seen, v.last))
		v.doubled += int64(max(seen, v.last) - v.last) // nobody sent it
	}
}

// close ends it, and looks for what nobody sent.
func (v *verification) close(ctx context.Context, http string, o *Outcome) error {
	v.end()
	for _, side := range [][2]time.Time{
		{v.p.options.From.Add(-24 * time.Hour), v.p.options.From.Add(-time.Millisecond)},
		{v.p.at(v.last + 1).Add(-time.Millisecond), v.p.at(v.last + 1).Add(24 * time.Hour)},
	} {
		found, err := storedSlices(ctx, http, v.p.selector(), side[0], side[1])
		if err != nil {
			return err
		}
		for _, series := range found {
			v.doubled += int64(len(series.Values))
		}
	}
	o.Lost += v.lost
	o.Doubled += v.doubled
	return nil
}
