package slicer

import (
	"cmp"
	"math"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// topologyState is the state that all workers of one topology share: how much memory its open samples use, its
// descriptions, and how often its metrics are reported. Open samples are counted per topology. One topology with a
// flood of samples therefore cannot use up MaxOpenSamples and make the slicer refuse samples of the others (see left).
type topologyState struct {
	name string

	open  int // samples
	pages int
	infos []*info   // as in topologies
	sole  *producer // sends all samples of the plugin (SoleSender); nil if unknown

	intervals []*interval // in order of the metrics' names
	writtenMs int64       // end of the newest period that one of its workers wrote
	dueMs     int64       // when the first of the intervals must be written

	transfer transfer
}

// interval states how often a topology's metric is reported, in milliseconds, by the series of it that was defined
// last. It is written when it changes, and otherwise once an hour.
type interval struct {
	metric     string
	intervalMs int64
	healthSeries
}

// reports records how often a metric of the topology is reported. A change makes the next period write it.
func (r *topologyState) reports(name string, everyMs int64) {
	at, found := slices.BinarySearchFunc(r.intervals, name, func(i *interval, name string) int {
		return cmp.Compare(i.metric, name)
	})
	if !found {
		r.intervals = slices.Insert(r.intervals, at, &interval{metric: name})
	}
	if i := r.intervals[at]; i.intervalMs != everyMs {
		i.intervalMs, r.dueMs = everyMs, 0
	}
}

// writeIntervals writes the intervals that changed, and each interval once an hour. It runs after the workers have
// written, so that their order does not matter.
func (s *Slicer) writeIntervals(r *topologyState) {
	if r.writtenMs == 0 || r.writtenMs < r.dueMs {
		return
	}
	r.dueMs = math.MaxInt64
	for place, i := range r.intervals {
		turn := int64(place) * s.options.Health.PeriodMs
		hour := func(ms int64) int64 { return (ms + turn) / refreshMs }
		v := float64(i.intervalMs) / 1000
		if r.writtenMs > i.lastEnd && (v != i.value || hour(r.writtenMs) > hour(i.lastEnd)) {
			s.writeValue(&i.healthSeries, about{topology: r.name, name: s.options.Health.Names.Interval,
				metric: i.metric, kind: metric.KindGauge}, r.writtenMs, v)
		}
		if v != i.value { // it is too early, because there is already a value at that time
			r.dueMs = 0
		}
		r.dueMs = min(r.dueMs, (hour(i.lastEnd)+1)*refreshMs-turn)
	}
}

// topologyState finds the state of a topology, or makes one. A new one takes over the infos that describe the topology.
func (s *Slicer) topologyState(topology string) *topologyState {
	r := s.topologyStates[topology]
	if r == nil {
		r = &topologyState{name: topology, infos: s.topologies[topology]}
		s.topologyStates[topology] = r
	}
	return r
}

// opened adds to the number of open samples of a series state. samples is negative if samples are no longer open.
func (s *Slicer) opened(t *seriesState, samples int) {
	s.open += samples
	t.source.topology.open += samples
	if samples > 0 {
		t.source.takenMs = s.clockMs
	}
}

// shareOfFree bounds the open samples of a topology to this many times the samples that are still free. A topology that
// is alone can therefore use two thirds of MaxOpenSamples. The rest stays free for a topology that joins later.
const shareOfFree = 2

// left returns how many more samples of a topology may be open. It is 0 or less if there may be none. See shareOfFree.
func (s *Slicer) left(r *topologyState) int {
	free := s.options.MaxOpenSamples - s.open
	return min((shareOfFree*free-r.open+shareOfFree)/(1+shareOfFree), s.options.MaxTopologyOpenSamples-r.open)
}
