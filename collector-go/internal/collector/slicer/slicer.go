// Package slicer cuts samples into slices of event time. Journal entries go in, closed slices come out.
//
// A slice covers (start, end]. Its time is its end, and ends are multiples of its width since the Unix epoch. Each
// worker has its own watermark, so that a slow worker does not delay the slices of the others (source.go).
//
// # Data path
//
// The feed calls ObserveBatch, which adds the samples by Add and AddBlock. Tick advances the collector's clock. A
// sample takes these steps:
//
//   - input.go: the id of the sample identifies an input, which is a series as it was reported. The input has the rule
//     and the slot of the series in a series state.
//   - series_state.go: a series state holds the series of one worker that close together. Its buckets are the open
//     slices.
//   - source.go: the source is the worker. ObserveBatch and Tick advance its watermark, which decides which slices
//
// close.
//   - close.go: closing a bucket folds the samples of each slot in order of time (fold.go, distribution.go).
//   - slot.go and output.go: an output is a series as the store knows it. Its counter continues across restarts. A slot
//     is the part of the output that every slice needs.
//
// The result is appended to the columns that Closed returns. The caller hands them to a store and resets them.
//
// # Other parts
//
//   - block.go and layout.go add a whole block of samples at once. The results equal those of Add for each cell.
//   - health.go and clocks.go write metrics about the collection itself: missing, late and refused samples, clock skew.
//   - transfer.go moves the state of one topology between collectors. snapshot.go and restore.go save the whole state.
package slicer

import (
	"fmt"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Slicer is the state between two journal entries. One goroutine owns it; it has no locks.
//
// Everything that decides a value is in the Slicer or in the journal. A feed can therefore restore a snapshot, read the
// entries after it again, and give the store identical values. A call to time.Now, or a result that depends on the
// iteration order of a map, would break this.
type Slicer struct {
	options Options

	clockMs int64 // how long the collector has run, by its ticks; never decreases
	tickMs  int64 // the last tick; 0 before the first

	producers      map[uint32]*producer
	sources        []*source // in the order in which they were first seen
	byWorker       map[metric.Worker]*source
	inputs         inputs
	layouts        map[uint32]*layout
	topologyStates map[string]*topologyState // open samples and other shared state, by topology
	outputs        map[labels.Labels]*output
	topologies     map[string][]*info      // infos of each topology, by its name
	clocks         map[string]*slice.Clock // by host
	stepsBack      map[metric.Worker]StepBack
	nextRef        slice.Ref
	sweepMs        int64 // clockMs at the last sweep

	batch   batch
	open    int // samples in open slices
	pages   int // pages that hold them
	closed  slice.Columns
	counts  Counts
	scratch scratch
}

// batch is the state of the batch that is being added. The touched sources advance only at its end. The
// order of samples within a batch therefore does not decide which of them are late.
type batch struct {
	number     uint64 // number of batches so far, by which a source knows whether this batch touched it
	producer   *producer
	sequence   uint64
	inBlock    uint64 // 1 while a block's samples are added, else 0
	receivedMs int64  // 0 if unknown
	touched    []*source
}

// New returns an empty slicer. It fails if the options are invalid.
func New(o Options) (*Slicer, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("slicer options: %w", err)
	}
	return &Slicer{
		options:        o,
		producers:      make(map[uint32]*producer),
		byWorker:       make(map[metric.Worker]*source),
		layouts:        make(map[uint32]*layout),
		topologyStates: make(map[string]*topologyState),
		outputs:        make(map[labels.Labels]*output),
		topologies:     make(map[string][]*info),
		clocks:         make(map[string]*slice.Clock),
		stepsBack:      make(map[metric.Worker]StepBack),
		counts:         Counts{Refused: make(map[Reason]uint64)},
	}, nil
}

// Closed returns the slices that were closed since the caller last reset them.
func (s *Slicer) Closed() *slice.Columns { return &s.closed }

// Started records that the collector started. No producer is connected then.
func (s *Slicer) Started() {
	for _, p := range s.producers {
		p.connected = p.topology != nil
	}
}

// Connect records that a producer opened a stream.
func (s *Slicer) Connect(id uint32) {
	if p := s.producer(id); p.topology == nil {
		p.connected, p.connectedMs, p.ended = true, s.clockMs, false
	}
}

// Disconnect records that a producer's stream ended.
func (s *Slicer) Disconnect(id uint32) {
	if p := s.producer(id); p.topology == nil {
		p.connected = false
	}
}

// beginEpoch records which process of a producer sends the following batches. Each process numbers its batches from 1.
func (s *Slicer) beginEpoch(producer uint32, epoch [16]byte) {
	s.producer(producer).numbers.begin(epoch)
}

// Ended records that a producer sent its last batch, in order. Workers that only this producer reported then advance by
// the slicer's clock until they are heard again.
func (s *Slicer) Ended(producer uint32) { s.producer(producer).ended = true }

