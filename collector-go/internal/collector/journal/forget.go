package journal

import (
	"encoding/binary"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

const (
	idleHours     = 24     // after which series, layouts and producers are forgotten
	crowdIdleHour = 2      // after which they may be forgotten if a limit is reached
	pressedMs     = 60_000 // between two searches for idle rows while a limit is reached
	freedPart     = 16     // at least 1/16 of a limit is freed, if that much is idle
)

// encodeForgotten returns the payload of a forgotten record.
func encodeForgotten(f *Forgotten) []byte {
	payload := appendIDs(nil, f.Series)
	payload = appendIDs(payload, f.Layouts)
	payload = appendIDs(payload, f.Producers)
	return binary.AppendVarint(payload, f.TimeMs)
}

// decodeForgotten is the inverse of encodeForgotten.
func decodeForgotten(payload []byte) (*Forgotten, error) {
	c := varint.Of(payload)
	f := &Forgotten{Series: decodeIDs[SeriesID](&c), Layouts: decodeIDs[LayoutID](&c),
		Producers: decodeIDs[ProducerID](&c)}
	f.TimeMs = c.Int()
	return f, payloadError(c.Done())
}

func (f *Forgotten) empty() bool { return len(f.Series)+len(f.Layouts)+len(f.Producers) == 0 }

// before contains hours since the Unix epoch. Rows that were last used before them are forgotten.
type before struct{ series, layouts, producers int64 }

// idle returns the ids that were last used before the given hours. A layout keeps its series in use, and is forgotten
// no later than they are. Otherwise a layout could list a series that no longer exists.
func (d *dictionary) idle(b before, nowHour int64) *Forgotten {
	d.useSeriesOfLayouts()
	f := &Forgotten{}
	for row := range d.series.all() {
		row.usedHour = known(row.usedHour, nowHour)
		if !row.gone && row.usedHour < b.series {
			f.Series = append(f.Series, row.ID)
		}
	}
	for row := range d.layouts.all() {
		row.usedHour = known(row.usedHour, nowHour)
		if !row.gone && row.usedHour < max(b.series, b.layouts) {
			f.Layouts = append(f.Layouts, row.ID)
		}
	}
	for row := range d.producers.all() {
		row.usedHour = known(row.usedHour, nowHour)
		if !row.gone && row.streams == 0 && row.usedHour < b.producers {
			f.Producers = append(f.Producers, row.ID)
		}
	}
	return f
}

// known returns the hour of last use. A row from before the journal had a clock counts as used now, so that it is not
// forgotten at once.
func known(usedHour, nowHour int64) int64 {
	if usedHour == 0 {
		return nowHour
	}
	return usedHour
}

// useSeriesOfLayouts sets the hours of last use of series to at least those of their layouts.
func (d *dictionary) useSeriesOfLayouts() {
	for layout := range d.layouts.all() {
		for _, id := range layout.Series {
			if row := d.series.get(uint32(id)); row != nil && row.usedHour < layout.usedHour {
				row.usedHour = layout.usedHour
			}
		}
	}
}

// retire marks forgotten ids as gone, so that they can no longer be looked up. Their rows stay until drop, which runs
// when the Forgotten record is durable.
func (d *dictionary) retire(f *Forgotten) {
	for _, id := range f.Layouts { // before their series, which determine their topology
		row := d.layouts.get(uint32(id))
		if row == nil || row.gone {
			continue
		}
		row.gone = true
		d.countLayout(row, -1)
		hash := d.hash(row.Series)
		d.byLayout[hash] = slices.DeleteFunc(d.byLayout[hash], func(other *layoutRow) bool { return other == row })
		if len(d.byLayout[hash]) == 0 {
			delete(d.byLayout, hash)
		}
	}
	for _, id := range f.Series {
		row := d.series.get(uint32(id))
		if row == nil || row.gone {
			continue
		}
		row.gone = true
		d.known--
		d.unlist(row)
		topology := row.Series.Topology
		if d.ofTopology[topology]--; d.ofTopology[topology] == 0 {
			delete(d.ofTopology, topology)
		}
	}
	for _, id := range f.Producers {
		row := d.producers.get(uint32(id))
		if row == nil || row.gone {
			continue
		}
		row.gone = true
		if d.byProducer[row.place()] == row {
			delete(d.byProducer, row.place())
		}
	}
}

// drop frees the rows of forgotten ids. It runs when the Forgotten record is durable, because the header of a segment
// that starts earlier must still define them.
func (d *dictionary) drop(f *Forgotten) {
	d.retire(f)
	for _, id := range f.Layouts {
		d.layouts.drop(uint32(id))
	}
	for _, id := range f.Series {
		d.series.drop(uint32(id))
	}
	for _, id := range f.Producers {
		d.producers.drop(uint32(id))
	}
}

// forgetIdle forgets everything that was idle for a day. The caller must hold mu.
func (j *Journal) forgetIdle() {
	hour := j.state.nowMs/hourMs - idleHours
	j.forget(before{hour, hour, hour})
}

// forget retires the rows that were last used before the given hours, and queues the Forgotten record. The caller must
// hold mu.
func (j *Journal) forget(b before) {
	j.retireIDs(j.state.dict.idle(b, j.nowHour()))
}

// retireIDs retires idle ids and queues the Forgotten record. The record is written twice, because a reader that missed
// it would keep the ids forever. The caller must hold mu.
func (j *Journal) retireIDs(f *Forgotten) {
	if f.empty() {
		return
	}
	f.TimeMs = j.state.nowMs
	j.state.dict.retire(f)
	j.log.Info("journal removed idle definitions", "series", len(f.Series), "layouts", len(f.Layouts), "producers",
		len(f.Producers))
	for what, n := range map[string]int{"series": len(f.Series), "layout": len(f.Layouts),
		"producer": len(f.Producers)} {
		j.figures.forgotten.WithLabelValues(what).Add(float64(n))
	}
	j.showDictionary()
	payload := encodeForgotten(f)
	for range copiesOnDisk {
		j.enqueue(queued{kind: kindForgotten, payload: payload, entry: f})
	}
}

// pressure limits how often a full dictionary is searched for idle rows. Each search visits the whole dictionary, so a
// flood of new series must not cause one for each of them.
type pressure struct{ lookedMs int64 }

// due reports whether to search again now.
func (p *pressure) due(nowMs int64) bool {
	if p.lookedMs != 0 && nowMs >= p.lookedMs && nowMs-p.lookedMs < pressedMs {
		return false
	}
	p.lookedMs = max(nowMs, 1)
	return true
}

// idleRow is the hour of a row's last use, and how much forgetting the row would free.
type idleRow struct {
	hour   int64
	weight int
}

// longestIdle returns the hour before which rows of at least the needed weight were last used. If too few rows are
// idle, it returns an hour that covers all of them.
func longestIdle(rows []idleRow, need int) int64 {
	slices.SortFunc(rows, func(a, b idleRow) int { return int(a.hour - b.hour) })
	hour := int64(0)
	for _, row := range rows {
		if need <= 0 && row.hour+1 > hour {
			break
		}
		hour = row.hour + 1
		need -= row.weight
	}
	return hour
}

// forgetSeries frees series at the limit, the longest idle first. It frees at least a sixteenth of the limit if that
// much is idle, so that the next new series need not search again. The caller must hold mu.
func (j *Journal) forgetSeries() {
	if !j.pressedSeries.due(j.state.nowMs) {
		return
	}
	d, latest := j.state.dict, j.crowdHour()
	d.useSeriesOfLayouts()
	var rows []idleRow
	for row := range d.series.all() {
		if !row.gone && row.usedHour < latest {
			rows = append(rows, idleRow{row.usedHour, 1})
		}
	}
	j.forget(before{series: longestIdle(rows, 1+j.o.MaxSeries/freedPart)})
}

// forgetLayouts frees layouts at the limit, as forgetSeries frees series. Layouts are weighed by their columns, because
// these take most of the memory. The caller must hold mu.
func (j *Journal) forgetLayouts(columns int) {
	if !j.pressedLayouts.due(j.state.nowMs) {
		return
	}
	latest := j.crowdHour()
	var rows []idleRow
	for row := range j.state.dict.layouts.all() {
		if !row.gone && row.usedHour < latest {
			rows = append(rows, idleRow{row.usedHour, len(row.Series)})
		}
	}
	j.forget(before{layouts: longestIdle(rows, columns+j.o.MaxLayoutColumns/freedPart)})
}

// forgetProducers frees producers at the limit. A producer with an open stream is in use, however long it was silent.
// The caller must hold mu.
func (j *Journal) forgetProducers() {
	if !j.pressedProducers.due(j.state.nowMs) {
		return
	}
	latest := j.crowdHour()
	var rows []idleRow
	for row := range j.state.dict.producers.all() {
		if !row.gone && row.streams == 0 && row.usedHour < latest {
			rows = append(rows, idleRow{row.usedHour, 1})
		}
	}
	j.forget(before{producers: longestIdle(rows, 1+j.o.MaxProducers/freedPart)})
}

// crowdHour returns the hour before which idle rows may be forgotten in favour of new ones.
func (j *Journal) crowdHour() int64 { return j.state.nowMs/hourMs - crowdIdleHour }

// FreeSeries returns how many more series can be defined before Options.MaxSeries are in use.
func (j *Journal) FreeSeries() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return max(j.o.MaxSeries-j.state.dict.known, 0)
}

// ForgetIdle forgets the series of a topology, and their layouts, that were idle for more than two hours. It returns
// the number of these series. "" stands for all topologies. It visits the whole dictionary, so call it only at a limit.
func (j *Journal) ForgetIdle(topology string) (series int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return 0
	}
	d := j.state.dict
	latest := j.crowdHour()
	f := d.idle(before{series: latest}, j.nowHour())
	if topology != "" {
		f = d.ofTopologyOnly(f, topology)
	}
	j.retireIDs(f)
	return len(f.Series)
}

// ofTopologyOnly returns the idle series and layouts of one topology. Producers are left out, because they do not count
// for a topology's limit.
func (d *dictionary) ofTopologyOnly(f *Forgotten, topology string) *Forgotten {
	part := &Forgotten{}
	for _, id := range f.Series {
		if d.series.get(uint32(id)).Series.Topology == topology {
			part.Series = append(part.Series, id)
		}
	}
	for _, id := range f.Layouts {
		if d.layouts.get(uint32(id)).topology == topology {
			part.Layouts = append(part.Layouts, id)
		}
	}
	return part
}
