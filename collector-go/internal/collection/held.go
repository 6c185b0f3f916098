package collection

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/catalog"
)

// What is stored of a metric has a value only where it changes: a value holds up to the next one, or to a marker behind
// which there is none, and the samples go on at their rate. This file reckons back what each period had. What
// collectors of before stored each period reads the same way: it has no rate, and a value for each period.

// holding is what holds of a metric's series at a time, by the hash of its labels without a name.
func (r *reading) holding(expr string, at time.Time) (map[uint64]Value, error) {
	values, err := r.ask(r.ctx, expr, at, catalog.CollectionHolds)
	if err != nil {
		return nil, err
	}
	all := make(map[uint64]Value, len(values))
	for _, v := range values {
		all[unnamed(v.Labels)] = v
	}
	return all, nil
}

func unnamed(ls labels.Labels) uint64 {
	return labels.NewBuilder(ls).Del(model.MetricNameLabel).Labels().Hash()
}

// totals are what a total was before the time, and the least and greatest that is stored in it. They ignore markers: a
// total stays.
type totals struct{ before, first, last map[uint64]Value }

func (r *reading) totals(name string) (t totals, err error) {
	if t.before, err = r.holding(fmt.Sprintf("last_over_time(%s[%s])", r.selector(name, ""), catalog.CollectionHolds),
		r.start); err != nil {
		return t, err
	}
	if t.first, err = r.holding(fmt.Sprintf("min_over_time(%s)", r.within(name, "")), r.end); err != nil {
		return t, err
	}
	t.last, err = r.holding(fmt.Sprintf("last_over_time(%s)", r.within(name, "")), r.end)
	return t, err
}

// from is the value from which a total rose: a series begins, again after a marker too, with what it was before it
// rose.
func (t totals) from(series uint64) float64 {
	if v, ok := t.before[series]; ok {
		return v.Value
	}
	return t.first[series].Value
}

// changes is by how much a total rose in the time that is stored where it changes.
func (r *reading) changes(name string, take func(labels.Labels, uint64)) error {
	t, err := r.totals(name)
	for series, last := range t.last {
		take(last.Labels, rose(t.from(series), last.Value))
	}
	return err
}

// samples reads how many samples came of each metric, and exactly of each worker.
func (r *reading) samples() error {
	t, err := r.totals(catalog.CollectionSamples)
	if err != nil {
		return err
	}
	starts, err := r.reckoned(r.start)
	if err != nil {
		return err
	}
	ends, err := r.reckoned(r.end)
	if err != nil {
		return err
	}
	r.coming, r.came, r.writtenTo = map[[2]string]bool{}, starts.totals, ends.writtenTo
	outdated := map[string]bool{} // workers whose sums may lack the beginning
	last := func(series uint64, ls labels.Labels, to float64) {
		from, there := starts.totals[series]
		if !there {
			from = t.from(series)
		} else if first, ok := t.first[series]; ok {
			from = min(from, first.Value)
		}
		r.metric(ls).Samples = rose(from, to)
		outdated[ls.Get("worker")] = outdated[ls.Get("worker")] || !starts.rated[series] && there
	}
	for series, v := range t.last {
		if _, comes := ends.totals[series]; !comes { // it ended, with a total that is exact
			last(series, v.Labels, v.Value)
		}
	}
	since := min(r.start.UnixMilli(), r.end.Add(-lookback).UnixMilli())
	for series, to := range ends.totals {
		// it is about to come, or nobody is there to mark the end of what does not come any more
		if ends.totals[series] == 0 || ends.newest[series] <= since {
			continue
		}
		r.coming[key(ends.labels[series])] = true
		last(series, ends.labels[series], to)
	}
	sums, err := r.totals(catalog.CollectionWorkerSamples)
	for series, v := range sums.last {
		if worker := v.Labels.Get("worker"); !outdated[worker] {
			r.worker(worker).Samples = rose(sums.from(series), v.Value)
		}
	}
	return err
}

// lookback is how old what comes may be in a time that is shorter: as old as PromQL has it.
const lookback = 5 * time.Minute

// reckoning is what the metrics' totals are at a time, of those that come then.
type reckoning struct {
	labels    map[uint64]labels.Labels
	totals    map[uint64]float64
	rated     map[uint64]bool
	newest    map[uint64]int64 // the newest period of which something is known
	writtenTo map[string]int64 // by worker, the newest period of all that is stored of it
}

// reckoned takes the newest total of each metric and lets it go on at its rate, interval by interval, up to the newest
// period that its worker has.
func (r *reading) reckoned(at time.Time) (reckoning, error) {
	out := reckoning{map[uint64]labels.Labels{}, map[uint64]float64{}, map[uint64]bool{}, map[uint64]int64{},
		map[string]int64{}}
	var found [5]map[uint64]Value
	for i, expr := range []string{r.selector(catalog.CollectionSamples, ""),
		"timestamp(" + r.selector(catalog.CollectionSamples, "") + ")",
		r.selector(catalog.CollectionRate, ""), "timestamp(" + r.selector(catalog.CollectionWorkerSamples, "") + ")",
		r.selector(catalog.CollectionInterval, "")} {
		var err error
		if found[i], err = r.holding(expr, at); err != nil {
			return out, err
		}
	}
	stored, storedAt, rates, newest, intervals := found[0], found[1], found[2], found[3], found[4]
	for _, v := range newest {
		out.writtenTo[v.Labels.Get("worker")] = int64(math.Round(v.Value * 1000))
	}
	for series, v := range stored {
		rate, rated := rates[series]
		storedMs := int64(math.Round(storedAt[series].Value * 1000))
		out.newest[series] = max(out.writtenTo[v.Labels.Get("worker")], storedMs)
		passedMs := out.newest[series] - storedMs
		passedMs -= passedMs % stepMs(intervals[series].Value)
		out.labels[series], out.totals[series], out.rated[series] = v.Labels, v.Value+rate.Value*float64(passedMs)/1000,
			rated
	}
	return out, nil
}

