package journal

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Define gives a series its ID, the same for the same series for as long as the journal remembers it: until it has been
// idle for a day, or, where Options.MaxSeries are in use, for more than two hours and longer than others. A series that
// was forgotten gets a new ID, and readers a Forgotten of the old. ErrSeriesLimit where there is no room for it.
func (j *Journal) Define(series metric.Raw) (SeriesID, error) {
	if id := j.DefineAll(nil, []metric.Raw{series}, 1)[0]; id != 0 {
		return id, nil
	}
	return 0, ErrSeriesLimit
}

// DefineAll is Define for several series at once, of which mostNew at most may be new: it appends their IDs, 0 for one
// that is not defined since mostNew others were, or since there is no room.
func (j *Journal) DefineAll(to []SeriesID, series []metric.Raw, mostNew int) []SeriesID {
	j.mu.Lock()
	defer j.mu.Unlock()
	hour, before := j.nowHour(), j.state.nextSeries
	for i := range series {
		to = append(to, j.define(&series[i], hour, mostNew-int(j.state.nextSeries-before)))
	}
	if j.state.nextSeries != before {
		j.showDictionary()
	}
	return to
}

// define is the ID of one series, 0 where it has none and may get none. The caller holds mu.
func (j *Journal) define(series *metric.Raw, hour int64, mostNew int) SeriesID {
	d := j.state.dict
	hash := d.hashSeries(series)
	if row := d.seriesOf(series, hash); row != nil {
		row.usedHour = max(row.usedHour, hour)
		return row.ID
	}
	if mostNew <= 0 {
		return 0
	}
	if d.known >= j.o.MaxSeries {
		j.forgetSeries()
	}
	if d.known >= j.o.MaxSeries || j.state.nextSeries >= maxID {
		return 0
	}
	row := d.addSeries(seriesRow{SeriesDefined: SeriesDefined{ID: j.state.nextSeries, Series: *series}, usedHour: hour},
		hash)
	j.state.nextSeries++
	j.fresh.series = append(j.fresh.series, used[SeriesDefined]{&row.SeriesDefined, row.usedHour})
	return row.ID
}

func (j *Journal) nowHour() int64 { return j.state.nowMs / hourMs }

// SeriesOf is how many series of a topology are defined.
func (j *Journal) SeriesOf(topology string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state.dict.ofTopology[topology]
}

// LayoutsOf is how many layouts of a topology are defined, and how many columns they have together. A layout is of the
// topology of its first series.
func (j *Journal) LayoutsOf(topology string) (layouts, columns int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	count := j.state.dict.layoutsByName[topology]
	return count.layouts, count.columns
}

// DefineLayout gives an ordered list of defined series its ID, the same for the same list for as long as the journal
// remembers it (as long as a series, see Define). The list is kept; the caller must not change it. ErrForgotten when
// one of its series was forgotten, ErrLayoutLimit when Options.MaxLayouts or MaxLayoutColumns are in use.
func (j *Journal) DefineLayout(series []SeriesID) (LayoutID, error) {
	if len(series) == 0 || len(series) > block.MaxColumns {
		return 0, fmt.Errorf("journal: layout of %d series, from 1 to %d are allowed", len(series), block.MaxColumns)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if row := j.state.dict.layoutOf(series); row != nil {
		row.usedHour = max(row.usedHour, j.nowHour())
		return row.ID, nil
	}
	for _, id := range series {
		if err := j.state.useSeries(uint32(id), j.nowHour()); err != nil {
			return 0, err
		}
	}
	if !j.roomForLayout(len(series)) {
		j.forgetLayouts(len(series))
	}
	if !j.roomForLayout(len(series)) || j.state.nextLayout >= maxID {
		return 0, ErrLayoutLimit
	}
	row := j.state.dict.addLayout(layoutRow{LayoutDefined: LayoutDefined{ID: j.state.nextLayout, Series: series},
		usedHour: j.nowHour()})
	j.state.nextLayout++
	j.fresh.layouts = append(j.fresh.layouts, used[LayoutDefined]{&row.LayoutDefined, row.usedHour})
	j.showDictionary()
	return row.ID, nil
}

func (j *Journal) roomForLayout(columns int) bool {
	return j.state.dict.knownLayouts < j.o.MaxLayouts && j.state.dict.columns+columns <= j.o.MaxLayoutColumns
}

// DefineProducer gives a producer its ID; p.ID is ignored. It is remembered as a series is (see Define), and as long as
// it has a stream open (see Mark).
func (j *Journal) DefineProducer(p ProducerDefined) (ProducerID, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if row := j.state.dict.byProducer[p.place()]; row != nil {
		row.usedHour = max(row.usedHour, j.nowHour())
		return row.ID, nil
	}
	if len(j.state.dict.byProducer) >= j.o.MaxProducers {
		j.forgetProducers()
	}
	if len(j.state.dict.byProducer) >= j.o.MaxProducers || j.state.nextProducer >= maxID {
		return 0, ErrProducerLimit
	}
	p.ID = j.state.nextProducer
	row := j.state.dict.addProducer(producerRow{ProducerDefined: p, usedHour: j.nowHour()})
	j.state.nextProducer++
	j.fresh.producers = append(j.fresh.producers, used[ProducerDefined]{&row.ProducerDefined, row.usedHour})
	j.showDictionary()
	return row.ID, nil
}

// noteStream keeps a producer while it has a stream open, and the epoch of one that moved. The caller holds mu.
func (s *state) noteStream(e Entry) error {
	switch e := e.(type) {
	case *Started:
		s.noStreams()
	case *Connected:
		row := s.dict.producers.get(uint32(e.Producer))
		if row == nil || row.gone {
			return missing("producer", uint32(e.Producer), uint32(s.nextProducer))
		}
		row.streams++
		row.usedHour = max(row.usedHour, e.TimeMs/hourMs)
	case *Disconnected:
		if row := s.dict.producers.get(uint32(e.Producer)); row != nil {
			row.streams = max(row.streams-1, 0)
			row.usedHour = max(row.usedHour, e.TimeMs/hourMs)
		}
	case *Moved:
		row := s.dict.producers.get(uint32(e.Producer))
		if row == nil || row.gone {
			return missing("producer", uint32(e.Producer), uint32(s.nextProducer))
		}
		h := s.epochs.of(origin{epoch: e.Epoch, topology: row.Topology})
		h.seenMs = max(h.seenMs, e.TimeMs)
	}
	return nil
}

// noStreams notes that no producer is connected.
func (s *state) noStreams() {
	for row := range s.dict.producers.all() {
		row.streams = 0
	}
}
