package slicer

import (
	"cmp"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Health configures what is reported about the collection itself: series for each worker and metric, never for a task,
// beside the data.
type Health struct {
	// PeriodMs is how often it is written, on a grid of its own; 0 for never.
	PeriodMs int64
	// MaxMetrics bounds the metrics of one worker that have series of their own; further ones are counted together, as
	// OtherMetrics.
	MaxMetrics int
	// Steady are the metrics, by canonical name, of which every series comes every interval, so that a sample that is
	// not there is missing. Others may have nothing to say.
	Steady map[string]bool
	// Lazy are those of the steady ones whose series come from their first event on, in each life of the process. When
	// one returns after a restart, nothing shows since when it was missing.
	Lazy  map[string]bool
	Names HealthNames
}

// HealthNames are what the series are called. Their labels are topology, worker, metric (not of a worker's own) and
// reason (of what was refused or dropped). A worker's own series have a value each period, a metric's only while
// something is wrong with it (health_write.go).
type HealthNames struct {
	// gauge, seconds: as the source reports it; of a topology's metric, without a worker, where it changes and each
	// hour
	Interval string
	// gauge, seconds: the longest time between two samples of a series; since the newest one where the metric is silent
	Seen    string
	Samples string // counter: samples in slices; not while the metric is silent
	Missing string // counter: samples that should be in slices and are not
	Late    string // counter: samples whose slice was closed when they came
	Refused string // counter: samples that were of no use

	WorkerSamples string // counters: the sums over all metrics of a worker
	WorkerMissing string
	WorkerLate    string
	WorkerRefused string
	WorkerRatio   string // gauge: the greatest of Seen over Interval, of its steady metrics
	// gauge, seconds: by how much a worker's clock is ahead of the collector's beyond doubt: 0 where it may be right
	Ahead      string
	AheadLeast string // gauge, seconds: by how much at least; it is bounded by the freshest of what came
	AheadMost  string // gauge, seconds: by how much at most, where something bounds it
	Dropped    string // counter: samples that the plugin reports as dropped, by the worker that its consumer runs in
}

// OtherMetrics stands for the metrics of a worker beyond Health.MaxMetrics.
const OtherMetrics = "other"

// health tracks how the samples of one worker arrive.
type health struct {
	aheadMs   int64 // of the period that is not written yet; never where nothing came
	writtenTo int64 // end of the newest period that is written
	ahead     healthSeries
	least     healthSeries
	most      healthSeries
	metrics   []*metricHealth // in the order in which they were first heard of
	flows     []*flows        // of the metrics, in the same order
	healthy   []*healthyMetrics
	drops     []tally

	samples, missing, late, ratio healthSeries
	refused                       []tally // sums over the metrics, by reason
}

// own are a worker's series of each period, but for the refused and dropped.
func (h *health) own() []*healthSeries {
	return []*healthSeries{&h.ahead, &h.samples, &h.missing, &h.late, &h.ratio, &h.least, &h.most}
}

// ownBefore5 is how many of them snapshots before version 5 have.
const ownBefore5 = 5

// metricHealth is how the samples of one metric of a worker come.
type metricHealth struct {
	*flow
	*healthy
	name       string
	steady     bool    // by the options
	intervalMs int64   // of the series defined last; 0 where unknown
	widthMs    int64   // of its widest slices so far
	refused    []tally // by reason

	seenSeries, samplesSeries, missingSeries, lateSeries healthSeries
}

// series are a metric's series but for the refused.
func (m *metricHealth) series() []*healthSeries {
	return []*healthSeries{&m.seenSeries, &m.samplesSeries, &m.missingSeries, &m.lateSeries}
}

// tally is a count by reason.
type tally struct {
	reason string
	n      uint64
	series healthSeries
}

// healthSeries is a series that describes the collection itself.
type healthSeries struct {
	ref       slice.Ref
	hasRef    bool
	announced bool
	live      bool    // no marker was written behind it
	lastEnd   int64   // its newest value or marker
	value     float64 // its newest value, 0 before the first; NaN where an old snapshot does not have it
}

// watch begins to count what comes of a series. What came of its worker before is of an earlier run, if it is of this
// series.
func (s *Slicer) watch(in *input) {
	if s.options.Health.PeriodMs == 0 {
		return
	}
	src := s.source(in.rule.Worker)
	in.sinceMs = src.eventMs
	s.link(in, src)
	if in.rule.IntervalMs > 0 {
		in.health.intervalMs = in.rule.IntervalMs
		if in.health.name != OtherMetrics { // these have none together
			src.topology.reports(in.health.name, in.rule.IntervalMs)
		}
	}
	in.health.learn(&s.options)
	if in.out != nil && in.out.owner == in {
		in.out.slot.tune(in)
	}
}

// link finds where a series is counted.
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

// Received records when the collector received the batch that Begin opened, by its own clock.
func (s *Slicer) Received(ms int64) { s.batch.receivedMs = ms }

// Dropped adds to the samples that a metrics consumer in a worker reports as dropped; adding 0 creates the series.
func (s *Slicer) Dropped(w metric.Worker, reason string, samples uint64) {
	if s.options.Health.PeriodMs > 0 {
		add(&s.source(w).health.drops, reason, samples)
	}
}

// add counts under a reason; the list stays in their order.
func add(to *[]tally, reason string, n uint64) {
	at, found := slices.BinarySearchFunc(*to, reason, func(t tally, reason string) int {
		return cmp.Compare(t.reason, reason)
	})
	if !found {
		*to = slices.Insert(*to, at, tally{reason: reason})
	}
	(*to)[at].n += n
}

// came notes the samples of one slice of a series, which are in order of time.
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

// reborn records that a series returned with a new process, which may have had nothing to report before.
func (in *input) reborn(lastMs, nextMs, endMs int64) bool {
	return in.lazy && in.state.source.starts.between(lastMs, nextMs, endMs+in.state.packMs)
}

// missed is how many samples should lie between two that are so far apart. A sample may be half an interval off.
func (in *input) missed(apartMs int64) int64 {
	interval := in.rule.IntervalMs
	return (apartMs+interval/2)/interval - 1
}

// silent counts what a series misses that is about to be marked as ended. What it misses beyond that is counted when it
// comes back: one that never does, as of a task that went to another worker, misses nothing more.
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

// nonsense refuses an impossible value, or counts it as Unlimited where it stands for "no limit" or "undefined", which
// is no fault.
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
