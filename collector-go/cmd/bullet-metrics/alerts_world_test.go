package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/require"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/feed"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/rulesengine"
)

// alertsWorld is a collector whose time is the test's: journal, feed with catalogue and slicer, grid store, registry
// and rules are the real ones, and the rules are evaluated as of its time.
type alertsWorld struct {
	t         *testing.T
	now       time.Time
	journal   *journal.Journal
	feed      *feed.Feed
	known     *registry.Registry
	figures   *prometheus.Registry
	results   *rulesengine.Results
	group     *rules.Group
	own       map[string]labels.Labels // of the last look at the figures
	workers   map[string]*alertsWorker // by place
	clients   map[string]*alertsClient // by host
	sequence  uint64
	writing   sync.WaitGroup // batches that are not durable yet
	evaluated time.Duration  // between two evaluations

	ever map[string]bool // alerts that fired, with what distinguishes them
}

// alertsWorker is a worker that runs one task of FilterBolt and one of JoinBolt, and the metrics consumer that has its
// samples. Every 10 s it reports its heap, what FilterBolt executed, and a mean latency with its distribution.
type alertsWorker struct {
	host             string
	filter           int32 // task of FilterBolt; JoinBolt's is 10 more, the consumer's 20 more
	mean             float64
	silent, unheard  bool // the whole stream; its latency alone
	producer         journal.ProducerID
	heap, executed   journal.SeriesID
	meanID, distID   journal.SeriesID
	join             journal.SeriesID
	records          float64
	topology, number string
}

const evaluationStep = 15 * time.Second

func newAlertsWorld(t *testing.T) *alertsWorld {
	w := &alertsWorld{t: t, now: time.Unix(1_800_000_000, 0), figures: prometheus.NewRegistry(),
		own: map[string]labels.Labels{}, workers: map[string]*alertsWorker{}, clients: map[string]*alertsClient{},
		ever: map[string]bool{}, evaluated: evaluationStep}
	dir := t.TempDir()
	clock := func() time.Time { return w.now }
	var err error
	w.journal, err = journal.Open(filepath.Join(dir, "journal"), journal.DefaultOptions())
	require.NoError(t, err)
	keep := datadir.KeepAll()
	keep.Now = clock
	store, err := grid.Open(filepath.Join(dir, datadir.Grid), keep)
	require.NoError(t, err)
	retention := feed.NewRetention(w.journal.Release)
	w.feed, err = feed.New(w.journal, store, retention, feed.DefaultOptions("embedded", filepath.Join(dir, "feeds")))
	require.NoError(t, err)
	settings := registry.DefaultOptions(filepath.Join(dir, "registry"))
	settings.Now, settings.Registerer = clock, w.figures
	w.known, err = registry.New(w.journal, retention, settings)
	require.NoError(t, err)
	w.results = rulesengine.OpenResults(filepath.Join(dir, "rules"), 48*time.Hour, slog.New(slog.DiscardHandler), nil)
	engine, err := query.New(query.Join(store, w.results), query.DefaultOptions())
	require.NoError(t, err)
	w.rules(engine, dir)

	ended := make(chan error, 2)
	go func() { ended <- w.feed.Run(context.Background()) }()
	go func() { ended <- w.known.Run(context.Background()) }()
	t.Cleanup(func() {
		require.NoError(t, w.journal.Close())
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
		require.NoError(t, engine.Close())
		require.NoError(t, w.results.Close())
		require.NoError(t, store.Close(context.Background()))
	})
	return w
}

// rules loads the rule file that is shipped.
func (w *alertsWorld) rules(engine *query.Engine, dir string) {
	file := filepath.Join(dir, builtInRules)
	require.NoError(w.t,
		os.WriteFile(file, alertrules.PrometheusRules(evaluationStep, alertrules.QueryOffset, alertrules.Runbooks),
			0o644))
	manager := rules.NewManager(&rules.ManagerOptions{
		NameValidationScheme: model.UTF8Validation, Parser: parser.NewParser(parser.Options{}), Appendable: w.results,
		Queryable: engine.Queryable(),
		Context:   context.Background(), Logger: slog.New(slog.DiscardHandler),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		QueryFunc: func(ctx context.Context, expression string, at time.Time) (promql.Vector, error) {
			asked, err := engine.Instant(ctx, nil, expression, at)
			if err != nil {
				return nil, err
			}
			defer asked.Close()
			result := asked.Exec(ctx)
			if scalar, is := result.Value.(promql.Scalar); is {
				return promql.Vector{{T: scalar.T, F: scalar.V}}, nil
			}
			vector, _ := result.Value.(promql.Vector)
			return slices.Clone(vector), result.Err
		},
	})
	groups, errs := manager.LoadGroups(evaluationStep, labels.EmptyLabels(), "", nil, false, file)
	require.Empty(w.t, errs)
	for _, group := range groups {
		w.group = group
		for _, rule := range group.AlertingRules() {
			rule.SetRestored(true)
		}
	}
}