// beginBatch opens a batch. The caller then adds the samples in their order and calls endBatch.
func (s *Slicer) beginBatch(producer uint32, sequence uint64) {
	p := s.producer(producer)
	s.switchClocks(p.topology)
	p.sentMs, p.ended = s.clockMs, false
	s.batch.number++
	s.batch.producer, s.batch.sequence, s.batch.receivedMs = p, p.numbers.of(sequence), 0
	s.batch.touched = s.batch.touched[:0]
}

// Add adds one sample of the current batch. It returns false and counts nothing if the id is not defined. The caller
// then defines the series or counts the sample. If a sample is refused or late, Add counts it and returns true.
func (s *Slicer) Add(id uint32, timeMs int64, value float64) bool {
	in := s.inputs.get(id)
	if in == nil {
		return false
	}
	s.add(in, timeMs, value)
	return true
}

func (s *Slicer) add(in *input, timeMs int64, value float64) {
	switch {
	case in.refused != "":
		s.refuse(in, in.refused)
	case in.kind == metric.KindDistribution:
		s.refuse(in, RefusedShape)
	case !(value >= in.rule.Least && value <= in.rule.Most):
		s.nonsense(in, value)
	default:
		if b := s.place(in, timeMs); b != nil {
			o := s.batch.origin(timeMs)
			s.put(in.state, b, sample{timeMs, value, o.order, in.slot, o.producer})
			s.opened(in.state, 1)
			if in.rule.RestartsName != "" {
				in.state.source.starts.observe(int64(value/in.rule.PerUnit*1000), timeMs, s.clockMs)
			}
		}
	}
}

// place returns the open bucket of a sample. If there is none, it counts the sample under the reason and returns nil.
// Even a late sample counts as a sign of life of its worker. touch is therefore called before the checks for repeated
// and late samples.
func (s *Slicer) place(in *input, timeMs int64) *bucket {
	t := in.state
	switch {
	case timeMs <= 0 || timeMs > maxTimeMs:
		s.refuse(in, RefusedNonsense)
		return nil
	case s.left(t.source.topology) <= 0:
		s.refuse(in, RefusedOpenLimit)
		return nil
	}
	s.touch(t.source, timeMs)
	if reason, reachedMs := t.repeated(in.slot, s.batch.origin(timeMs)); reason != "" {
		s.refuseAt(in, timeMs, reachedMs, reason)
		return nil
	}
	if t.hot != nil && t.holds(t.hot, timeMs) {
		return t.hot
	}
	end := t.endOf(timeMs)
	if end <= t.closedTo {
		s.tooLate(in, timeMs)
		return nil
	}
	return s.bucket(t, end)
}

// tooLate counts a sample whose slice is closed. If the clock of its worker was set back past it, the sample is
// repeated.
func (s *Slicer) tooLate(in *input, timeMs int64) {
	if timeMs <= in.state.source.againMs {
		s.refuseAt(in, timeMs, in.state.source.againMs, RefusedRepeated)
		return
	}
	s.late(in, 1)
}

// refuseAt refuses a sample. For a repeated time it also records that the worker's clock was set back, from reachedMs.
func (s *Slicer) refuseAt(in *input, timeMs, reachedMs int64, reason Reason) {
	if reason == RefusedRepeated {
		in.state.source.again.note(timeMs, reachedMs)
		s.noteStepBack(in.state.source.worker, max(reachedMs-timeMs, 1))
	}
	s.refuse(in, reason)
}

// maxTimeMs is in the year 5138. Later times are refused as nonsense.
const maxTimeMs = 100_000_000_000_000

// endBatch advances each worker that the batch touched, and closes the slices that its watermark has passed.
func (s *Slicer) endBatch() {
	for _, src := range s.batch.touched {
		s.advance(src)
	}
	for _, src := range s.batch.touched {
		s.writeIntervals(src.topology)
	}
	s.switchClocks(s.batch.producer.topology)
}

// Tick advances the slicer's clock to a time of the collector. Ticks are journal entries, so a replay sees the same
// clock. The slicer's clock ignores steps backwards, and a step forwards counts as at most MaxTickStepMs. Otherwise a
// clock change would make every worker look silent at once.
func (s *Slicer) Tick(nowMs int64) {
	if s.tickMs != 0 {
		s.clockMs += min(max(nowMs-s.tickMs, 0), s.options.MaxTickStepMs)
	}
	s.tickMs = nowMs
	for _, src := range s.sources {
		if !src.topology.transfer.owned {
			s.advance(src)
		}
	}
	s.writeAllIntervals()
	if s.clockMs-s.sweepMs >= sweepEveryMs {
		s.sweepMs = s.clockMs
		s.sweep()
	}
}

// CloseAll closes every open slice and writes the health of the collection up to that time, as at the end of a replay.
func (s *Slicer) CloseAll() {
	for _, src := range s.sources {
		var newest int64
		for _, t := range src.states {
			if n := len(t.open); n > 0 {
				s.closeTo(t, t.open[n-1].endMs)
			}
			newest = max(newest, t.closedTo)
		}
		if s.options.Health.PeriodMs > 0 {
			s.writeHealth(src, newest)
		}
	}
	s.writeAllIntervals()
}

func (s *Slicer) writeAllIntervals() {
	for _, src := range s.sources {
		s.writeIntervals(src.topology)
	}
}
