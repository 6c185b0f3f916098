package feed

import (
	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slicer"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// pipeline is a feed without files: journal entries go in, closed slices come out. It has no clock and does no I/O. The
// same code therefore runs in normal operation, when catching up and after a crash. The same entries always give the
// same slices.
//
// The feed's goroutine owns it. It asks the catalog what a series is, and gives the samples to the slicer. The catalog
// and the slicer do not know each other.
type pipeline struct {
	catalog   *catalog.State
	slicer    *slicer.Slicer
	producers map[journal.ProducerID]journal.ProducerDefined
	stats     *stats
	values    []float64        // decoded values of the current block, for reuse
	info      slicer.BatchInfo // of the current batch, for reuse
	reached   map[string]*reach
}

func newPipeline(o Options) (*pipeline, error) {
	s, err := slicer.New(o.Slicer)
	if err != nil {
		return nil, err
	}
	return &pipeline{
		catalog:   catalog.NewState(o.Catalog),
		slicer:    s,
		producers: map[journal.ProducerID]journal.ProducerDefined{},
		stats:     newStats(),
		reached:   map[string]*reach{},
	}, nil
}

// closed returns the slices closed so far. The caller hands them to the store and resets them. A snapshot may be taken
// only after that.
func (p *pipeline) closed() *slice.Columns { return p.slicer.Closed() }

// apply applies one entry of the journal. It must not fail because of an entry's content: the entry was acknowledged
// when it was journaled. Content that cannot be used is counted under a reason.
func (p *pipeline) apply(entry journal.Entry) {
	switch e := entry.(type) {
	case *journal.SeriesDefined:
		p.change(p.catalog.Define(uint32(e.ID), &e.Series))
	case *journal.LayoutDefined:
		p.slicer.DefineLayout(uint32(e.ID), ids(e.Series))
	case *journal.Forgotten:
		p.forget(e)
	case *journal.ProducerDefined:
		p.producers[e.ID] = *e
	case *journal.Connected:
		if producer, known := p.producers[e.Producer]; known {
			p.change(p.catalog.TopologyStarted(producer.Topology, producer.TopologyID))
		}
		p.slicer.Connect(uint32(e.Producer))
		p.mayDrop(e.Producer)
	case *journal.Disconnected:
		p.slicer.Disconnect(uint32(e.Producer))
	case *journal.Moved:
		p.moved(e)
	case *journal.Started:
		p.slicer.Started()
	case *journal.Batch:
		p.batch(e)
	case *journal.Tick:
		p.slicer.Tick(e.TimeMs)
	}
}

// change applies decisions of the catalog to the slicer. The catalog counts the samples of a retracted series, because
// the slicer no longer has them.
func (p *pipeline) change(changes []catalog.Change) {
	for _, c := range changes {
		switch c.Verdict.Outcome {
		case catalog.Stored:
			p.slicer.Define(c.ID, c.Rule)
		case catalog.Inactive:
			p.slicer.Detach(c.ID)
		default:
			p.catalog.CountRetracted(c.ID, p.slicer.Retract(c.ID))
		}
	}
}

// batch adds a batch to the slicer.
func (p *pipeline) batch(b *journal.Batch) {
	p.stats.read += uint64(b.Samples())
	if b.Notes != nil {
		p.notes(b)
	}
	p.slicer.ObserveBatch(p.batchInfo(b), func() {
		for i, id := range b.IDs {
			if p.defined(uint32(id)) {
				p.slicer.Add(uint32(id), b.TimesMs[i], b.Values[i])
			}
		}
		for i := range b.Blocks {
			p.block(&b.Blocks[i])
		}
		for _, sample := range b.Histograms {
			p.histogram(sample)
		}
	})
	p.reach(b)
	if b.Notes.GetClosing() {
		p.slicer.Ended(uint32(b.Producer))
	}
}

// batchInfo returns what the slicer must know of a batch. It is valid until the next call.
func (p *pipeline) batchInfo(b *journal.Batch) *slicer.BatchInfo {
	producer := p.producers[b.Producer]
	read := b.Notes.GetClocks()
	p.info = slicer.BatchInfo{
		Producer: uint32(b.Producer), Sender: placeOf(&producer), Epoch: b.Epoch, Sequence: b.Sequence,
		FirstSentMs: b.Notes.GetFirstSendTimeMs(), SentMs: b.SentMs, ReceivedMs: b.ReceivedMs,
		AnswerSentMs: read.GetAcknowledgementSentTimeMs(), AnswerCameMs: read.GetAcknowledgedTimeMs(),
		HandOvers: p.info.HandOvers[:0],
	}
	for _, w := range read.GetWorkers() {
		p.info.HandOvers = append(p.info.HandOvers, slicer.HandOver{
			Worker: metric.Worker{Topology: producer.Topology, Host: w.GetHost(), Port: w.GetPort()},
			SentMs: w.GetHandOverTimeMs(), TakenMs: w.GetTakenTimeMs()})
	}
	return &p.info
}

// block adds the samples of a block. It decodes the values into a buffer that is reused.
func (p *pipeline) block(b *journal.Block) {
	p.values = b.Floats(p.values[:0])
	if !p.slicer.AddBlock(uint32(b.Layout), &b.Block, p.values, p.define) {
		p.stats.unknownLayouts += uint64(b.Samples())
	}
}

// forget drops the state of ids that the journal has released. A series that was overruled by a forgotten one is stored
// from then on.
func (p *pipeline) forget(e *journal.Forgotten) {
	for _, layout := range e.Layouts {
		p.slicer.ForgetLayout(uint32(layout))
	}
	series := ids(e.Series)
	for _, id := range series {
		p.slicer.Detach(id)
	}
	p.change(p.catalog.Forget(series))
	for _, producer := range e.Producers {
		delete(p.producers, producer)
	}
}

// ids converts the journal's series ids to those of the catalog and the slicer.
func ids(series []journal.SeriesID) []uint32 {
	all := make([]uint32, len(series))
	for i, id := range series {
		all[i] = uint32(id)
	}
	return all
}

// defined reports whether the slicer has the series of a sample. If it does not, it asks the catalog.
func (p *pipeline) defined(id uint32) bool { return p.slicer.Defined(id) || p.define(id, 1) }

// define asks the catalog about samples whose series the slicer does not have. It reports whether they are to be added.
func (p *pipeline) define(id uint32, samples int) bool {
	verdict, changes := p.catalog.JudgeSamples(id, samples)
	p.change(changes)
	// a metric name of the topology itself collides with another: report it in the health of its worker
	if verdict.Reason == catalog.ReasonCollision {
		if rule, known := p.catalog.Rule(id); known {
			p.slicer.Refused(rule, slicer.RefusedCollision, samples)
		}
	}
	return verdict.Outcome == catalog.Stored
}

func (p *pipeline) histogram(sample *bulletmetricsv1.HistogramSample) {
	h, err := catalog.Histogram(sample)
	if err != nil {
		p.stats.badHistograms++ // ingest refuses these; this one was journaled by an older collector
		return
	}
	if id := sample.GetSeriesId(); p.defined(id) {
		p.slicer.AddHistogram(id, sample.GetTimeMs(), h, sample.GetNegativeCount())
	}
}

// notes applies what a producer reports in addition to its samples.
func (p *pipeline) notes(b *journal.Batch) {
	producer := p.producers[b.Producer]
	sender := placeOf(&producer)
	if info := b.Notes.GetTopology(); info != nil {
		p.change(p.catalog.Describe(producer.Topology, info.GetId(), catalog.FactsOf(info)))
		p.slicer.SoleSender(uint32(b.Producer), producer.Topology, catalog.SoleSender(info))
		p.slicer.Describe(sender, catalog.TopologyInfo(producer.Topology, info))
	}
	for _, info := range b.Notes.GetWorkers() {
		worker, series := catalog.WorkerInfo(producer.Topology, info)
		p.slicer.Describe(worker, series)
	}
	for _, drop := range b.Notes.GetDrops() {
		reason, added := p.stats.dropped(b.Epoch, producer.Topology, drop)
		p.slicer.Dropped(sender, reason, added)
	}
}

func placeOf(p *journal.ProducerDefined) metric.Worker {
	return metric.Worker{Topology: p.Topology, Host: p.Host, Port: p.Port}
}

// mayDrop makes a producer's drop counters start at 0, so that the first drop shows as an increase.
func (p *pipeline) mayDrop(id journal.ProducerID) {
	producer, known := p.producers[id]
	if !known {
		return
	}
	for code := range bulletmetricsv1.DropReason_name {
		if reason := bulletmetricsv1.DropReason(code); reason != bulletmetricsv1.DropReason_DROP_REASON_UNSPECIFIED {
			p.slicer.Dropped(placeOf(&producer), reasonName(reason), 0)
		}
	}
}
