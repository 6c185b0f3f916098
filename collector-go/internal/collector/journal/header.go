package journal

import (
	"encoding/binary"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// formatVersion is the version of docs/formats/journal.md that this program writes. It reads all versions from 1 on.
const (
	formatVersion = 3
	magicBytes    = 8
)

var magic = [magicBytes]byte{'B', 'M', 'J', 'O', 'U', 'R', 'N', formatVersion}

// segmentHeader is the first record of a segment, which describes it. By the numbers of rows, recovery detects a
// segment header that is incomplete.
type segmentHeader struct {
	version      uint64
	number       uint32
	previous     Position // where the previous segment ends
	nextSeries   SeriesID
	nextProducer ProducerID
	series       uint64 // number of rows that follow
	producers    uint64
	epochs       uint64
	timeMs       int64
	nextLayout   LayoutID // from version 2 on
	layouts      uint64
}

func (h segmentHeader) encode() []byte {
	var to []byte
	for _, v := range []uint64{h.version, uint64(h.number), uint64(h.previous), uint64(h.nextSeries),
		uint64(h.nextProducer), h.series, h.producers, h.epochs} {
		to = binary.AppendUvarint(to, v)
	}
	to = binary.AppendVarint(to, h.timeMs)
	to = binary.AppendUvarint(to, uint64(h.nextLayout))
	return binary.AppendUvarint(to, h.layouts)
}

// decodeHeader is the inverse of encode. For a segment of a newer version it returns only the version, with an error
// that wraps disk.ErrNewer. A program must not start on a journal that it would misread.
func decodeHeader(payload []byte) (segmentHeader, error) {
	c := varint.Of(payload)
	h := segmentHeader{version: c.Uint()}
	if err := disk.CheckVersion(h.version, formatVersion); err != nil {
		return h, err
	}
	h.number = c.Uint32()
	h.previous = Position(c.Uint())
	h.nextSeries, h.nextProducer = SeriesID(c.Uint32()), ProducerID(c.Uint32())
	h.series, h.producers, h.epochs = c.Uint(), c.Uint(), c.Uint()
	h.timeMs = c.Int()
	if h.version >= 2 {
		h.nextLayout, h.layouts = LayoutID(c.Uint32()), c.Uint()
	}
	return h, payloadError(c.Done())
}

// state is everything the journal knows besides its entries: the dictionary, the deduplication state and the clock. The
// header of every segment repeats it, so that older segments can be deleted and a restart reads only the newest one.
type state struct {
	dict         *dictionary
	epochs       epochs
	nextSeries   SeriesID
	nextLayout   LayoutID
	nextProducer ProducerID
	streams      int   // that are open, of all producers
	nowMs        int64 // time of the latest entry, which is the journal's only clock
}

// newState returns the state of an empty journal. Ids start at 1, so that 0 can mean none.
func newState() *state {
	return &state{dict: newDictionary(), epochs: epochs{}, nextSeries: 1, nextLayout: 1, nextProducer: 1}
}

// snapshot is the content of a segment header. It is taken while the journal is locked, and encoded and written
// afterwards.
type snapshot struct {
	header segmentHeader
	rows   definitions
	epochs [][]byte
}

// snapshot copies the content of a segment header. It copies pointers to rows that never change. A dictionary of
// 500,000 series can therefore be encoded without the journal's lock, while streams continue to append.
func (s *state) snapshot(number uint32, previous Position) *snapshot {
	s.epochs.forget(s.nowMs - keepEpochMs)
	rows := definitions{
		series:    make([]used[SeriesDefined], 0, s.dict.series.known),
		layouts:   make([]used[LayoutDefined], 0, s.dict.layouts.known),
		producers: make([]used[ProducerDefined], 0, s.dict.producers.known),
	}
	for row := range s.dict.series.all() {
		rows.series = append(rows.series, used[SeriesDefined]{&row.SeriesDefined, row.usedHour})
	}
	for row := range s.dict.layouts.all() {
		rows.layouts = append(rows.layouts, used[LayoutDefined]{&row.LayoutDefined, row.usedHour})
	}
	for row := range s.dict.producers.all() {
		rows.producers = append(rows.producers, used[ProducerDefined]{&row.ProducerDefined, row.usedHour})
	}
	return &snapshot{rows: rows, epochs: s.epochs.encode(), header: segmentHeader{
		version: formatVersion, number: number, previous: previous, timeMs: s.nowMs,
		nextSeries: s.nextSeries, nextLayout: s.nextLayout, nextProducer: s.nextProducer,
		series: uint64(len(rows.series)), layouts: uint64(len(rows.layouts)),
		producers: uint64(len(rows.producers)), epochs: uint64(len(s.epochs))}}
}

// encode returns the beginning of a segment file: the magic bytes, and the segment header twice. With two copies,
// damage in one place does not lose the dictionary of the whole segment.
func (s *snapshot) encode() []byte {
	records := append([]queued{{kind: kindSegment, payload: s.header.encode()}}, s.rows.records()...)
	for _, part := range s.epochs {
		records = append(records, queued{kind: kindEpochs, payload: part})
	}
	size := int64(magicBytes)
	for i := range records {
		size += copiesOnDisk * records[i].size()
	}
	to := append(make([]byte, 0, size), magic[:]...)
	for range copiesOnDisk {
		to = appendQueued(to, positionOf(s.header.number, 0), records)
	}
	return to
}