// submit lets a topology run with a worker of each host; the first is slow where that is said.
func (w *alertsWorld) submit(topology string, number int, hosts ...string) {
	for i, host := range hosts {
		of := &alertsWorker{host: host, filter: int32(i + 1), mean: 50, topology: topology,
			number: fmt.Sprintf("%s-%d-%d", topology, number, w.now.Unix())}
		w.start(of)
	}
}

func (w *alertsWorld) start(of *alertsWorker) {
	var err error
	of.producer, err = w.journal.DefineProducer(journal.ProducerDefined{Topology: of.topology, TopologyID: of.number,
		Host: of.host, Port: 6700, Task: of.filter + 20})
	require.NoError(w.t, err)
	define := func(component string, task int32, name string, more func(*metric.Raw)) journal.SeriesID {
		raw := metric.Raw{Worker: metric.Worker{Topology: of.topology, Host: of.host, Port: 6700}, Component: component,
			Task: task, Name: name, Shape: metric.ShapeNumber, IntervalMs: 10_000}
		if more != nil {
			more(&raw)
		}
		id, err := w.journal.Define(raw)
		require.NoError(w.t, err)
		return id
	}
	of.heap = define("__system", -1, "memory.heap.used", nil)
	of.executed = define("FilterBolt", of.filter, "__execute-count-DataSource:default", nil)
	of.meanID = define("FilterBolt", of.filter, "bullet_filter_latency", nil)
	of.distID = define("FilterBolt", of.filter, "bullet_filter_latency_seconds", func(raw *metric.Raw) {
		raw.Shape = metric.ShapeHistogram
	})
	of.join = define("JoinBolt", of.filter+10, "__receive-queue", nil)
	require.NoError(w.t, w.journal.AppendControl(&journal.Connected{Producer: of.producer, TimeMs: w.now.UnixMilli()}))
	w.workers[of.host] = of
}

// disconnect ends a worker's stream.
func (w *alertsWorld) disconnect(host string) {
	require.NoError(w.t,
		w.journal.AppendControl(&journal.Disconnected{Producer: w.workers[host].producer, TimeMs: w.now.UnixMilli()}))
}

// move lets a worker's tasks run on another host, as after a rebalance.
func (w *alertsWorld) move(from, to string) {
	of := *w.workers[from]
	w.disconnect(from)
	delete(w.workers, from)
	of.host, of.mean, of.silent = to, 50, false
	w.start(&of)
}

func (w *alertsWorld) annotate(topology string, tags ...string) {
	_, err := w.known.Annotate(w.t.Context(), registry.Annotation{Topology: topology, Title: "It is over", Tags: tags})
	require.NoError(w.t, err)
}

func (w *alertsWorld) report(of *alertsWorker) {
	if of.silent {
		return
	}
	of.records += 5_000
	at := w.now.UnixMilli()
	b := w.batch(of.producer)
	b.IDs, b.TimesMs, b.Values = []journal.SeriesID{of.heap, of.executed, of.join}, []int64{at, at, at},
		[]float64{5e8, of.records, 1}
	if !of.unheard {
		b.IDs, b.TimesMs, b.Values = append(b.IDs, of.meanID), append(b.TimesMs, at), append(b.Values, of.mean)
		bucket := int32(math.Ceil(math.Log2(of.mean / 1000))) // 2^(bucket-1) to 2^bucket seconds
		b.Histograms = []*pb.HistogramSample{{SeriesId: uint32(of.distID), TimeMs: at, Schema: 0, ZeroThreshold: 0.0005,
			Count: 5_000, Sum: 5 * of.mean,
			PositiveSpans: []*pb.BucketSpan{{Offset: bucket, Length: 1}}, PositiveCounts: []uint64{5_000}}}
	}
	w.append(b)
}