// stepMs is how often samples of a metric come, in whole periods.
func stepMs(intervalSeconds float64) int64 {
	periodMs := catalog.CollectionPeriod.Milliseconds()
	return max(1, (int64(math.Round(intervalSeconds*1000))+periodMs-1)/periodMs) * periodMs
}

// intervals reads the interval of each metric, and what was seen of it.
func (r *reading) intervals() error {
	err := r.over("last_over_time(%s)", catalog.CollectionInterval, "", func(ls labels.Labels, v float64) {
		r.metric(ls).IntervalSeconds = &v
	})
	if err != nil {
		return err
	}
	held, err := r.holding(r.selector(catalog.CollectionInterval, ""), r.end)
	if err != nil {
		return err
	}
	for _, v := range held {
		r.metric(v.Labels).IntervalSeconds = &v.Value
	}
	before, err := r.holding(r.selector(catalog.CollectionSeen, ""), r.start)
	if err != nil {
		return err
	}
	values := map[uint64][]Value{}
	for series, v := range before {
		v.TimeMs = r.start.UnixMilli() // it holds for the periods that end after the start
		values[series] = []Value{v}
	}
	// One worker at a time: where much is wrong there are as many values as periods.
	for _, worker := range r.workerOrder {
		stored, err := r.ask(r.ctx, r.within(catalog.CollectionSeen, ",worker="+strconv.Quote(worker)), r.end, 0)
		if err != nil {
			return err
		}
		for _, v := range stored {
			series := unnamed(v.Labels)
			values[series] = append(values[series], v)
		}
	}
	for series, all := range values {
		_, held := before[series]
		if !held {
			if all, held, err = r.unsaid(series, all); err != nil {
				return err
			}
		}
		r.seen(all, held)
	}
	for _, m := range r.metrics {
		if m.SeenMaxSeconds == nil && m.Samples > 0 {
			m.SeenMedianSeconds, m.SeenMaxSeconds = m.IntervalSeconds, m.IntervalSeconds
		}
	}
	return nil
}

// unsaid puts a metric's interval before what is stored of what was seen of it: nothing is stored up to the first time
// that it is not well. It reports whether the metric came when the time began.
func (r *reading) unsaid(series uint64, stored []Value) (all []Value, held bool, err error) {
	ls := stored[0].Labels
	interval := r.metric(ls).IntervalSeconds
	if interval == nil {
		return stored, false, nil
	}
	first := Value{Labels: ls, Value: *interval, TimeMs: r.start.UnixMilli()}
	if _, held = r.came[series]; !held {
		of := ",worker=" + strconv.Quote(ls.Get("worker")) + ",metric=" + strconv.Quote(ls.Get("metric"))
		totals, err := r.ask(r.ctx, r.within(catalog.CollectionSamples, of), r.end, 0)
		if err != nil {
			return nil, false, err
		}
		begun := slices.IndexFunc(totals, func(v Value) bool { return v.Value > 0 })
		if begun < 0 || totals[begun].TimeMs >= stored[0].TimeMs {
			return stored, false, nil
		}
		first.TimeMs = totals[begun].TimeMs
	}
	return append([]Value{first}, stored...), held, nil
}

// seen takes the median and the longest of what was seen in each period, of the values of one metric in order of time,
// of which the first may be held from before the time.
func (r *reading) seen(values []Value, held bool) {
	ls := values[0].Labels
	periodMs := catalog.CollectionPeriod.Milliseconds()
	endMs := max(r.writtenTo[ls.Get("worker")], values[len(values)-1].TimeMs)
	if !r.coming[key(ls)] {
		endMs = values[len(values)-1].TimeMs
	}
	var weighed []weight
	var periods int64
	for i, v := range values {
		nextMs := endMs + periodMs
		if i+1 < len(values) {
			nextMs = values[i+1].TimeMs
		}
		n := max(1, (nextMs-v.TimeMs+periodMs/2)/periodMs)
		if i == 0 && held { // its own period is before the start
			if n = (nextMs - 1 - v.TimeMs) / periodMs; n <= 0 {
				continue
			}
		}
		weighed, periods = append(weighed, weight{v.Value, n}), periods+n
	}
	if periods == 0 {
		return
	}
	slices.SortFunc(weighed, func(a, b weight) int { return cmp.Compare(a.value, b.value) })
	m := r.metric(ls)
	median := (nth(weighed, (periods-1)/2) + nth(weighed, periods/2)) / 2
	longest := weighed[len(weighed)-1].value
	m.SeenMedianSeconds, m.SeenMaxSeconds = &median, &longest
}

// weight is a value of so many periods.
type weight struct {
	value float64
	n     int64
}

// nth is the value in a place of all periods, which are in order of their values.
func nth(weighed []weight, place int64) float64 {
	for _, w := range weighed {
		if place < w.n {
			return w.value
		}
		place -= w.n
	}
	return weighed[len(weighed)-1].value
}
