package collection

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
)

// Value is one value in the answer to an instant query. The answer to a range selector has many values of a series,
// each with its own time.
type Value struct {
	Labels labels.Labels
	Value  float64
	TimeMs int64
}

// Ask evaluates a PromQL expression at a time. holds is the lookback: how long the newest value of a series counts. If
// it is 0, the engine's own lookback applies. The collector asks its engine and the lab asks over HTTP, so both compute
// the same answer.
type Ask func(ctx context.Context, expr string, at time.Time, holds time.Duration) ([]Value, error)

// maxBefore is how far before the start Read looks for the earlier value of a total. A total without an earlier value
// rose from 0.
const maxBefore = time.Hour

// Read measures how completely the samples of a topology arrived in (start, end]. If a query fails, Read returns its
// error and no Collection, because a partial answer would look like a topology without problems.
func Read(ctx context.Context, ask Ask, topology string, start, end time.Time) (*Collection, error) {
	return newReading(ctx, ask, topology, start, end).read()
}

func newReading(ctx context.Context, ask Ask, topology string, start, end time.Time) *reading {
	return &reading{ctx: ctx, ask: ask, topology: topology, start: start, end: end, workers: map[string]*Worker{},
		metrics: map[[2]string]*Metric{},
		out: Collection{SkewLimitSeconds: catalog.CollectionSkewLimit.Seconds(), Topology: topology, Start: text(start),
			End: text(end), Dropped: map[string]uint64{}, IntervalSeconds: map[string]float64{}, Workers: []Worker{},
			NotStored: []NotStored{}}}
}

