package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"
)

// bound limits a field of a request. It is checked on the encoded bytes, before anything is decoded. Otherwise a small
// request could take a large amount of memory: an empty message of two bytes becomes an object of a hundred.
type bound struct {
	name string
	// most is how often the field may occur in a request, under all of its parents together. 0 means unlimited. For a
	// packed field, its numbers are counted.
	most   int
	packed bool
	// bytes is the maximum length of a text; 0 means unlimited.
	bytes int
	// fields are the bounds of the fields of a message.
	fields fields
	inner  *byNumber
	index  int // index of its count in counted
}

type fields = map[protowire.Number]*bound

// The bounds of a request. What a Storm worker sends stays far below them. The bounds of annotations are those of the
// HTTP API. The bounds of components, workers and settings exceed those of the registry, which truncates them.
const (
	maxVersionBytes    = 128 // of versions that become labels
	maxSettingBytes    = 16 << 10
	maxSettings        = 4096
	maxComponents      = 4096
	maxTasks           = 1 << 17
	maxInputs          = 16 << 10
	maxInputFields     = 64 << 10
	maxWorkers         = 4096
	maxDrops           = 64
	maxGaps            = 1024
	maxAnnotations     = 256
	maxAnnotationID    = 128
	maxTitleBytes      = 256
	maxTextBytes       = 16 << 10
	maxTags            = 16 * maxAnnotations
	maxTagBytes        = 64
	maxDefinitions     = 1 << 16
	maxBatchLayouts    = 1 << 14
	maxBatchBlocks     = 1 << 14
	maxBatchSamples    = 1 << 20
	maxBatchHistograms = 1 << 15
	maxBatchBuckets    = 1 << 18
)

var requestBounds = numbered("", new(int), fields{3: {name: "state", most: 1, fields: fields{
	1: {name: "epoch", bytes: 64}}}, 2: {name: "batch", most: 1, fields: fields{
	1: {name: "epoch", bytes: 64},
	5: {name: "series", most: maxDefinitions, fields: fields{
		7: {name: "key", most: maxKeyDepth * maxDefinitions},
	}},
	6: {name: "samples", fields: fields{
		2: {name: "series_ids", most: maxBatchSamples, packed: true},
		3: {name: "time_offsets_ms", most: maxBatchSamples, packed: true},
	}},
	7: {name: "histograms", most: maxBatchHistograms, fields: fields{
		8: {name: "positive_spans", most: maxBatchBuckets},
		9: {name: "positive_counts", most: maxBatchBuckets, packed: true},
	}},
	8: {name: "drops", most: maxDrops},
	9: {name: "gaps", most: maxGaps, fields: fields{1: {name: "host", bytes: maxNameBytes}}},
	10: {name: "topology", fields: fields{
		1: {name: "name", bytes: maxNameBytes},
		2: {name: "id", bytes: maxNameBytes},
		3: {name: "storm_version", bytes: maxVersionBytes},
		4: {name: "bullet_version", bytes: maxVersionBytes},
		5: {name: "java_version", bytes: maxVersionBytes},
		6: {name: "plugin_version", bytes: maxVersionBytes},
		7: {name: "components", most: maxComponents, fields: fields{
			1: {name: "name", bytes: maxNameBytes},
			2: {name: "tasks", most: maxTasks, packed: true},
			8: {name: "inputs", most: maxInputs, fields: fields{
				1: {name: "component", bytes: maxNameBytes},
				2: {name: "stream", bytes: maxNameBytes},
				3: {name: "grouping", bytes: maxNameBytes},
				4: {name: "fields", most: maxInputFields, bytes: maxNameBytes},
			}},
		}},
		8: {name: "settings", most: maxSettings, fields: fields{
			1: {name: "key", bytes: maxNameBytes},
			2: {name: "value", bytes: maxSettingBytes},
		}},
	}},
	11: {name: "workers", most: maxWorkers, fields: fields{
		1: {name: "host", bytes: maxNameBytes},
		5: {name: "tasks", most: maxTasks, packed: true},
		6: {name: "task_times_ms", most: maxTasks, packed: true},
	}},
	12: {name: "annotations", most: maxAnnotations, fields: fields{
		3: {name: "title", bytes: maxTitleBytes},
		4: {name: "text", bytes: maxTextBytes},
		5: {name: "tags", most: maxTags, bytes: maxTagBytes},
		6: {name: "id", bytes: maxAnnotationID},
		7: {name: "topology", bytes: maxNameBytes},
	}},
	13: {name: "layouts", most: maxBatchLayouts, fields: fields{
		2: {name: "series_ids", most: maxBatchSamples, packed: true},
	}},
	14: {name: "blocks", most: maxBatchBlocks, fields: fields{
		5: {name: "time_offsets_ms", most: maxBatchSamples, packed: true},
	}},
	16: {name: "clocks", fields: fields{
		3: {name: "workers", most: maxWorkers, fields: fields{1: {name: "host", bytes: maxNameBytes}}},
	}},
}}})

