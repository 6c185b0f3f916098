package slicer

import (
	"cmp"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Health configures the metrics about the collection itself. They exist for each worker and for each metric of a
// worker, but never for a task.
type Health struct {
	// PeriodMs is the interval between two writes, aligned to multiples of it. 0 disables these metrics.
	PeriodMs int64
	// MaxMetrics bounds the metrics of one worker that have health series of their own. Further metrics are counted
	// together as OtherMetrics.
	MaxMetrics int
	// Steady are the metrics, by canonical name, of which every series has a sample in every interval. A sample that
	// does not arrive is therefore missing. Other metrics may have nothing to report.
	Steady map[string]bool
	// Lazy are the steady metrics whose series begin with their first event, again in each process. When such a series
	// returns after a restart, nothing shows since when its samples were missing.
	Lazy  map[string]bool
	Names HealthNames
}

// HealthNames are the names of the health series. Their labels are topology, worker, metric (except the worker's own
// series) and reason (for refused and dropped samples). A worker's own series have a value in each period. The series
// of a metric have values only while something is wrong with it (health_write.go).
type HealthNames struct {
	// gauge, seconds: the interval as the source reports it. The series of a topology's metric has no worker. It is
	// written when it changes and once an hour.
	Interval string
	// gauge, seconds: the longest time between two samples of a series; if the metric is silent, since the newest one
	Seen    string
	Samples string // counter: samples in slices; not written while the metric is silent
	Missing string // counter: samples that should be in slices and are not, late and dropped ones included
	Late    string // counter: samples whose slice was already closed when they arrived
	Refused string // counter: samples that could not be used

	WorkerSamples string // counters: the sums over all metrics of a worker
	WorkerMissing string
	WorkerLate    string
	WorkerRefused string
	WorkerRatio   string // gauge: the greatest ratio of Seen to Interval among its steady metrics
	// gauge, seconds: how far a worker's clock is certainly ahead of the collector's; 0 if it may be right
	Ahead      string
	AheadLeast string // gauge, seconds: lower bound of the clock offset, from the freshest data that arrived
	AheadMost  string // gauge, seconds: upper bound of the clock offset, if there is one
	Dropped    string // counter: samples that the plugin reports as dropped, by the worker in which the consumer runs
}

// OtherMetrics is the metric label under which the metrics of a worker beyond Health.MaxMetrics are counted.
const OtherMetrics = "other"

// health records how the samples of one worker arrive.
type health struct {
	aheadMs   int64 // of the period that is not written yet; never if nothing arrived
	writtenTo int64 // end of the newest period that is written
	ahead     healthSeries
	least     healthSeries
	most      healthSeries
	metrics   []*metricHealth // in the order in which they were first seen
	flows     []*flows        // of the metrics, in the same order
	healthy   []*healthyMetrics
	drops     []tally

	samples, missing, late, ratio healthSeries
	refused                       []tally // sums over the metrics, by reason
}

// own returns the worker's own series, except those of refused and dropped samples.
func (h *health) own() []*healthSeries {
	return []*healthSeries{&h.ahead, &h.samples, &h.missing, &h.late, &h.ratio, &h.least, &h.most}
}

// metricHealth records how the samples of one metric of a worker arrive.
type metricHealth struct {
	*flow
	*healthy
	name       string
	steady     bool    // by the options
	intervalMs int64   // of the series defined last; 0 if unknown
	widthMs    int64   // of its widest slices so far
	refused    []tally // by reason

	seenSeries, samplesSeries, missingSeries, lateSeries healthSeries
}

// series returns the series of a metric, except those of refused samples.
func (m *metricHealth) series() []*healthSeries {
	return []*healthSeries{&m.seenSeries, &m.samplesSeries, &m.missingSeries, &m.lateSeries}
}

// tally is a count by reason.
type tally struct {
	reason string
	n      uint64
	series healthSeries
}

// healthSeries is a series of a metric about the collection.
type healthSeries struct {
	ownSeries
	value float64 // its newest value, 0 before the first; NaN if an old snapshot did not have it
}

// watch starts to record the health of a series. Samples that its worker sent earlier belong to an earlier run of the
// series, if they are of this series at all.
func (s *Slicer) watch(in *input) {
	if s.options.Health.PeriodMs == 0 {
		return
	}
	src := s.source(in.rule.Worker)
	in.sinceMs = src.eventMs
	s.link(in, src)
	if in.rule.IntervalMs > 0 {
		in.health.intervalMs = in.rule.IntervalMs
		if in.health.name != OtherMetrics { // these have no common interval
			src.topology.reports(in.health.name, in.rule.IntervalMs)
		}
	}
	in.health.learn(&s.options)
	if in.out != nil && in.out.owner == in {
		in.out.slot.tune(in)
	}
}

// link connects a series with the health record of its metric.
func (s *Slicer) link(in *input, src *source) {
	if s.options.Health.PeriodMs == 0 {
		return
	}
	in.health = src.health.metric(in.rule.Series.Name(), &s.options.Health)
	in.health.widthMs = max(in.health.widthMs, s.options.width(in.rule.Series.Name(), in.rule.IntervalMs))
	in.health.learn(&s.options)
	in.steady = in.rule.IntervalMs > 0 && s.options.Health.Steady[in.rule.Series.Name()]
	in.lazy = s.options.Health.Lazy[in.rule.Series.Name()]
}

func (h *health) metric(name string, o *Health) *metricHealth {
	find := func(name string) *metricHealth {
		if i := slices.IndexFunc(h.metrics, func(m *metricHealth) bool { return m.name == name }); i >= 0 {
			return h.metrics[i]
		}
		return nil
	}
	if found := find(name); found != nil {
		return found
	}
	if len(h.metrics) >= o.MaxMetrics {
		if name = OtherMetrics; find(name) != nil {
			return find(name)
		}
	}
	m := &metricHealth{name: name, steady: o.Steady[name]}
	h.enter(m)
	return m
}

// received records when the collector received the current batch, by its own clock.
func (s *Slicer) received(ms int64) { s.batch.receivedMs = ms }

// Dropped adds samples that a metrics consumer in a worker reports as dropped. Adding 0 creates the series.
func (s *Slicer) Dropped(w metric.Worker, reason string, samples uint64) {
	if s.options.Health.PeriodMs > 0 {
		add(&s.source(w).health.drops, reason, samples)
	}
}

// add increases the count of a reason. The list stays sorted by reason.
func add(to *[]tally, reason string, n uint64) {
	at, found := slices.BinarySearchFunc(*to, reason, func(t tally, reason string) int {
		return cmp.Compare(t.reason, reason)
	})
	if !found {
		*to = slices.Insert(*to, at, tally{reason: reason})
	}
	(*to)[at].n += n
}

// came records the samples of one slice of a series, which are in order of time.
func (s *Slicer) came(in *input, endMs int64, n int, timeMs func(int) int64) {
	h, o := in.health, in.out
	if h == nil {
		return
	}
	last, longest := o.heardMs, h.longestMs
	for i := range n {
		next := timeMs(i)
		if apart := next - last; last > in.sinceMs && last > 0 {
			longest = max(longest, apart)
			if in.steady && 2*apart >= 3*in.rule.IntervalMs && !in.reborn(last, next, endMs) {
				h.missing += uint64(max(0, in.missed(apart)-o.missed))
				h.stirred = true
			}
		}
		o.missed = 0
		last = next
	}
	o.heardMs, h.longestMs = last, longest
	h.samples += uint64(n)
	h.lastEnd = max(h.lastEnd, endMs)
}

// reborn reports whether a lazy series returned with a new process. That process may have had nothing to report before.
func (in *input) reborn(lastMs, nextMs, endMs int64) bool {
	return in.lazy && in.state.source.starts.between(lastMs, nextMs, endMs+in.state.packMs)
}

// missed returns how many samples are missing between two samples that are apartMs apart. A sample may be off by half
// an interval.
func (in *input) missed(apartMs int64) int64 {
	interval := in.rule.IntervalMs
	return (apartMs+interval/2)/interval - 1
}

// silent counts the missing samples of a series that is about to end with a marker. Further missing samples are counted
// when the series returns. A series that never returns, for example because its task moved to another worker, therefore
// misses no more.
func (s *Slicer) silent(in *input, untilMs int64) {
	o := in.out
	if in.health == nil || !in.steady || s.ended(in.state.source) || o.heardMs <= in.sinceMs || o.heardMs == 0 {
		return
	}
	if missed := in.missed(untilMs - o.heardMs); missed > o.missed {
		in.health.missing += uint64(missed - o.missed)
		in.health.stirred = true
		o.missed = missed
	}
}

func (s *Slicer) late(in *input, samples int) {
	s.counts.Late += uint64(samples)
	if in.health != nil {
		in.health.late += uint64(samples)
		in.health.stirred = true
	}
}

// nonsense refuses an impossible value. If the value stands for "no limit" or "undefined", which is no fault, it is
// counted as Unlimited instead.
func (s *Slicer) nonsense(in *input, value float64) {
	none := value == -1 || in.kind == metric.KindGauge && (value < 0 || value > in.rule.Most)
	if none && s.options.Limits[in.rule.Series.Name()] {
		s.counts.Refused[Unlimited]++
		return
	}
	s.refuse(in, RefusedNonsense)
}

func (s *Slicer) refuse(in *input, reason Reason) {
	s.counts.Refused[reason]++
	if in.health != nil {
		add(&in.health.refused, string(reason), 1)
		in.health.stirred = true
	}
}
