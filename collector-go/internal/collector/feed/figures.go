package feed

import (
	"maps"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slicer"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/instrument"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// figures are a feed's metrics. Counts of samples are totals over the journal's life. They are part of the checkpoints,
// so figures reads them from the pipeline's state and does not count by itself.
//
// The feed's goroutine publishes readings through atomic pointers. Scrapes come from other goroutines and never touch
// the pipeline, which has no locks.
type figures struct {
	described descriptions
	published atomic.Pointer[published]
	notStored atomic.Pointer[map[string]NotStored] // by topology
	stepsBack atomic.Pointer[map[metric.Worker]slicer.StepBack]
	nowMs     func() int64 // the journal's clock
	// givenMs is the tick time up to which the store has received everything; 0 if it is not known yet
	givenMs  atomic.Int64
	failures prometheus.Counter
	expired  prometheus.Counter

	unreadable prometheus.Counter
	slices     *prometheus.CounterVec
	pending    prometheus.Gauge
	extract    prometheus.Histogram // time per batch
	write      prometheus.Histogram // time per hand-over
}

// published is one reading of the accounting. It is never changed after it is stored, so all readers may share it. Its
// numbers belong to one journal position, so that they balance.
type published struct {
	position journal.Position
	samples  map[fate]uint64
	drops    map[dropKey]uint64
	unknown  int
}

// fate is what happened to a sample that the feed read. reason is "" if the fate has no reasons. The names are the
// values of the label "fate" of bullet_metrics_feed_samples.
type fate struct{ name, reason string }

// newFigures creates the metrics of a feed, and registers them if there is a registerer. nowMs is the journal's clock,
// because the lag is measured in the journal's time.
func newFigures(o Options, nowMs func() int64) *figures {
	make := instrument.New("bullet_metrics_feed_", prometheus.Labels{"store": o.Name})
	f := &figures{
		described: newDescriptions(o.Name), nowMs: nowMs,
		failures: make.Counter("failures_total",
			"Failed attempts to read the journal, to write slices to the store or to save a checkpoint. Each one is retried."),
		expired: make.Counter("expired_total",
			"How often the journal had deleted entries before this store received them."),
		unreadable: make.Counter("unreadable_total",
			"Parts of the journal that were skipped because they could not be read from the disk. Their samples are missing in the store."),
		slices: make.Counters("slices_total",
			"Slices and gap markers that the feed finished since the process started, by fate: delivered, rejected by the store (with a reason) or expired.",
			"fate", "reason"),
		pending: make.Gauge("slices_pending", "Closed slices and gap markers that are being written to the store."),
		extract: make.Histogram("extract_duration_seconds",
			"Time to decode a batch from the journal and to add it to its slices, in seconds.", true,
			prometheus.ExponentialBuckets(0.000001, 4, 10)),
		write: make.Histogram("write_duration_seconds",
			"Duration of one write of slices to the store, in seconds. Failed attempts are not included.", true,
			prometheus.ExponentialBuckets(0.00001, 4, 10)),
	}
	f.published.Store(&published{})
	f.notStored.Store(&map[string]NotStored{})
	f.stepsBack.Store(&map[metric.Worker]slicer.StepBack{})
	make.Register(o.Registerer, f)
	return f
}

// publish stores a new reading of the accounting for scrapes. The list of metrics that are not stored is copied only if
// it changed.
func (f *figures) publish(p *pipeline, position journal.Position) {
	b := &published{position: position, samples: p.accounting(), drops: make(map[dropKey]uint64, len(p.stats.drops)),
		unknown: p.catalog.Counts().Unknown}
	maps.Copy(b.drops, p.stats.drops)
	f.published.Store(b)
	stepsBack := p.slicer.StepsBack(f.nowMs())
	f.stepsBack.Store(&stepsBack)
	if changed := p.catalog.NotStoredChanged(); len(changed) > 0 {
		all := maps.Clone(*f.notStored.Load())
		for _, topology := range changed {
			names, more := p.catalog.NotStored(topology)
			all[topology] = NotStored{names, more}
			if len(names) == 0 {
				delete(all, topology)
			}
		}
		f.notStored.Store(&all)
	}
}

// accounting counts what happened to every sample that was read: read is the sum of all others.
func (p *pipeline) accounting() map[fate]uint64 {
	counts, left := p.slicer.Counts(), p.catalog.Counts()
	samples := map[fate]uint64{
		{"read", ""}:                 p.stats.read,
		{"in_slices", ""}:            counts.InSlices,
		{"open", ""}:                 counts.Open,
		{"late", ""}:                 counts.Late,
		{"expired", ""}:              p.stats.expired,
		{"moved", ""}:                p.stats.moved,
		{"refused", "bad_histogram"}: p.stats.badHistograms,
	}
	if p.stats.unknownLayouts > 0 {
		samples[fate{"refused", "undefined"}] = p.stats.unknownLayouts
	}
	for reason, n := range counts.Refused {
		if reason == slicer.Unlimited { // it is not a sample of a real value
			samples[fate{"left_out", string(reason)}] += n
			continue
		}
		samples[fate{"refused", string(reason)}] += n
	}
	for reason, n := range left.Refused {
		samples[fate{"refused", reason}] += n
	}
	for reason, n := range left.LeftOut {
		samples[fate{"left_out", reason}] += n
	}
	return samples
}

// descriptions describe the metrics whose values are taken from a published reading at each scrape.
type descriptions struct{ samples, position, lag, drops, unknown, setBack *prometheus.Desc }

func newDescriptions(store string) descriptions {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, prometheus.Labels{"store": store})
	}
	return descriptions{
		samples: describe("bullet_metrics_feed_samples",
			"Samples that were read from the journal or that came in open slices from another collector, by fate. read = in_slices + open + late + refused + left_out + expired + moved.",
			"fate", "reason"),
		position: describe("bullet_metrics_feed_position",
			"Journal position up to which the store has received everything."),
		lag: describe("bullet_metrics_feed_behind_seconds",
			"Lag of the store behind the newest journal entry, in seconds. If the collector's machine is lost, a network store misses the samples of this time and all open slices."),
		drops: describe("bullet_metrics_producer_dropped_samples_total",
			"Samples that producers report as dropped before they reached the collector.", "topology", "reason"),
		unknown: describe("bullet_metrics_feed_unknown_series",
			"Series that are stored under their own name because the catalog has none for them."),
		setBack: describe("bullet_metrics_worker_clock_set_back_seconds",
			"How far a worker's clock was set back at least, in seconds, accurate to one reporting interval. It is exported while samples are refused because they repeat an earlier time (repeated_time), and for two minutes after that. Samples of this metric carry the collector's time.",
			"topology", "worker"),
	}
}

