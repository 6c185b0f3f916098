package journal

import (
	"errors"
	"fmt"
	"io"
)

// replay takes a record into the state, as Open does with those of the newest segment. An error means that the record cannot
// be what was written, or that it is of a newer version.
func (s *state) replay(rec record) error {
	switch rec.kind {
	case kindSegment:
		return s.replayHead(rec.payload)
	case kindSeries:
		return s.replaySeries(rec.payload)
	case kindProducers:
		return s.replayProducers(rec.payload)
	case kindEpochs:
		return s.epochs.decode(rec.payload)
	case kindBatch:
		return s.replayBatch(rec.payload)
	}
	_, timeMs, err := decodeMark(rec.kind, rec.payload)
	if err == nil {
		s.nowMs = timeMs
	}
	return err
}

func (s *state) replayHead(payload []byte) error {
	h, err := decodeHead(payload)
	if err != nil {
		return err
	}
	s.nextSeries, s.nextProducer = max(s.nextSeries, h.nextSeries), max(s.nextProducer, h.nextProducer)
	s.nowMs = h.timeMs
	return nil
}

func (s *state) replaySeries(payload []byte) error {
	rows, err := decodeSeries(payload)
	if err != nil {
		return err
	}
	for _, row := range rows {
		s.dict.addSeries(row)
		s.nextSeries = max(s.nextSeries, row.ID+1)
	}
	return nil
}

func (s *state) replayProducers(payload []byte) error {
	rows, err := decodeProducers(payload)
	if err != nil {
		return err
	}
	for _, p := range rows {
		s.dict.addProducer(p)
		s.nextProducer = max(s.nextProducer, p.ID+1)
	}
	return nil
}

func (s *state) replayBatch(payload []byte) error {
	var b Batch
	if err := decodeBatch(payload, &b); err != nil {
		return err
	}
	if !s.dict.covers(&b) {
		return fmt.Errorf("%w: batch refers to what is not defined", errPayload)
	}
	s.dict.touch(&b)
	s.epochs.add(b.Epoch, b.Sequence, b.ReceivedMs)
	s.nowMs = b.ReceivedMs
	return nil
}

// replaySegment takes a segment's records into the state up to scan.end. end is behind the last whole record; complete says
// that the segment's head was all there, so that nothing older is needed.
func (s *state) replaySegment(scan *scanner) (end int64, complete bool, err error) {
	var h head
	inHead, found := true, false
	end = min(scan.off, scan.end)
	for {
		rec, err := scan.next()
		if errors.Is(err, io.EOF) {
			return end, complete || inHead && found && s.holds(h), nil
		}
		if err != nil {
			return end, false, err
		}
		if inHead && rec.kind > kindEpochs {
			inHead, complete = false, found && s.holds(h)
		}
		if rec.kind == kindSegment && !found {
			if h, err = decodeHead(rec.payload); errors.Is(err, errNewerVersion) {
				return end, false, err
			}
			found = err == nil
		}
		end = rec.end
		if err := s.replay(rec); err != nil {
			scan.damaged(rec.start, rec.end)
		}
	}
}

// holds says whether all rows that a head promises are here.
func (s *state) holds(h head) bool {
	return uint64(s.dict.known) >= h.series && uint64(len(s.dict.byProducer)) >= h.producers && uint64(len(s.epochs)) >= h.epochs
}

// readHead finds a segment's first whole segment record.
func readHead(file io.ReaderAt, number uint32, size int64) (h head, found bool, err error) {
	scan := scanner{file: file, number: number, off: magicBytes, end: size}
	for {
		rec, err := scan.next()
		if errors.Is(err, io.EOF) || err == nil && rec.kind > kindEpochs {
			return head{}, false, nil
		}
		if err != nil {
			return head{}, false, err
		}
		if rec.kind == kindSegment {
			h, err := decodeHead(rec.payload)
			return h, err == nil, err
		}
	}
}