// batch is an empty one of a producer.
func (w *alertsWorld) batch(of journal.ProducerID) *journal.Batch {
	w.sequence++
	at := w.now.UnixMilli()
	return &journal.Batch{Producer: of, Epoch: journal.Epoch{1}, Sequence: w.sequence, SentMs: at, ReceivedMs: at + 3}
}

func (w *alertsWorld) append(b *journal.Batch) {
	w.writing.Add(1)
	_, err := w.journal.Append(b, func(error) { w.writing.Done() })
	require.NoError(w.t, err)
}

// lastWord lets a producer say that it is closed in order.
func (w *alertsWorld) lastWord(of journal.ProducerID) {
	b := w.batch(of)
	b.Notes = &pb.Batch{Closing: true}
	w.append(b)
}

// pass lets time pass: reports each 10 s, a tick each 5 s (more would not count), an evaluation each 15 s.
func (w *alertsWorld) pass(d time.Duration) {
	const tick = 5 * time.Second
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(tick)
		if w.now.Unix()%10 == 0 {
			for _, host := range slices.Sorted(maps.Keys(w.workers)) {
				w.report(w.workers[host])
			}
			for _, host := range slices.Sorted(maps.Keys(w.clients)) {
				w.ask(w.clients[host])
			}
		}
		require.NoError(w.t, w.journal.AppendControl(&journal.Tick{TimeMs: w.now.UnixMilli() + 3}))
		if w.now.UnixMilli()%w.evaluated.Milliseconds() == 0 {
			w.evaluate()
		}
	}
}

// evaluate waits until all that came is in store and registry, keeps the collector's own figures as rulesengine.Own
// does, and evaluates the rules.
func (w *alertsWorld) evaluate() {
	w.writing.Wait()
	had := uint64(w.journal.Durable())
	require.Eventually(w.t, func() bool { return min(w.feed.Position(), w.known.Position()) >= had }, time.Minute,
		100*time.Microsecond)
	w.look()
	w.group.Eval(context.Background(), w.now)
	for _, rule := range w.group.Rules() {
		require.NoError(w.t, rule.LastError(), rule.Name())
	}
	for _, fires := range w.firing() {
		w.ever[fires] = true
	}
}

func (w *alertsWorld) look() {
	families, err := w.figures.Gather()
	require.NoError(w.t, err)
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.TimeFromUnixNano(w.now.UnixNano())},
		families...)
	require.NoError(w.t, err)
	app, seen := w.results.Appender(context.Background()), map[string]labels.Labels{}
	put := func(of labels.Labels, v float64) {
		_, err := app.Append(0, of, w.now.UnixMilli(), v)
		require.NoError(w.t, err)
	}
	for _, s := range samples {
		b := labels.NewBuilder(labels.FromStrings("job", "bullet-metrics", "instance", "c"))
		for name, v := range s.Metric {
			b.Set(string(name), string(v))
		}
		seen[b.Labels().String()] = b.Labels()
		put(b.Labels(), float64(s.Value))
	}
	for name, of := range w.own {
		if _, still := seen[name]; !still {
			put(of, math.Float64frombits(value.StaleNaN))
		}
	}
	w.own = seen
	require.NoError(w.t, app.Commit())
}

// firing are the alerts that fire now but for the watchdog: name and what distinguishes it from others of its name.
func (w *alertsWorld) firing() (all []string) {
	watched := false
	for _, rule := range w.group.AlertingRules() {
		for _, a := range rule.ActiveAlerts() {
			if a.State != rules.StateFiring {
				continue
			}
			if rule.Name() == "BulletMetricsWatchdog" {
				watched = true
				continue
			}
			of := []string{strings.TrimPrefix(rule.Name(), "Bullet")}
			for _, name := range []string{"topology", "worker", "class", "reason", "metric"} {
				if v := a.Labels.Get(name); v != "" {
					of = append(of, v)
				}
			}
			all = append(all, strings.Join(of, " "))
		}
	}
	require.True(w.t, watched, "the watchdog fires always")
	slices.Sort(all)
	return all
}
