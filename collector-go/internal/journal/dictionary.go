package journal

import (
	"encoding/binary"
	"slices"
	"unique"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

const (
	rowsPerRecord  = 4096 // of a head; keeps a record well under maxRecordBytes
	hourMs         = 3_600_000
	idleSeriesMs   = 24 * hourMs
	copiesOnDisk   = 2 // of each definition, in records of their own
	minSeriesBytes = 13
	maxID          = 1 << 26 // of series and producers: the dictionary is an array
)

// seriesRow is a series as the dictionary has it.
type seriesRow struct {
	SeriesDefined
	usedHour int64 // last use, hours since the Unix epoch
}

// dictionary gives series and producers their ids.
type dictionary struct {
	series     []*seriesRow // by id; nil where the id is not (or no longer) known
	known      int
	ofTopology map[string]int // known series by topology
	bySeries   map[metric.Raw]SeriesID
	producers  []*ProducerDefined // by id
	byProducer map[ProducerDefined]ProducerID
}

func newDictionary() *dictionary {
	return &dictionary{
		series:     make([]*seriesRow, 1), // ids start at 1
		ofTopology: map[string]int{},
		bySeries:   map[metric.Raw]SeriesID{},
		producers:  make([]*ProducerDefined, 1),
		byProducer: map[ProducerDefined]ProducerID{},
	}
}

// addSeries takes a row under the id that it has.
func (d *dictionary) addSeries(row seriesRow) {
	row.Series = interned(row.Series)
	for len(d.series) <= int(row.ID) {
		d.series = append(d.series, nil)
	}
	if d.series[row.ID] == nil {
		d.known++
		d.ofTopology[row.Series.Topology]++
	}
	d.series[row.ID] = &row
	d.bySeries[row.Series] = row.ID
}

// interned lets series share their strings: a worker's host is in thousands of them.
func interned(r metric.Raw) metric.Raw {
	for _, s := range []*string{&r.Topology, &r.Host, &r.Component, &r.Name, &r.Key} {
		*s = unique.Make(*s).Value()
	}
	return r
}

// addProducer takes a row under the id that it has.
func (d *dictionary) addProducer(p ProducerDefined) {
	for len(d.producers) <= int(p.ID) {
		d.producers = append(d.producers, nil)
	}
	d.producers[p.ID] = &p
	d.byProducer[p.place()] = p.ID
}

// place is a producer less its id.
func (p ProducerDefined) place() ProducerDefined {
	p.ID = 0
	return p
}

func (d *dictionary) hasSeries(id SeriesID) bool {
	return int(id) < len(d.series) && d.series[id] != nil
}

func (d *dictionary) hasProducer(id ProducerID) bool {
	return int(id) < len(d.producers) && d.producers[id] != nil
}

// covers says whether all that a batch refers to is defined.
func (d *dictionary) covers(b *Batch) bool {
	if !d.hasProducer(b.Producer) {
		return false
	}
	for _, id := range b.IDs {
		if !d.hasSeries(id) {
			return false
		}
	}
	for _, h := range b.Histograms {
		if !d.hasSeries(SeriesID(h.GetSeriesId())) {
			return false
		}
	}
	return true
}

// touch notes that a batch used its series.
func (d *dictionary) touch(b *Batch) {
	hour := b.ReceivedMs / hourMs
	for _, id := range b.IDs {
		d.series[id].usedHour = hour
	}
	for _, h := range b.Histograms {
		d.series[h.GetSeriesId()].usedHour = hour
	}
}

// forgetIdle drops the series that nobody used for a day before nowMs, and returns how many. Their ids are not used again.
func (d *dictionary) forgetIdle(nowMs int64) int {
	forgotten := 0
	for id, row := range d.series {
		if row != nil && row.usedHour < (nowMs-idleSeriesMs)/hourMs {
			delete(d.bySeries, row.Series)
			d.ofTopology[row.Series.Topology]--
			d.series[id] = nil
			forgotten++
		}
	}
	d.known -= forgotten
	return forgotten
}

// rows are the known series, in order of their ids.
func (d *dictionary) rows() []*seriesRow {
	rows := make([]*seriesRow, 0, d.known)
	for _, row := range d.series {
		if row != nil {
			rows = append(rows, row)
		}
	}
	return rows
}

// producerRows are the known producers, in order of their ids.
func (d *dictionary) producerRows() []*ProducerDefined {
	return slices.DeleteFunc(slices.Clone(d.producers), func(p *ProducerDefined) bool { return p == nil })
}

// strings is the string table of a series record.
type stringTable struct {
	index map[string]uint64
	list  []string
}

func (t *stringTable) of(s string) uint64 {
	i, ok := t.index[s]
	if !ok {
		i = uint64(len(t.list))
		t.index[s] = i
		t.list = append(t.list, s)
	}
	return i
}

// encodeSeries is the payload of a series record.
func encodeSeries(rows []*seriesRow) []byte {
	table := stringTable{index: map[string]uint64{}}
	var body []byte
	var before int64
	for _, row := range rows {
		body = binary.AppendVarint(body, int64(row.ID)-before)
		before = int64(row.ID)
		body = appendSeriesRow(body, row, &table)
	}
	payload := binary.AppendUvarint(nil, uint64(len(table.list)))
	for _, s := range table.list {
		payload = appendString(payload, s)
	}
	payload = binary.AppendUvarint(payload, uint64(len(rows)))
	return append(payload, body...)
}

func appendSeriesRow(to []byte, row *seriesRow, table *stringTable) []byte {
	r := row.Series
	for _, s := range []string{r.Topology, r.Host, r.Component, r.Name, r.Key} {
		to = binary.AppendUvarint(to, table.of(s))
	}
	to = binary.AppendUvarint(to, uint64(r.Port))
	to = binary.AppendVarint(to, int64(r.Task))
	to = append(to, byte(r.Shape), byte(r.Temporality))
	to = binary.AppendVarint(to, r.IntervalMs)
	to = binary.AppendVarint(to, r.PackSpanMs)
	return binary.AppendUvarint(to, uint64(max(row.usedHour, 0)))
}

// decodeSeries is the inverse of encodeSeries.
func decodeSeries(payload []byte) ([]seriesRow, error) {
	c := &cursor{rest: payload}
	table := make([]string, c.count(1))
	for i := range table {
		table[i] = c.string()
	}
	rows := make([]seriesRow, c.count(minSeriesBytes))
	var before int64
	for i := range rows {
		before += c.varint()
		if before <= 0 || before >= maxID {
			c.fail()
		}
		rows[i] = seriesRow{SeriesDefined: SeriesDefined{ID: SeriesID(before), Series: decodeRaw(c, table)}}
		rows[i].usedHour = int64(c.uvarint())
	}
	return rows, c.done()
}

func decodeRaw(c *cursor, table []string) metric.Raw {
	text := func() string {
		i := c.uvarint()
		if i >= uint64(len(table)) {
			c.fail()
			return ""
		}
		return table[i]
	}
	var r metric.Raw
	r.Topology, r.Host, r.Component, r.Name, r.Key = text(), text(), text(), text(), text()
	r.Port = c.uint32()
	r.Task = c.int32()
	r.Shape, r.Temporality = metric.Shape(c.byte()), metric.Temporality(c.byte())
	r.IntervalMs, r.PackSpanMs = c.varint(), c.varint()
	return r
}

// encodeProducers is the payload of a producers record.
func encodeProducers(rows []*ProducerDefined) []byte {
	payload := binary.AppendUvarint(nil, uint64(len(rows)))
	for _, p := range rows {
		payload = binary.AppendUvarint(payload, uint64(p.ID))
		payload = appendString(payload, p.Topology)
		payload = appendString(payload, p.TopologyID)
		payload = appendString(payload, p.Host)
		payload = binary.AppendUvarint(payload, uint64(p.Port))
		payload = binary.AppendVarint(payload, int64(p.Task))
	}
	return payload
}

// decodeProducers is the inverse of encodeProducers.
func decodeProducers(payload []byte) ([]ProducerDefined, error) {
	c := &cursor{rest: payload}
	rows := make([]ProducerDefined, c.count(6))
	for i := range rows {
		rows[i] = ProducerDefined{ID: ProducerID(c.uint32()), Topology: c.string(), TopologyID: c.string(), Host: c.string(),
			Port: c.uint32(), Task: c.int32()}
		if rows[i].ID == 0 || rows[i].ID >= maxID {
			c.fail()
		}
	}
	return rows, c.done()
}
