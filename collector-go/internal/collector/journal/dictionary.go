package journal

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"unique"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

const (
	rowsPerRecord = 4096 // of a segment header; it keeps a record far below maxRecordBytes
	hourMs        = 3_600_000
	copiesOnDisk  = 2 // of each definition, in separate records
)

// seriesRow is a series in the dictionary. The embedded SeriesDefined never changes, because readers share it without a
// lock. usedHour has a resolution of one hour, so that a batch rarely writes to the rows that it uses.
type seriesRow struct {
	SeriesDefined
	usedHour int64    // last use, hours since the Unix epoch
	twin     SeriesID // the next row with the same hash; 0 if there is none
	gone     bool     // forgotten, although the Forgotten record is not durable yet
}

// layoutRow is a layout in the dictionary. The embedded LayoutDefined never changes, because readers share it. A layout
// counts for the topology of its first series.
type layoutRow struct {
	LayoutDefined
	topology string // of its first series
	usedHour int64
	gone     bool
}

// producerRow is a producer in the dictionary. It is not forgotten while it has an open stream, however long it is
// silent, because its Disconnected entry will still refer to it.
type producerRow struct {
	ProducerDefined
	usedHour int64
	streams  int // number of open streams
	gone     bool
}

// dictionary assigns ids to series, layouts and producers. A forgotten row is first marked as gone and stays until drop
// is called. Until then, queued batches may refer to it, and a segment header must still define it for them.
//
// The dictionary of a large collector has 500,000 series, so it is optimised for memory. Series are found by a hash and
// not by a map with the whole series as its key. Their strings are shared. The dictionary is protected by Journal.mu.
type dictionary struct {
	series    byID[seriesRow]
	layouts   byID[layoutRow]
	producers byID[producerRow]

	// Rows that are not gone.
	known         int                     // series
	columns       int                     // of all layouts
	bySeries      map[uint64]SeriesID     // the first row by the hash of its series; ids start at 1
	byLayout      map[uint64][]*layoutRow // by the hash of their lists
	knownLayouts  int
	byProducer    map[ProducerDefined]*producerRow
	ofTopology    map[string]int // series by topology
	layoutsByName map[string]layoutCount
	seed          maphash.Seed
	last          metric.Raw // the strings of the newest row
}

// layoutCount is the number of layouts of a topology, and the number of their columns. Ingest limits a topology's share
// by both.
type layoutCount struct{ layouts, columns int }

func newDictionary() *dictionary {
	return &dictionary{
		bySeries:      map[uint64]SeriesID{},
		byLayout:      map[uint64][]*layoutRow{},
		byProducer:    map[ProducerDefined]*producerRow{},
		ofTopology:    map[string]int{},
		layoutsByName: map[string]layoutCount{},
		seed:          maphash.MakeSeed(),
	}
}

// addSeries stores a row under its id. Recovery reads most rows more than once. A known row keeps the later hour of
// last use.
func (d *dictionary) addSeries(row seriesRow, hash uint64) *seriesRow {
	if known := d.series.get(uint32(row.ID)); known != nil {
		known.usedHour = max(known.usedHour, row.usedHour)
		return known
	}
	d.intern(&row.Series)
	d.known++
	d.ofTopology[row.Series.Topology]++
	d.series.put(uint32(row.ID), &row)
	row.twin = d.bySeries[hash]
	d.bySeries[hash] = row.ID
	return &row
}

// hashSeries returns the key of a series in bySeries.
func (d *dictionary) hashSeries(s *metric.Raw) uint64 {
	const odd = 0x9e3779b97f4a7c15 // so that strings in exchanged places give a different sum
	var rest [26]byte
	binary.LittleEndian.PutUint32(rest[0:], s.Port)
	binary.LittleEndian.PutUint32(rest[4:], uint32(s.Task))
	binary.LittleEndian.PutUint64(rest[8:], uint64(s.IntervalMs))
	binary.LittleEndian.PutUint64(rest[16:], uint64(s.PackSpanMs))
	rest[24], rest[25] = byte(s.Shape), byte(s.Temporality)
	sum := maphash.Bytes(d.seed, rest[:])
	for _, text := range [...]string{s.Topology, s.Host, s.Component, s.Name, s.Key} {
		sum = sum*odd + maphash.String(d.seed, text)
	}
	return sum
}

// seriesOf returns the row of a series, or nil. It compares the rows that have the same hash. A map with series as keys
// would take more memory than the rows themselves.
func (d *dictionary) seriesOf(series *metric.Raw, hash uint64) *seriesRow {
	for id := d.bySeries[hash]; id != 0; {
		row := d.series.get(uint32(id))
		if row.Series == *series {
			return row
		}
		id = row.twin
	}
	return nil
}

// unlist removes a row from the chain of its hash, so that seriesOf no longer finds it. The row itself stays.
func (d *dictionary) unlist(row *seriesRow) {
	hash := d.hashSeries(&row.Series)
	if id := d.bySeries[hash]; id == row.ID {
		if row.twin == 0 {
			delete(d.bySeries, hash)
		} else {
			d.bySeries[hash] = row.twin
		}
		return
	}
	for id := d.bySeries[hash]; id != 0; {
		before := d.series.get(uint32(id))
		if before.twin == row.ID {
			before.twin = row.twin
			return
		}
		id = before.twin
	}
}

