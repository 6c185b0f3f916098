package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

var errNewerVersion = errors.New("segment was written by a newer program")

const (
	formatVersion = 1
	magicBytes    = 8
)

var magic = [magicBytes]byte{'B', 'M', 'J', 'O', 'U', 'R', 'N', formatVersion}

// head is the segment record: what a segment says of itself.
type head struct {
	version      uint64
	number       uint32
	previous     Position // where the segment before ends
	nextSeries   SeriesID
	nextProducer ProducerID
	series       uint64 // rows that follow
	producers    uint64
	epochs       uint64
	timeMs       int64
}

func (h head) encode() []byte {
	var to []byte
	for _, v := range []uint64{h.version, uint64(h.number), uint64(h.previous), uint64(h.nextSeries), uint64(h.nextProducer),
		h.series, h.producers, h.epochs} {
		to = binary.AppendUvarint(to, v)
	}
	return binary.AppendVarint(to, h.timeMs)
}

// decodeHead is the inverse of encode. Of a newer version it takes the version alone.
func decodeHead(payload []byte) (head, error) {
	c := &cursor{rest: payload}
	h := head{version: c.uvarint()}
	if h.version > formatVersion {
		return h, fmt.Errorf("%w: it has format version %d, this program knows up to %d: run the newer program",
			errNewerVersion, h.version, formatVersion)
	}
	h.number = c.uint32()
	h.previous = Position(c.uvarint())
	h.nextSeries, h.nextProducer = SeriesID(c.uint32()), ProducerID(c.uint32())
	h.series, h.producers, h.epochs = c.uvarint(), c.uvarint(), c.uvarint()
	h.timeMs = c.varint()
	return h, c.done()
}

// state is what the journal knows beside its entries; every segment's head repeats it.
type state struct {
	dict         *dictionary
	epochs       epochs
	nextSeries   SeriesID
	nextProducer ProducerID
	nowMs        int64 // the latest entry's time: the only clock that the journal has
}

func newState() *state {
	return &state{dict: newDictionary(), epochs: epochs{}, nextSeries: 1, nextProducer: 1}
}

// encodeHead is the beginning of a segment's file: magic and head, the head as often as copiesOnDisk says.
func (s *state) encodeHead(number uint32, previous Position) []byte {
	s.epochs.forget(s.nowMs - keepEpochMs)
	series, producers := s.dict.rows(), s.dict.producerRows()
	h := head{version: formatVersion, number: number, previous: previous, nextSeries: s.nextSeries, nextProducer: s.nextProducer,
		series: uint64(len(series)), producers: uint64(len(producers)), epochs: uint64(len(s.epochs)), timeMs: s.nowMs}
	records := []queued{{kind: kindSegment, payload: h.encode()}}
	for part := range slices.Chunk(series, rowsPerRecord) {
		records = append(records, queued{kind: kindSeries, payload: encodeSeries(part)})
	}
	for part := range slices.Chunk(producers, rowsPerRecord) {
		records = append(records, queued{kind: kindProducers, payload: encodeProducers(part)})
	}
	for _, part := range s.epochs.encode() {
		records = append(records, queued{kind: kindEpochs, payload: part})
	}
	to := slices.Clone(magic[:])
	for range copiesOnDisk {
		to = appendQueued(to, positionOf(number, 0), records)
	}
	return to
}

// appendQueued appends records to what stands at start in a file.
func appendQueued(to []byte, start Position, records []queued) []byte {
	for _, r := range records {
		if r.kind != 0 {
			to = appendRecord(to, start+Position(len(to)), r.kind, r.payload)
		}
	}
	return to
}
