package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/checkpoint"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/feed"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/ingest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/live"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/replay"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slicer"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runindex"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/federation"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/httpapi"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query/remote"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/rulesengine"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/runbook"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/webui"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/nimbus"
)

// collector is every room of the program, joined. Data flows ingest -> journal -> feed -> store -> query -> httpapi; it
// is opened from the store's end and closed from the door's.
type collector struct {
	logger       *slog.Logger
	grpcListener net.Listener
	httpListener net.Listener
	profiling    net.Listener  // nil where it is off
	senders      *access.Guard // of the gRPC port
	readers      *access.Guard // of the HTTP port

	journal   *journal.Journal
	retention *feed.Retention
	storeDir  string
	store     sliceStore // nil where it is off, and its feed
	feed      *feed.Feed
	network   []*networkStore
	sharing   []*sharing           // of annotations, one a store that an engine reads
	known     *registry.Registry   // what topologies are
	live      *live.Live           // what their workers sent last
	results   *rulesengine.Results // what rules give
	remote    *remote.Store        // that queries go to; nil where the store answers them
	others    *federation.Reader   // what is known, here and to other collectors over that engine
	engine    *query.Engine
	rules     *rulesengine.Evaluator
	builtIn   rulesengine.File // the program's own rules
	reloads   *reloads
	own       *rulesengine.Own // the collector's own metrics
	killed    *nimbus.Watch    // nil without addresses of Nimbus
	ingest    *ingest.Server
	desk      *checkpoint.Transfers // nil where senders carry nothing
	http      *httpapi.Server
	startup   *feed.Startup  // nil before the start
	replay    *replay.Intake // where captures are played: what the store is given; nil in a collector that serves
	played    *replay.Clock  // the clock of data that are played and looked at (tour); nil otherwise

	failed     chan error
	door       task // ingest
	clock      task // ticks into the journal
	reclaimer  task // frees disk space of the embedded store
	feeder     task // of the embedded store
	releaser   task // of the journal, where stores are behind
	registrar  task // the registry
	evaluator  task // rules
	ownFigures task // own figures
	abilities  task // of the engine of query.url
	page       task // httpapi
	prof       task // Go's profiles
	storm      task // what Nimbus killed
	reloading  task // at signals
}

// task is a goroutine that somebody waits for.
type task struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// openCollector reads what the settings name and takes the ports, and reports all that is wrong with either: a taken
// port hides no mistake in a file. Only then does it touch data, so that a second collector touches none.
func openCollector(c config.Config, logger *slog.Logger) (*collector, error) {
	return openCollectorWith(c, logger, newFigures(), nil)
}

// openCollectorWith opens a collector. played is the clock of data that are played into it, or nil for the system's.
func openCollectorWith(c config.Config, logger *slog.Logger, figures *prometheus.Registry, played *replay.Clock) (
	_ *collector, err error) {
	private := c.Secrets()
	col := &collector{logger: private.Logger(logger), failed: make(chan error, 12), played: played}
	defer func() {
		if err != nil {
			err = private.HideError(errors.Join(err, col.release(context.Background())))
		}
	}()
	if err = errors.Join(col.openAccess(c, figures), checkNamed(c), col.listen(c)); err != nil {
		return nil, err
	}
	if played != nil {
		c.HTTP.Listen = col.httpListener.Addr().String() // links in alerts need the chosen port
	}
	if err = col.openData(c, figures); err != nil {
		return nil, err
	}
	col.reloads = newReloads(col, c, figures)
	if err = col.openServers(c, figures); err != nil {
		return nil, err
	}
	return col, nil
}

// openAccess reads the access files of both ports, and reports the faults of both.
func (col *collector) openAccess(c config.Config, figures prometheus.Registerer) error {
	var ofSenders, ofReaders error
	col.senders, ofSenders = access.Open(access.Options{
		Port: access.GRPC, Listen: c.GRPC.Listen, Insecure: c.GRPC.Insecure, TokenFile: c.GRPC.TokenFile,
		TLS:    access.TLSFiles{Cert: c.GRPC.TLSCertFile, Key: c.GRPC.TLSKeyFile, ClientCA: c.GRPC.ClientCAFile},
		Logger: col.logger, Registerer: figures,
	})
	col.readers, ofReaders = access.Open(access.Options{
		Port: access.HTTP, Listen: c.HTTP.Listen, Insecure: c.HTTP.Insecure, TokenFile: c.HTTP.TokenFile,
		WriteTokenFile: c.GRPC.TokenFile, WebConfigFile: c.HTTP.WebConfigFile, Logger: col.logger, Registerer: figures,
	})
	return errors.Join(ofSenders, ofReaders)
}