// Describe implements prometheus.Collector.
func (f *figures) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{f.described.samples, f.described.position, f.described.lag,
		f.described.drops, f.described.unknown, f.described.setBack} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (f *figures) Collect(out chan<- prometheus.Metric) {
	b := f.published.Load()
	gauge := func(d *prometheus.Desc, v uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	gauge(f.described.position, uint64(b.position))
	gauge(f.described.unknown, uint64(b.unknown))
	if given := f.givenMs.Load(); given > 0 {
		lag := float64(max(0, f.nowMs()-given)) / 1000
		out <- prometheus.MustNewConstMetric(f.described.lag, prometheus.GaugeValue, lag)
	}
	for fate, n := range b.samples {
		gauge(f.described.samples, n, fate.name, fate.reason)
	}
	for key, n := range b.drops {
		out <- prometheus.MustNewConstMetric(f.described.drops, prometheus.CounterValue, float64(n),
			key.topology, key.reason)
	}
	for worker, step := range *f.stepsBack.Load() {
		out <- prometheus.MustNewConstMetric(f.described.setBack, prometheus.GaugeValue, float64(step.ByMs)/1000,
			worker.Topology, worker.String())
	}
}

// Accounting is the accounting of a feed: it counts what happened to each sample that the feed read, over the journal's
// life. Read is the sum of all other counts, unless topologies moved between collectors, because Accounting has no
// count for "moved".
type Accounting struct {
	Read, InSlices, Open, Expired uint64
	Refused, LeftOut              map[string]uint64 // by reason; late samples are refused under "late"
}

// Accounting returns the counts as of the last hand-over to the store. It is safe for concurrent use.
func (f *Feed) Accounting() Accounting {
	b := Accounting{Refused: map[string]uint64{}, LeftOut: map[string]uint64{}}
	for what, n := range f.figures.published.Load().samples {
		switch what.name {
		case "read":
			b.Read = n
		case "in_slices":
			b.InSlices = n
		case "open":
			b.Open = n
		case "expired":
			b.Expired = n
		case "late":
			b.Refused["late"] += n
		case "refused":
			b.Refused[what.reason] += n
		case "left_out":
			b.LeftOut[what.reason] += n
		}
	}
	return b
}

// UnknownNames returns the metric names, as Storm reports them, that a topology sent and the catalog does not know.
// Call it only after Run has returned, because it reads the pipeline.
func (f *Feed) UnknownNames(topology string) []string {
	return f.pipeline.catalog.UnknownNames(topology)
}

// NotStored lists the metrics of a topology that are not stored. More is the number of metrics that Names leaves out.
type NotStored struct {
	Names []catalog.NotStored
	More  int
}

// NotStored returns the metrics of a topology that are not stored, and how many more there are, as of the last
// hand-over to the store. It is safe for concurrent use.
func (f *Feed) NotStored(topology string) ([]catalog.NotStored, int) {
	n := (*f.figures.notStored.Load())[topology]
	return n.Names, n.More
}