func (r *reading) read() (*Collection, error) {
	for _, part := range []func() error{r.intervals, r.counts, r.seen, r.ofWorkers, r.drops} {
		if err := part(); err != nil {
			return nil, err
		}
	}
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

// reading collects the answers of several queries into one Collection. It is not safe for concurrent use.
type reading struct {
	ctx        context.Context
	ask        Ask
	topology   string
	only       string // matcher for the workers to read; "" for all
	start, end time.Time

	workers     map[string]*Worker
	workerOrder []string
	metrics     map[[2]string]*Metric // by worker and metric
	order       [][2]string
	out         Collection
}

// worker returns the entry of a worker, and adds an empty one if it is new.
func (r *reading) worker(name string) *Worker {
	if r.workers[name] == nil {
		r.workers[name] = &Worker{Worker: name, Metrics: []Metric{}}
		r.workerOrder = append(r.workerOrder, name)
	}
	return r.workers[name]
}

func key(ls labels.Labels) [2]string { return [2]string{ls.Get("worker"), ls.Get("metric")} }

// metric returns the entry of a worker's metric, and adds an empty one if it is new.
func (r *reading) metric(ls labels.Labels) *Metric {
	key := key(ls)
	if r.metrics[key] == nil {
		r.worker(key[0])
		r.metrics[key] = &Metric{Metric: key[1]}
		if interval, known := r.out.IntervalSeconds[key[1]]; known {
			r.metrics[key].IntervalSeconds = &interval
		}
		r.order = append(r.order, key)
	}
	return r.metrics[key]
}

// selector returns a PromQL selector for a metric of the topology. more are further matchers, each after a comma.
func (r *reading) selector(name, more string) string {
	if name != catalog.CollectionInterval { // which has no label worker
		more += r.only
	}
	return fmt.Sprintf("%s{topology=%s%s}", name, strconv.Quote(r.topology), more)
}

// within returns a range selector for the requested time range.
func (r *reading) within(name, more string) string {
	return fmt.Sprintf("%s[%dms]", r.selector(name, more), r.end.Sub(r.start).Milliseconds())
}

// over evaluates a function over the requested time range, and calls take for each value.
func (r *reading) over(function, name, more string, take func(labels.Labels, float64)) error {
	values, err := r.ask(r.ctx, fmt.Sprintf(function, r.within(name, more)), r.end, 0)
	for _, v := range values {
		take(v.Labels, v.Value)
	}
	return err
}

// rise computes how much totals rose in the time range. A total without a value before the start rose from 0.
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

// rose returns by how much a total rose, in samples. A total that fell was reset and counts as 0.
func rose(from, to float64) uint64 {
	if to <= from {
		return 0
	}
	return uint64(math.Round(to - from))
}

// grew computes how much totals rose that the slicer itself writes. Unlike other totals, they have a value before each
// rise, even before the first one, and they begin again after a gap marker.
func (r *reading) grew(name string, take func(labels.Labels, uint64)) error {
	from := map[uint64]float64{}
	for _, q := range []struct {
		expr string
		at   time.Time
	}{{fmt.Sprintf("min_over_time(%s)", r.within(name, "")), r.end}, {r.selector(name, ""), r.start}} {
		values, err := r.ask(r.ctx, q.expr, q.at, 0)
		if err != nil {
			return err
		}
		for _, v := range values {
			from[unnamed(v.Labels)] = v.Value
		}
	}
	return r.over("last_over_time(%s)", name, "", func(ls labels.Labels, total float64) {
		take(ls, rose(from[unnamed(ls)], total))
	})
}

// unnamed returns a hash of the labels without the metric's name, which PromQL functions remove.
func unnamed(ls labels.Labels) uint64 {
	return labels.NewBuilder(ls).Del(model.MetricNameLabel).Labels().Hash()
}

// intervals reads the reporting intervals of the metrics. A stored value holds until the next one, for at most
// catalog.CollectionHolds.
func (r *reading) intervals() error {
	if err := r.over("max by (metric) (last_over_time(%s))", catalog.CollectionInterval, "", r.interval); err != nil {
		return err
	}
	held, err := r.ask(r.ctx, "max by (metric) ("+r.selector(catalog.CollectionInterval, "")+")", r.end,
		catalog.CollectionHolds)
	for _, v := range held {
		r.interval(v.Labels, v.Value)
	}
	return err
}

func (r *reading) interval(ls labels.Labels, seconds float64) {
	r.out.IntervalSeconds[ls.Get("metric")] = seconds
}

// counts reads the counts of each worker, and those of the metrics with a problem. It leaves out metrics whose counts
// did not rise in the time range.
func (r *reading) counts() error {
	type total struct {
		ofMetric bool
		take     func(c *Counts, reason string, n uint64)
	}
	missing := func(c *Counts, _ string, n uint64) { c.Missing = n }
	late := func(c *Counts, _ string, n uint64) { c.Late = n }
	for name, of := range map[string]total{
		catalog.CollectionWorkerSamples: {take: func(c *Counts, _ string, n uint64) { c.Samples = n }},
		catalog.CollectionWorkerMissing: {take: missing},
		catalog.CollectionWorkerLate:    {take: late},
		catalog.CollectionWorkerRefused: {take: (*Counts).refuse},
		catalog.CollectionMissing:       {ofMetric: true, take: missing},
		catalog.CollectionLate:          {ofMetric: true, take: late},
		catalog.CollectionRefused:       {ofMetric: true, take: (*Counts).refuse},
	} {
		if err := r.grew(name, func(ls labels.Labels, n uint64) {
			switch {
			case !of.ofMetric:
				of.take(&r.worker(ls.Get("worker")).Counts, ls.Get("reason"), n)
			case n > 0:
				of.take(&r.metric(ls).Counts, ls.Get("reason"), n)
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// seen reads the actual distance of samples for the metrics with a problem, and how many samples arrived meanwhile.
func (r *reading) seen() error {
	troubled, err := r.ask(r.ctx, "count by (worker) (last_over_time("+r.within(catalog.CollectionSeen, "")+"))",
		r.end, 0)
	if err != nil {
		return err
	}
	for _, v := range troubled { // one worker at a time, since a bad metric has a value for every period
		if err := r.seenOf(v.Labels.Get("worker")); err != nil {
			return err
		}
	}
	return r.grew(catalog.CollectionSamples, func(ls labels.Labels, n uint64) {
		if m := r.metrics[key(ls)]; m != nil {
			m.Samples = n
		}
	})
}

// seenOf does the work of seen for one worker.
func (r *reading) seenOf(worker string) error {
	of := ",worker=" + strconv.Quote(worker)
	values, err := r.ask(r.ctx, r.within(catalog.CollectionSeen, of), r.end, 0)
	if err != nil {
		return err
	}
	comes := map[[2]string]int64{} // time of the newest period with samples
	samples, err := r.ask(r.ctx, r.within(catalog.CollectionSamples, of), r.end, 0)
	if err != nil {
		return err
	}
	for _, v := range samples {
		comes[key(v.Labels)] = v.TimeMs
	}
	for len(values) > 0 {
		of := key(values[0].Labels)
		n := slices.IndexFunc(values, func(v Value) bool { return key(v.Labels) != of })
		if n < 0 {
			n = len(values)
		}
		r.took(values[:n], comes[of])
		values = values[n:]
	}
	return nil
}

// took records the actual distances of one metric's samples. values are ordered by time, and samples were stored up to
// comesMs. Periods without a stored value had no problem, so they count with the configured interval.
func (r *reading) took(values []Value, comesMs int64) {
	ls := values[0].Labels
	silent := values[len(values)-1].TimeMs > comesMs
	interval, known := r.out.IntervalSeconds[ls.Get("metric")]
	off := func(v Value) bool { return known && (v.Value > 1.5*interval || v.Value < 0.5*interval) }
	if r.metrics[key(ls)] == nil && !silent && !slices.ContainsFunc(values, off) {
		return // the problem ended before the start
	}
	m := r.metric(ls)
	m.Silent = silent
	var apart []float64
	for _, v := range values {
		apart = append(apart, v.Value)
	}
	if known {
		periods := int(r.end.Sub(r.start) / catalog.CollectionPeriod)
		apart = append(apart, slices.Repeat([]float64{interval}, max(0, periods-len(apart)))...)
	}
	slices.Sort(apart)
	n := len(apart)
	median := (apart[(n-1)/2] + apart[n/2]) / 2
	m.SeenMedianSeconds, m.SeenMaxSeconds = &median, &apart[n-1]
}

// ofWorkers reads each worker's clock error, worst interval ratio and number of restarts.
func (r *reading) ofWorkers() error {
	err := r.over("quantile_over_time(0.5, %s)", catalog.CollectionSkew, "", func(ls labels.Labels, v float64) {
		r.worker(ls.Get("worker")).SkewSeconds = &v
	})
	if err != nil {
		return err
	}
	err = r.over("max_over_time(%s)", catalog.CollectionWorkerRatio, "", func(ls labels.Labels, v float64) {
		r.worker(ls.Get("worker")).IntervalSeenRatio = &v
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

// drops reads how many samples were lost before the collector: by the plugin, and by Storm's receive queue before the
// metrics consumer.
func (r *reading) drops() error {
	err := r.rise(catalog.CollectionDropped, "", func(ls labels.Labels, n uint64) {
		r.out.Dropped[ls.Get("reason")] += n
	})
	if err != nil {
		return err
	}
	return r.rise(stormDroppedMetric, ofConsumers, func(_ labels.Labels, n uint64) { r.out.StormDropped += n })
}

// ReadByClocks is like Read, for a topology with workers whose clocks are wrong. ahead has the error of each worker's
// clock. Samples are stored at the worker's time, so a worker whose clock is minutes off has no samples in the
// requested range. For such a worker the range is shifted by the error of its clock, and its answer is joined to that
// of the others.
func ReadByClocks(ctx context.Context, ask Ask, topology string, start, end time.Time,
	ahead map[string]time.Duration) (*Collection, error) {
	all, err := Read(ctx, ask, topology, start, end)
	if err != nil {
		return nil, err
	}
	missed := map[time.Duration][]string{}
	for worker, by := range ahead {
		by = by.Round(catalog.CollectionPeriod)
		if by != 0 && !slices.ContainsFunc(all.Workers, func(w Worker) bool { return w.Worker == worker }) {
			missed[by] = append(missed[by], worker)
		}
	}
	for _, by := range slices.Sorted(maps.Keys(missed)) {
		r := newReading(ctx, ask, topology, start.Add(by), end.Add(by))
		r.only = ",worker=~" + strconv.Quote(alternatives(missed[by]))
		part, err := r.read()
		if err != nil {
			return nil, err
		}
		if len(part.Workers) > 0 {
			joined := part.Join(all)
			joined.Start, joined.End = all.Start, all.End
			all = joined
		}
	}
	return all, nil
}

// alternatives returns a regular expression that matches exactly the given names. It sorts names in place.
func alternatives(names []string) string {
	slices.Sort(names)
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return strings.Join(quoted, "|")
}