// listen takes the ports.
func (col *collector) listen(c config.Config) error {
	var taken [3]error
	col.grpcListener, taken[0] = listen("grpc.listen", c.GRPC.Listen)
	col.httpListener, taken[1] = listen("http.listen", c.HTTP.Listen)
	if c.Pprof != "" {
		col.profiling, taken[2] = listen("pprof", c.Pprof)
	}
	return errors.Join(taken[:]...)
}

func listen(key, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; stop the process that listens there, or use another address", key, err)
	}
	return listener, nil
}

// newFigures is where all parts register what they say of themselves.
func newFigures() *prometheus.Registry {
	figures := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "bullet_metrics_build_info", Help: "Version of the collector and of Go as labels. The value is always 1.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	info.Set(1)
	figures.MustRegister(info, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return figures
}

// openData opens what is on disk: the journal, the store with the feed between them, and the registry.
func (col *collector) openData(c config.Config, figures *prometheus.Registry) (err error) {
	if err = datadir.CheckStart(c.DataDir); err != nil {
		return err
	}
	if err = datadir.Restrict(c.DataDir, col.logger); err != nil {
		return err
	}
	log := journal.DefaultOptions()
	log.MaxBytes, log.SegmentBytes, log.Logger, log.Registerer = c.Journal.MaxBytes, c.Journal.SegmentBytes,
		col.logger, figures
	if col.replay == nil && col.played == nil { // a player waits for each batch
		log.GatherInterval, log.CalmInterval = journal.Gather, journal.Calm
	}
	log.MakeRoomAfter = c.Disk.MakeRoomAfter
	log.MaxSeries = mostSeries(c)
	log.QueueBytes = bounded(log.QueueBytes, c.Memory.QueueBytes)
	if col.journal, err = journal.Open(filepath.Join(c.DataDir, "journal"), log); err != nil {
		return err
	}
	col.retention = feed.NewRetention(col.journal.Release)
	if c.GRPC.Acknowledge == config.AcknowledgeForwarded {
		col.desk = checkpoint.NewTransfers()
	}
	if c.Embedded.Enabled {
		if err = col.openEmbedded(c, figures); err != nil {
			return err
		}
	}
	if err = col.openNetwork(c, figures); err != nil {
		return err
	}
	settings := registry.DefaultOptions(filepath.Join(c.DataDir, "registry"))
	settings.Registerer, settings.Logger = figures, col.logger
	col.live = live.New(col.now())
	settings.Live = col.live
	if col.known, err = registry.New(col.journal, col.retention, settings); err == nil && len(c.Nimbus.Addresses) > 0 {
		ask := func(ctx context.Context) ([]nimbus.Topology, error) {
			return nimbus.Topologies(ctx, c.Nimbus.Addresses)
		}
		col.killed = &nimbus.Watch{Every: c.Nimbus.Interval, Ask: ask, Killed: col.known.KilledByNimbus,
			Logger: col.logger}
	}
	if err == nil && c.Query.URL != "" {
		err = col.openSharing(c, figures)
	}
	return err
}

// now returns the clock of the data: the system's, or that of data that are played.
func (col *collector) now() func() time.Time {
	if col.played != nil {
		return col.played.Now
	}
	return time.Now
}

// mostSeries is how many series all topologies may have together.
func mostSeries(c config.Config) int {
	return bounded(max(journal.DefaultOptions().MaxSeries, 2*c.Limits.SeriesPerTopology), c.Memory.Series)
}

// bounded is a part's own bound, or less where so much fits into memory; 0 is not known.
func bounded[T int | int64](own, fits T) T {
	if fits == 0 {
		return own
	}
	return min(own, fits)
}

// openEmbedded opens the store inside the collector and its feed.
func (col *collector) openEmbedded(c config.Config, figures *prometheus.Registry) (err error) {
	col.storeDir = filepath.Join(c.DataDir, datadir.Grid)
	if col.store, err = openGrid(c, col.logger, figures, col.now()); err != nil {
		return err
	}
	feeding := col.feedOptions(c, "embedded", figures)
	feeding.Lost = func(err error) bool { return errors.Is(err, grid.ErrClosed) } // the next start replays the journal
	var sink feed.Store = col.store
	if col.replay != nil {
		col.replay.Store, sink, feeding.CloseAtEnd = col.store, col.replay, true
	}
	col.feed, err = feed.New(col.journal, sink, col.retention, feeding)
	return err
}

// feedOptions are what the feeds of all stores have in common.
func (col *collector) feedOptions(c config.Config, store string, figures prometheus.Registerer) feed.Options {
	o := feed.DefaultOptions(store, filepath.Join(c.DataDir, "feeds"))
	o.Slicer, o.Registerer, o.Logger = slicerOptions(o.Slicer, c), figures, col.logger
	o.Catalog.MaxSeries = bounded(o.Catalog.MaxSeries, 2*c.Memory.Series)
	return o
}

func slicerOptions(o slicer.Options, c config.Config) slicer.Options {
	o.WidthMs, o.LatenessMs, o.Widths = c.Slice.Width.Milliseconds(), c.Slice.Lateness.Milliseconds(),
		map[string]int64{}
	o.SoleLatenessMs = c.Slice.LatenessSole.Milliseconds()
	o.MaxOpenSamples, o.MaxTopologyOpenSamples = c.Limits.OpenSamples, c.Limits.OpenSamplesPerTopology
	// Series that were forgotten to admit others stay for a while, and so do those of collection health.
	o.MaxSeries = bounded(o.MaxSeries, 2*c.Memory.Series)
	for name, width := range c.Slice.WidthByMetric {
		o.Widths[name] = width.Milliseconds()
	}
	return o
}

// openServers makes the door and the page; neither answers yet.
func (col *collector) openServers(c config.Config, figures *prometheus.Registry) (err error) {
	querying := queryOptions(c.Query)
	querying.Logger, querying.Registerer = col.logger, figures
	if err = col.openRules(c, querying, figures); err != nil {
		return err
	}
	answering := httpapi.DefaultOptions()
	answering.Engine, answering.Gatherer, answering.Metadata, answering.Ready = col.engine, figures,
		httpapi.CatalogMetadata{}, col.unready
	answering.Loaded, answering.Reloader = col.started, col.reloads
	answering.Hosts, answering.Logger, answering.ShutdownTimeout, answering.Guard = c.HTTP.Hosts(), col.logger,
		c.Shutdown/4, col.readers
	answering.Registerer, answering.StorageRetention = figures, c.Embedded.Retention()
	answering.Registry, answering.Federation, answering.Flags = col.known, col.others,
		c.Public(col.grpcListener.Addr().String())
	answering.Flags["version"] = version // that of buildinfo is Prometheus', as Grafana expects it
	answering.NotStored, answering.Live = col.notStored, col.live
	if answering.Page, err = webui.Handler(); err != nil {
		return err
	}
	answering.Runbooks = runbook.Handler()
	if c.Runs.Dir != "" {
		answering.Runs = runindex.New(c.Runs.Dir, col.logger)
	}
	if col.rules != nil {
		answering.Rules, answering.Diagnose = col.rules, (&httpapi.Explainer{Engine: col.engine, Rules: col.rules,
			Known: col.others, Limit: col.limitation(c.Slice.Width), Logger: col.logger}).Explain
	}
	if col.http, err = httpapi.NewServer(answering); err != nil {
		return err
	}
	taking := ingestOptions(c)
	taking.Guard, taking.Logger, taking.Registerer, taking.Now = col.senders, col.logger, figures, col.now()
	if col.desk != nil {
		cutting := slicerOptions(feed.DefaultOptions("", "").Slicer, c)
		taking.StateTransfer = &ingest.StateTransfer{Transfers: col.desk, MaxBytes: feed.MaxTransferBytes,
			Arriving: func(topology string, state []byte) ([]metric.Raw, error) {
				return feed.Arriving(topology, state, cutting)
			}}
	}
	col.ingest, err = ingest.New(col.journal, taking)
	return err
}

func ingestOptions(c config.Config) ingest.Options {
	o := ingest.DefaultOptions()
	o.MaxTopologySeries, o.MaxStreams, o.MaxBatchBytes = c.Limits.SeriesPerTopology, c.Limits.Streams,
		c.Limits.BatchBytes
	// A sender's stream has a connection of its own; a third more is for those that come and go.
	o.MaxConnections = max(o.MaxConnections, c.Limits.Streams+c.Limits.Streams/3)
	o.MaxTopologySamplesPerSecond, o.DrainTimeout = c.Limits.SamplesPerSecondPerTopology, c.Shutdown/4
	return o
}

func queryOptions(c config.Query) query.Options {
	o := query.DefaultOptions()
	o.Timeout, o.MaxSamples, o.MaxConcurrent, o.LookbackDelta = c.Timeout, c.MaxSamples, c.MaxConcurrent, c.Lookback
	o.MaxLength, o.MaxDepth, o.MaxSeries, o.MaxReadSamples = c.MaxLength, c.MaxDepth, c.MaxSeries, c.MaxReadSamples
	return o
}

// position returns the journal position up to which answers are complete.
func (col *collector) position() uint64 {
	if col.feed == nil {
		return col.known.Position()
	}
	return min(col.feed.Position(), col.known.Position())
}

// evaluate evaluates rules once the journal has been read.
func (col *collector) evaluate(ctx context.Context) error {
	if !col.startup.Replay(ctx) {
		return nil
	}
	if col.rules == nil {
		col.startup.Finish()
		return nil
	}
	return col.rules.Run(ctx, col.startup.Finish)
}

// started waits until answers have all samples and alerts from before the start.
func (col *collector) started(ctx context.Context) error {
	if col.startup == nil {
		return nil
	}
	return col.startup.Wait(ctx)
}

// unready returns why the collector should get no traffic, "" when it should.
func (col *collector) unready() string {
	if err := col.journal.Ready(); err != nil {
		return err.Error()
	}
	if col.store != nil && !datadir.IsDirectory(col.storeDir) {
		return col.storeDir +
			" was removed; restart the collector to rebuild the store from the journal"
	}
	if err := errors.Join(col.senders.Broken(), col.readers.Broken()); err != nil {
		return err.Error()
	}
	return ""
}

// start lets everything run. The channel receives the first part that failed. The journal records that the collector
// started before the door opens: no producer is connected until then.
func (col *collector) start() <-chan error {
	now := time.Now().UnixMilli()
	// at a tick slices are handed on
	for _, mark := range []journal.Entry{&journal.Started{TimeMs: now}, &journal.Tick{TimeMs: now}} {
		if err := col.journal.AppendControl(mark); err != nil {
			col.failed <- err
		}
	}
	col.startup = feed.NewStartup(uint64(col.journal.Durable()), col.position)
	if col.feed != nil {
		col.run(&col.feeder, col.feed.Run)
		col.run(&col.reclaimer, eachSecond(func(time.Time) {
			if err := col.store.Reclaim(); err != nil && !errors.Is(err, grid.ErrClosed) {
				col.logger.Debug("freeing disk space failed", "error", err)
			}
		}))
	}
	if col.own != nil {
		col.run(&col.ownFigures, col.own.Run)
	}
	if col.remote != nil {
		col.run(&col.abilities, func(ctx context.Context) error { return col.remote.LogAbilities(ctx, col.logger) })
	}
	col.run(&col.evaluator, col.evaluate)
	if col.profiling != nil {
		col.run(&col.prof, func(ctx context.Context) error { return httpapi.ServeProfiles(ctx, col.profiling) })
	}
	for _, n := range col.network {
		col.run(&n.feeder, n.feed.Run)
	}
	col.run(&col.releaser, col.relieve)
	col.run(&col.registrar, col.known.Run)
	for _, s := range col.sharing {
		col.run(&s.task, s.writer.Run)
	}
	if col.killed != nil {
		col.run(&col.storm, col.killed.Run)
	}
	col.run(&col.page, func(ctx context.Context) error { return col.http.Run(ctx, col.httpListener) })
	col.run(&col.clock, eachSecond(col.tick))
	col.run(&col.door, func(ctx context.Context) error { return col.ingest.Serve(ctx, col.grpcListener) })
	return col.failed
}

func (col *collector) run(t *task, body func(context.Context) error) {
	var ctx context.Context
	ctx, t.cancel = context.WithCancel(context.Background())
	t.done = make(chan struct{})
	go func() {
		defer close(t.done)
		if err := body(ctx); err != nil {
			select {
			case col.failed <- err:
			default: // the first failure ends the collector
			}
		}
	}()
}

// tick writes the collector's clock into the journal: the only way in which time reaches the slicers.
func (col *collector) tick(now time.Time) {
	if err := col.journal.AppendControl(&journal.Tick{TimeMs: now.UnixMilli()}); err != nil &&
		!errors.Is(err, journal.ErrClosed) {
		col.logger.Debug("writing a tick failed", "error", err)
	}
}

// eachSecond returns a task's body that does something once a second.
func eachSecond(do func(now time.Time)) func(context.Context) error {
	return func(ctx context.Context) error {
		poll.Ticks(ctx, time.Second, do)
		return nil
	}
}

// close lets no more in, brings what was taken into the store, and closes everything, within ctx. What does not get
// there in time is in the journal, and the next start brings it.
func (col *collector) close(ctx context.Context) error {
	end := func(tasks ...*task) {
		for _, t := range tasks {
			t.end(ctx)
		}
	}
	end(&col.reloading, &col.door, &col.clock, &col.releaser, &col.reclaimer, &col.storm)
	err := col.journal.Close()
	for _, reader := range []*task{&col.feeder, &col.registrar} {
		reader.wait(ctx) // the journal's end is its own
		reader.end(ctx)
	}
	col.endNetwork(ctx)
	for _, s := range col.sharing {
		s.task.end(ctx)
	}
	end(&col.page, &col.evaluator, &col.ownFigures, &col.abilities, &col.prof)
	return errors.Join(err, col.release(ctx))
}

// within closes something, for which it has a limited time, also once ctx has ended.
func within(ctx context.Context, limit time.Duration, closing func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return closing(ctx)
}

// release closes what is open, whether or not it ever ran.
func (col *collector) release(ctx context.Context) error {
	var errs []error
	if col.engine != nil {
		errs = append(errs, col.engine.Close())
	}
	if col.results != nil {
		errs = append(errs, col.unlessFull("results of rules", col.results.Close()))
	}
	if col.store != nil {
		errs = append(errs, col.unlessFull("the embedded store", col.store.Close(ctx)))
	}
	for _, n := range col.network {
		errs = append(errs, col.unlessFull("a store on the network", n.store.Close(ctx)))
	}
	for _, s := range col.sharing {
		errs = append(errs, col.unlessFull("annotations for other collectors", s.store.Close(ctx)))
	}
	if col.journal != nil {
		errs = append(errs, col.journal.Close())
	}
	for _, listener := range []net.Listener{col.grpcListener, col.httpListener, col.profiling} {
		if listener != nil {
			_ = listener.Close() // closed already where its server ran
		}
	}
	return errors.Join(errs...)
}

// unlessFull returns the error of closing a part, unless the disk is full: then the next start reads the rest from the
// journal.
func (col *collector) unlessFull(part string, err error) error {
	if err != nil && datadir.OnlyFull(err) {
		col.logger.Warn("closed without writing all data, because the disk is full; the next start reads the rest from the journal",
			"part", part, "error", err)
		return nil
	}
	return err
}

// end cancels the goroutine's context and waits for it.
func (t *task) end(ctx context.Context) {
	if t.cancel != nil {
		t.cancel()
		t.wait(ctx)
	}
}

func (t *task) wait(ctx context.Context) {
	if t.done == nil {
		return // it was never started
	}
	select {
	case <-t.done:
	case <-ctx.Done():
	}
}

// notStored are the metrics of a topology that the collector does not store, as the feed of its own store has them, or
// that of the first store on the network.
func (col *collector) notStored(topology string) ([]collection.NotStored, int) {
	if col.feed != nil {
		return col.feed.NotStored(topology)
	}
	for _, n := range col.network {
		return n.feed.NotStored(topology)
	}
	return nil, 0
}
