package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// kind is the type of a record. The values are those on disk and never change their meaning. If a payload changes, it
// gets a new kind.
type kind uint8

const (
	kindSegment kind = iota + 1
	kindSeries
	kindProducersV1 // of format version 1; still read, but no longer written
	kindEpochsV1    // likewise
	kindBatch
	kindConnected
	kindDisconnected
	kindTick
	kindStarted
	kindLayouts // from here on, of format version 2
	kindForgotten
	kindBlocks // a batch with blocks
	kindProducers
	kindEpochs
	kindMoved // of format version 3

	kindLast = kindMoved
)

// defines reports whether a record only defines what others refer to. All records of a segment header do.
func (k kind) defines() bool {
	switch k {
	case kindSegment, kindSeries, kindProducersV1, kindEpochsV1, kindLayouts, kindProducers, kindEpochs:
		return true
	}
	return false
}

func (k kind) batch() bool { return k == kindBatch || k == kindBlocks }

// String returns the name of the kind in docs/formats/journal.md.
func (k kind) String() string {
	names := [...]string{"", "segment", "series", "producers", "epochs", "batch", "connected", "disconnected", "tick",
		"started", "layouts", "forgotten", "batch", "producers", "epochs", "moved"}
	if int(k) < len(names) {
		return names[k]
	}
	return ""
}

const (
	headerBytes    = 12
	maxRecordBytes = 16 << 20 // of the payload; twice the largest size to which an accepted message can grow
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is an intact record of a segment. Its payload refers to the scanner's memory and is valid until the next call.
type record struct {
	kind       kind
	payload    []byte
	start, end int64 // in the file
}

// beginRecord reserves the bytes of a record's header. The caller appends the payload, then calls finishRecord.
func beginRecord(to []byte) []byte { return append(to, make([]byte, headerBytes)...) }

// finishRecord fills in the header of a record that will be written at position at.
func finishRecord(record []byte, at Position, k kind) {
	header, payload := record[:headerBytes], record[headerBytes:]
	binary.LittleEndian.PutUint32(header[0:], uint32(len(payload)))
	header[8] = byte(k)
	binary.LittleEndian.PutUint32(header[4:], recordSum(at, header, payload))
	binary.LittleEndian.PutUint16(header[10:], headerCheck(at, header))
}

// recordSum returns the checksum of a whole record. It covers the record's position. An intact record in a stale disk
// block, or inside a text, is therefore not accepted as a record at that place.
func recordSum(at Position, header, payload []byte) uint32 {
	var prefix [14]byte
	binary.LittleEndian.PutUint64(prefix[0:], uint64(at))
	copy(prefix[8:12], header[0:4])
	copy(prefix[12:14], header[8:10])
	return crc32.Update(crc32.Checksum(prefix[:], castagnoli), castagnoli, payload)
}

// headerCheck returns a checksum of the record header alone. With it the scanner can distinguish a damaged payload,
// whose length is reliable, from a damaged header. After a damaged header it must search byte by byte.
func headerCheck(at Position, header []byte) uint16 {
	var prefix [18]byte
	binary.LittleEndian.PutUint64(prefix[0:], uint64(at))
	copy(prefix[8:], header[:10])
	return uint16(crc32.Checksum(prefix[:], castagnoli))
}

// parseHeader returns the kind and the payload's length of a record. ok is false if header was not written for this
// position.
func parseHeader(at Position, header []byte) (k kind, length int64, ok bool) {
	k = kind(header[8])
	if k == 0 || k > kindLast || header[9] != 0 {
		return 0, 0, false
	}
	length = int64(binary.LittleEndian.Uint32(header))
	if length > maxRecordBytes || binary.LittleEndian.Uint16(header[10:]) != headerCheck(at, header) {
		return 0, 0, false
	}
	return k, length, true
}

// intact reports whether the header was written for this payload.
func intact(at Position, header, payload []byte) bool {
	return binary.LittleEndian.Uint32(header[4:]) == recordSum(at, header, payload)
}

// errPayload means that a record has a valid checksum but cannot be what was written. Recovery and readers count such a
// record as damage and skip it.
var errPayload = errors.New("payload does not match its record")

// payloadError wraps an error of decoding a payload in errPayload.
func payloadError(err error) error {
	if err == nil || errors.Is(err, errPayload) {
		return err
	}
	return fmt.Errorf("%w: %w", errPayload, err)
}

// nextID reads an id, which is written as the difference to the one before. Ids of adjacent rows are close together, so
// most of them take one byte.
func nextID(c *varint.Reader, before int64) int64 {
	id := before + c.Int()
	if id <= 0 || id >= maxID {
		c.Fail(errPayload)
		return 0
	}
	return id
}

func appendString(to []byte, s string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(s))), s...)
}
