package journal

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"unique"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

const (
	keepEpochMs  = 24 * hourMs
	crowdEpochMs = 2 * hourMs // used if there are too many; a sender abandons a batch after 1 h
	maxSpans     = 128        // runs of an epoch's sequences that are stored
)

// span is a run of sequences, including both ends.
type span struct{ first, last uint64 }

// history is the set of sequences that were journaled for one epoch, as runs. Senders send in order, so it usually
// contains a single run, whatever the number of batches.
type history struct {
	seenMs int64
	spans  []span // ascending, with gaps between them
}

// has reports whether a batch of this sequence was journaled. It searches, because up to maxSpans runs are kept.
func (h *history) has(sequence uint64) bool {
	i := sort.Search(len(h.spans), func(i int) bool { return h.spans[i].last >= sequence })
	return i < len(h.spans) && h.spans[i].first <= sequence
}

// add records the sequences from first to last. If there are more than maxSpans runs, the two lowest are merged. That
// is safe because a sender sends its sequences in order: a gap that far back will never be sent.
func (h *history) add(first, last uint64) {
	if n := len(h.spans); n > 0 && h.spans[n-1].last+1 == first { // the usual case
		h.spans[n-1].last = last
		return
	}
	begin := sort.Search(len(h.spans), func(i int) bool { return h.spans[i].last+1 >= first })
	end := begin
	for ; end < len(h.spans) && h.spans[end].first <= last+1; end++ { // runs that touch or overlap
		first, last = min(first, h.spans[end].first), max(last, h.spans[end].last)
	}
	h.spans = slices.Replace(h.spans, begin, end, span{first, last})
	if len(h.spans) > maxSpans {
		h.spans[1].first = h.spans[0].first
		h.spans = slices.Delete(h.spans, 0, 1)
	}
}

// origin identifies the sender to which sequences belong. It includes the topology, because senders of two topologies
// could have the same epoch. Format version 1 did not record the topology, so its epochs match any.
type origin struct {
	epoch    Epoch
	topology string // of the producer
	any      bool   // from format version 1, which matches any topology
}

// epochs is the deduplication state: the journaled sequences of each sender. Each segment header repeats it, so a
// restart reads only the newest segment.
type epochs map[origin]*history

// has reports whether a batch was journaled, for its topology or for an epoch of format version 1 that matches any.
func (e epochs) has(o origin, sequence uint64) bool {
	if h := e[o]; h != nil && h.has(sequence) {
		return true
	}
	h := e[origin{epoch: o.epoch, any: true}]
	return h != nil && h.has(sequence)
}

// add records a durable batch. Queued batches are in Journal.inFlight instead, because their write may still fail.
func (e epochs) add(o origin, sequence uint64, seenMs int64) {
	h := e.of(o)
	h.add(sequence, sequence)
	h.seenMs = seenMs
}

// of returns the history of an origin, and creates it if there is none.
func (e epochs) of(o origin) *history {
	h := e[o]
	if h == nil {
		h = &history{}
		e[o] = h
	}
	return h
}

// forget drops the epochs that were last seen before a time. A batch of such an epoch that still arrived would be
// stored twice. The time must therefore be further back than any sender keeps a batch.
func (e epochs) forget(beforeMs int64) {
	maps.DeleteFunc(e, func(_ origin, h *history) bool { return h.seenMs < beforeMs })
}

// encode returns the payloads of the epochs records, as many as needed. Equal states give equal bytes.
func (e epochs) encode() [][]byte {
	keys := slices.SortedFunc(maps.Keys(e), func(a, b origin) int {
		return cmp.Or(bytes.Compare(a.epoch[:], b.epoch[:]), strings.Compare(a.topology, b.topology),
			cmp.Compare(a.form(), b.form()))
	})
	var payloads [][]byte
	for part := range slices.Chunk(keys, rowsPerRecord) {
		payload := binary.AppendUvarint(nil, uint64(len(part)))
		for _, s := range part {
			payload = append(append(payload, s.epoch[:]...), s.form())
			if !s.any {
				payload = appendString(payload, s.topology)
			}
			payload = appendHistory(payload, e[s])
		}
		payloads = append(payloads, payload)
	}
	return payloads
}

// form returns the byte before an epoch's topology. 0 means that it matches any topology, 1 that its name follows.
func (o origin) form() byte {
	if o.any {
		return 0
	}
	return 1
}

func appendHistory(to []byte, h *history) []byte {
	to = binary.AppendVarint(to, h.seenMs)
	to = binary.AppendUvarint(to, uint64(len(h.spans)))
	var end uint64
	for _, s := range h.spans {
		to = binary.AppendUvarint(to, s.first-end)
		to = binary.AppendUvarint(to, s.last-s.first)
		end = s.last
	}
	return to
}

// decode adds the rows of an epochs record to those already known. It never replaces rows, because a header that a
// crash interrupted has fewer rows than the segment before it. Rows of version 1 (scoped false) match any topology.
func (e epochs) decode(payload []byte, scoped bool) error {
	c := varint.Of(payload)
	for range c.Count(18) {
		var of origin
		copy(of.epoch[:], c.Bytes(len(of.epoch)))
		of.any = !scoped || c.Byte() == 0
		if !of.any {
			of.topology = unique.Make(c.Text()).Value()
		}
		seenMs := c.Int()
		spans := decodeSpans(&c)
		if c.Err() != nil {
			break
		}
		h := e.of(of)
		h.seenMs = max(h.seenMs, seenMs)
		for _, s := range spans {
			h.add(s.first, s.last)
		}
	}
	return payloadError(c.Done())
}

// decodeSpans reads the runs of a history. Runs that are not in ascending order fail the reader, because has relies on
// their order.
func decodeSpans(c *varint.Reader) (spans []span) {
	var end uint64
	for range min(c.Count(2), maxSpans) {
		s := span{first: end + c.Uint()}
		s.last = s.first + c.Uint()
		if s.first < end || s.last < s.first || s.last == math.MaxUint64 {
			c.Fail(errPayload)
			return nil
		}
		spans = append(spans, s)
		end = s.last
	}
	return spans
}
