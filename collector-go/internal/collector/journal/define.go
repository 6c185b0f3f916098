package journal

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Define returns the ID of a series, and assigns one to a new series. Definitions are written with the next batch, so
// Define does not wait for the disk.
//
// A series keeps its ID for as long as the journal remembers it. The journal forgets a series that was idle for a day.
// If Options.MaxSeries are in use, it forgets the longest idle ones after two hours. A series that comes back gets a
// new ID, and readers receive a Forgotten entry for the old one. Define returns ErrSeriesLimit if no ID can be freed.
func (j *Journal) Define(series metric.Raw) (SeriesID, error) {
	if id := j.DefineAll(nil, []metric.Raw{series}, 1)[0]; id != 0 {
		return id, nil
	}
	return 0, ErrSeriesLimit
}

// DefineAll defines several series in one critical section and appends their IDs. At most mostNew of them may be new,
// so that the caller can enforce its own limit for a topology. The ID is 0 for a series beyond mostNew, or beyond
// MaxSeries.
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

// define returns the ID of one series, or 0 if it has none and may not get one. The caller must hold mu.
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

// SeriesOf returns the number of defined series of a topology. Ingest uses it to give each topology a share of the
// limit.
func (j *Journal) SeriesOf(topology string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state.dict.ofTopology[topology]
}

// DefineLayout returns the ID of an ordered list of defined series. A layout lets a block name its columns with one
// number instead of one ID for each sample. The journal remembers a layout for as long as a series (see Define).
//
// The journal keeps the list, so the caller must not change it. ErrForgotten means that one of the series was
// forgotten. ErrLayoutLimit means that Options.MaxLayouts or MaxLayoutColumns are in use.
func (j *Journal) DefineLayout(series []SeriesID) (LayoutID, error) {
	if len(series) == 0 || len(series) > block.MaxColumns {
		return 0, fmt.Errorf("journal: layout has %d series; 1 to %d are allowed", len(series), block.MaxColumns)
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
	if !j.capacityForLayout(len(series)) {
		j.forgetLayouts(len(series))
	}
	if !j.capacityForLayout(len(series)) || j.state.nextLayout >= maxID {
		return 0, ErrLayoutLimit
	}
	row := j.state.dict.addLayout(layoutRow{LayoutDefined: LayoutDefined{ID: j.state.nextLayout, Series: series},
		usedHour: j.nowHour()})
	j.state.nextLayout++
	j.fresh.layouts = append(j.fresh.layouts, used[LayoutDefined]{&row.LayoutDefined, row.usedHour})
	j.showDictionary()
	return row.ID, nil
}

func (j *Journal) capacityForLayout(columns int) bool {
	return j.state.dict.knownLayouts < j.o.MaxLayouts && j.state.dict.columns+columns <= j.o.MaxLayoutColumns
}

// DefineProducer returns the ID of a producer; p.ID is ignored. The journal remembers a producer for as long as a
// series (see Define). It never forgets a producer that has an open stream (see AppendControl).
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

// noteStream counts the open streams of a producer, so that the producer is not forgotten while one is open. For a
// sender that moved here it also creates the epoch, so that a reconnect does not request the state again. The caller
// must hold mu.
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
		s.streams++
		row.usedHour = max(row.usedHour, e.TimeMs/hourMs)
	case *Disconnected:
		if row := s.dict.producers.get(uint32(e.Producer)); row != nil {
			if row.streams > 0 {
				row.streams--
				s.streams--
			}
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

// noStreams records that no producer is connected.
func (s *state) noStreams() {
	s.streams = 0
	for row := range s.dict.producers.all() {
		row.streams = 0
	}
}