// byNumber holds the bounds of a message's fields by their numbers, for a look-up without a map.
type byNumber [17]*bound

const maxBounds = 64

// counted holds how often each bounded field occurred in a request so far. It is a fixed array, so that counting needs
// no map.
type counted [maxBounds]int32

// numbered sets the full name and the index of each bound.
func numbered(above string, next *int, of fields) *byNumber {
	if of == nil {
		return nil
	}
	all := &byNumber{}
	for number, b := range of {
		b.name = above + b.name
		if b.index = *next; b.index >= maxBounds {
			panic("ingest: maxBounds is less than the number of bounds")
		}
		*next++
		b.inner = numbered(b.name+".", next, b.fields)
		all[number] = b
	}
	return all
}

// errWire stands for bytes that cannot be decoded. The caller reports them with a clearer message.
var errWire = errors.New("cannot be decoded")

// checkBounds returns an error that names the bound that an encoded ExportRequest exceeds. It reads the encoding once
// and decodes nothing.
func checkBounds(request []byte) error {
	var counts counted
	return requestBounds.check(request, &counts)
}

// check iterates over the encoded fields of a message. It skips fields without a bound.
func (f *byNumber) check(message []byte, counts *counted) error {
	for len(message) > 0 {
		number, wire, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errWire
		}
		message = message[n:]
		var b *bound
		if int(number) < len(f) {
			b = f[number]
		}
		if wire != protowire.BytesType || b == nil {
			if n = protowire.ConsumeFieldValue(number, wire, message); n < 0 {
				return errWire
			}
			if b != nil {
				if err := b.count(1, counts); err != nil {
					return err
				}
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return errWire
		}
		if err := b.check(value, counts); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}

// check counts one occurrence of a field and checks its length, and then the fields within it.
func (b *bound) check(value []byte, counts *counted) error {
	n := 1
	if b.packed {
		n = numbers(value)
	}
	if err := b.count(n, counts); err != nil {
		return err
	}
	if b.bytes > 0 && len(value) > b.bytes {
		return fmt.Errorf("%s has %d bytes, at most %d are allowed", b.name, len(value), b.bytes)
	}
	if b.inner == nil {
		return nil
	}
	return b.inner.check(value, counts)
}

// numbers returns how many varints a packed field has. The last byte of each varint is below 0x80.
func numbers(packed []byte) (n int) {
	const tops = 0x8080808080808080
	for ; len(packed) >= 8; packed = packed[8:] {
		n += bits.OnesCount64(^binary.LittleEndian.Uint64(packed) & tops)
	}
	for _, x := range packed {
		if x < 0x80 {
			n++
		}
	}
	return n
}

func (b *bound) count(n int, counts *counted) error {
	if b.most == 0 {
		return nil
	}
	if counts[b.index] += int32(n); int(counts[b.index]) > b.most {
		return fmt.Errorf("%s has more than %d entries in one request", b.name, b.most)
	}
	return nil
}