// intern lets series share their strings, because the host name of a worker occurs in thousands of series. Most strings
// equal those of the previous series. They are compared first, which is cheaper than a lookup by the package unique.
func (d *dictionary) intern(r *metric.Raw) {
	l := &d.last
	for _, text := range [...]struct{ of, last *string }{{&r.Topology, &l.Topology}, {&r.Host, &l.Host},
		{&r.Component, &l.Component}, {&r.Name, &l.Name}, {&r.Key, &l.Key}} {
		if *text.of != *text.last {
			*text.last = unique.Make(*text.of).Value()
		}
		*text.of = *text.last
	}
}

// addLayout stores a row under its id, as addSeries does. All its series must be in the dictionary.
func (d *dictionary) addLayout(row layoutRow) *layoutRow {
	if known := d.layouts.get(uint32(row.ID)); known != nil {
		known.usedHour = max(known.usedHour, row.usedHour)
		return known
	}
	row.topology = d.series.get(uint32(row.Series[0])).Series.Topology
	d.layouts.put(uint32(row.ID), &row)
	hash := d.hash(row.Series)
	d.byLayout[hash] = append(d.byLayout[hash], &row)
	d.countLayout(&row, 1)
	return &row
}

// countLayout adds a layout to the counts (by = 1) or removes it from them (by = -1).
func (d *dictionary) countLayout(row *layoutRow, by int) {
	d.knownLayouts += by
	d.columns += by * len(row.Series)
	count := d.layoutsByName[row.topology]
	count.layouts += by
	count.columns += by * len(row.Series)
	if d.layoutsByName[row.topology] = count; count.layouts == 0 {
		delete(d.layoutsByName, row.topology)
	}
}

func (d *dictionary) hash(series []SeriesID) uint64 {
	var h maphash.Hash
	h.SetSeed(d.seed)
	var raw [4]byte
	for _, id := range series {
		raw[0], raw[1], raw[2], raw[3] = byte(id), byte(id>>8), byte(id>>16), byte(id>>24)
		_, _ = h.Write(raw[:]) // never fails
	}
	return h.Sum64()
}

// layoutOf returns the layout of an ordered list of series, or nil if there is none.
func (d *dictionary) layoutOf(series []SeriesID) *layoutRow {
	for _, row := range d.byLayout[d.hash(series)] {
		if slices.Equal(row.Series, series) {
			return row
		}
	}
	return nil
}

// addProducer stores a row under its id, as addSeries does.
func (d *dictionary) addProducer(row producerRow) *producerRow {
	if known := d.producers.get(uint32(row.ID)); known != nil {
		known.usedHour = max(known.usedHour, row.usedHour)
		return known
	}
	row.Topology = unique.Make(row.Topology).Value()
	d.producers.put(uint32(row.ID), &row)
	d.byProducer[row.place()] = &row
	return &row
}

// place returns the producer without its id, as the key of byProducer.
func (p ProducerDefined) place() ProducerDefined {
	p.ID = 0
	return p
}

// use records that a batch uses its producer, series and layouts, so that they do not become idle. It marks a layout as
// a whole instead of each of its series; useSeriesOfLayouts adds those later. If an id was forgotten, the error wraps
// ErrForgotten. If an id was never defined, it does not.
func (s *state) use(b *Batch, hour int64) (*producerRow, error) {
	producer := s.dict.producers.get(uint32(b.Producer))
	if producer == nil || producer.gone {
		return nil, missing("producer", uint32(b.Producer), uint32(s.nextProducer))
	}
	for _, id := range b.IDs {
		if err := s.useSeries(uint32(id), hour); err != nil {
			return nil, err
		}
	}
	for _, h := range b.Histograms {
		if err := s.useSeries(h.GetSeriesId(), hour); err != nil {
			return nil, err
		}
	}
	for i := range b.Blocks {
		block := &b.Blocks[i]
		layout := s.dict.layouts.get(uint32(block.Layout))
		if layout == nil || layout.gone {
			return nil, missing("layout", uint32(block.Layout), uint32(s.nextLayout))
		}
		if block.Columns != len(layout.Series) {
			return nil, fmt.Errorf("%w: block has %d columns, but layout %d has %d", errPayload, block.Columns, block.Layout,
				len(layout.Series))
		}
		layout.usedHour = hour
	}
	producer.usedHour = hour
	return producer, nil
}

func (s *state) useSeries(id uint32, hour int64) error {
	row := s.dict.series.get(id)
	if row == nil || row.gone {
		return missing("series", id, uint32(s.nextSeries))
	}
	if row.usedHour != hour {
		row.usedHour = hour
	}
	return nil
}

// missing returns why an id is unknown. Ids are assigned in ascending order, so an id below next was known once.
func missing(what string, id, next uint32) error {
	if id > 0 && id < next {
		return fmt.Errorf("%w: %s %d", ErrForgotten, what, id)
	}
	return fmt.Errorf("journal: batch refers to undefined %s %d", what, id)
}
