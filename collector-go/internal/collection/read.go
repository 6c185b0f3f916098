package collection

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/catalog"
)

// Value is one of an instant query's answers. Those of a range selector are many of a series, each at its time.
type Value struct {
	Labels labels.Labels
	Value  float64
	TimeMs int64
}

// Ask answers an expression of PromQL at a time. A series' newest value counts for as long as holds, or as the engine
// has it where that is 0.
type Ask func(ctx context.Context, expr string, at time.Time, holds time.Duration) ([]Value, error)

// maxBefore is how far before the start a total is looked for from which it rose; one that is not there rose from 0.
const maxBefore = time.Hour

// Read asks how what a topology sent came in (start, end].
func Read(ctx context.Context, ask Ask, topology string, start, end time.Time) (*Collection, error) {
	r := &reading{ctx: ctx, ask: ask, topology: topology, start: start, end: end, workers: map[string]*Worker{},
		metrics: map[[2]string]*Metric{},
		out: Collection{SkewLimitSeconds: catalog.CollectionSkewLimit.Seconds(), Topology: topology, Start: text(start),
			End: text(end), Dropped: map[string]uint64{}, Workers: []Worker{}}}
	for _, part := range []func() error{r.samples, r.counts, r.intervals, r.ofWorkers, r.drops} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	r.silences()
	for _, key := range r.order {
		w := r.workers[key[0]]
		w.Metrics = append(w.Metrics, *r.metrics[key])
	}
	for _, name := range r.workerOrder {
		r.out.Workers = append(r.out.Workers, *r.workers[name])
	}
	r.out.finish()
	return &r.out, nil
}

func text(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// reading is an answer that is being put together.
type reading struct {
	ctx        context.Context
	ask        Ask
	topology   string
	start, end time.Time

	workers     map[string]*Worker
	workerOrder []string
	metrics     map[[2]string]*Metric // by worker and metric
	order       [][2]string
	coming      map[[2]string]bool // the metrics that come at the end
	// the totals of those that came at the start, by the hash of their labels without a name
	came      map[uint64]float64
	writtenTo map[string]int64 // by worker, the newest period at the end
	out       Collection
}

func (r *reading) worker(name string) *Worker {
	if r.workers[name] == nil {
		r.workers[name] = &Worker{Worker: name, Metrics: []Metric{}}
		r.workerOrder = append(r.workerOrder, name)
	}
	return r.workers[name]
}

func key(ls labels.Labels) [2]string { return [2]string{ls.Get("worker"), ls.Get("metric")} }

func (r *reading) metric(ls labels.Labels) *Metric {
	key := key(ls)
	if r.metrics[key] == nil {
		r.worker(key[0])
		r.metrics[key] = &Metric{Metric: key[1]}
		r.order = append(r.order, key)
	}
	return r.metrics[key]
}

// selector names a metric of the topology; more are matchers.
func (r *reading) selector(name, more string) string {
	return fmt.Sprintf("%s{topology=%s%s}", name, strconv.Quote(r.topology), more)
}

// within is a range selector of the time asked for.
func (r *reading) within(name, more string) string {
	return fmt.Sprintf("%s[%dms]", r.selector(name, more), r.end.Sub(r.start).Milliseconds())
}

// over evaluates a function of what is stored in the time.
func (r *reading) over(function, name, more string, take func(labels.Labels, float64)) error {
	values, err := r.ask(r.ctx, fmt.Sprintf(function, r.within(name, more)), r.end, 0)
	for _, v := range values {
		take(v.Labels, v.Value)
	}
	return err
}

// rise is by how much a total rose in the time.
func (r *reading) rise(name, more string, take func(labels.Labels, uint64)) error {
	before := map[uint64]float64{}
	values, err := r.ask(r.ctx, fmt.Sprintf("last_over_time(%s[%s])", r.selector(name, more), maxBefore), r.start, 0)
	if err != nil {
		return err
	}
	for _, v := range values {
		before[v.Labels.Hash()] = v.Value
	}
	return r.over("last_over_time(%s)", name, more, func(ls labels.Labels, total float64) {
		take(ls, rose(before[ls.Hash()], total))
	})
}

// rose is by how much a total rose, in whole samples.
func rose(from, to float64) uint64 {
	if to <= from {
		return 0
	}
	return uint64(math.Round(to - from))
}

func (r *reading) counts() error {
	for name, take := range map[string]func(*Metric, uint64){
		catalog.CollectionMissing: func(m *Metric, n uint64) { m.Missing = n },
		catalog.CollectionLate:    func(m *Metric, n uint64) { m.Late = n },
	} {
		if err := r.changes(name, func(ls labels.Labels, n uint64) { take(r.metric(ls), n) }); err != nil {
			return err
		}
	}
	return r.changes(catalog.CollectionRefused, func(ls labels.Labels, n uint64) {
		if n > 0 {
			r.metric(ls).refuse(ls.Get("reason"), n)
		}
	})
}

func (r *reading) ofWorkers() error {
	err := r.over("quantile_over_time(0.5, %s)", catalog.CollectionSkew, "", func(ls labels.Labels, v float64) {
		r.worker(ls.Get("worker")).SkewSeconds = &v
	})
	if err != nil {
		return err
	}
	return r.rise(restartsMetric, "", func(ls labels.Labels, n uint64) { r.worker(ls.Get("worker")).Restarts = n })
}

const (
	restartsMetric     = "bullet_worker_restarts_total"
	stormDroppedMetric = "storm_receive_queue_dropped_messages_total"
	ofConsumers        = `,component=~"__metrics.*"`
)

func (r *reading) drops() error {
	err := r.rise(catalog.CollectionDropped, "", func(ls labels.Labels, n uint64) {
		r.out.Dropped[ls.Get("reason")] += n
	})
	if err != nil {
		return err
	}
	return r.rise(stormDroppedMetric, ofConsumers, func(_ labels.Labels, n uint64) { r.out.StormDropped += n })
}

// silences marks what a worker does not report any more while it reports other things.
func (r *reading) silences() {
	alive := map[string]bool{}
	for key := range r.coming {
		alive[key[0]] = true
	}
	r.order = slices.DeleteFunc(r.order, func(key [2]string) bool {
		m := r.metrics[key]
		m.Silent = alive[key[0]] && !r.coming[key] && m.Samples > 0
		return !r.coming[key] && m.Expected() == 0 && len(m.Refused) == 0 // it ended before
	})
}
