package journal

import (
	"errors"
	"fmt"
	"io"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// replay applies a record to the state, as Open does with the records of the newest segment. An error means that the
// record cannot be what was written, or that a newer version wrote it.
func (s *state) replay(rec record) error {
	switch rec.kind {
	case kindSegment:
		return s.replayHeader(rec.payload)
	case kindSeries:
		return s.replaySeries(rec.payload)
	case kindLayouts:
		return s.replayLayouts(rec.payload)
	case kindProducers, kindProducersV1:
		return s.replayProducers(rec)
	case kindEpochs, kindEpochsV1:
		return s.epochs.decode(rec.payload, rec.kind == kindEpochs)
	case kindBatch, kindBlocks:
		return s.replayBatch(rec)
	case kindForgotten:
		return s.replayForgotten(rec.payload)
	}
	entry, timeMs, err := decodeControl(rec.kind, rec.payload)
	if err == nil {
		s.nowMs = timeMs
		_ = s.noteStream(entry) // fails for a producer whose definition is damaged; there is nothing to record then
	}
	return err
}

// replayHeader applies the next ids and the clock of a segment record. An id never decreases, because an id that was
// assigned once must never be assigned again.
func (s *state) replayHeader(payload []byte) error {
	h, err := decodeHeader(payload)
	if err != nil {
		return err
	}
	s.nextSeries, s.nextProducer = max(s.nextSeries, h.nextSeries), max(s.nextProducer, h.nextProducer)
	s.nextLayout = max(s.nextLayout, h.nextLayout)
	s.nowMs = h.timeMs
	return nil
}

// replaySeries adds the rows of a series record. Each record is on disk twice, so most rows are already known.
func (s *state) replaySeries(payload []byte) error {
	rows, err := decodeSeries(payload)
	if err != nil {
		return err
	}
	for _, row := range rows {
		s.dict.addSeries(row, s.dict.hashSeries(&row.Series))
		s.nextSeries = max(s.nextSeries, row.ID+1)
	}
	return nil
}

// replayLayouts adds the rows of a layouts record. It refuses a layout with a series whose definition is damaged,
// because the meaning of its columns is unknown. The blocks of that layout then count as damage too.
func (s *state) replayLayouts(payload []byte) error {
	rows, err := decodeLayouts(payload)
	if err != nil {
		return err
	}
	for _, row := range rows {
		s.nextLayout = max(s.nextLayout, row.ID+1)
		for _, id := range row.Series {
			if s.dict.series.get(uint32(id)) == nil {
				return fmt.Errorf("%w: layout %d refers to an undefined series", errPayload, row.ID)
			}
		}
		s.dict.addLayout(row)
	}
	return nil
}

// replayProducers adds the rows of a producers record. Rows of format version 1 have no hour of last use and count as
// used at the time of the record before them.
func (s *state) replayProducers(rec record) error {
	rows, err := decodeProducers(rec.payload, rec.kind == kindProducers, s.nowMs/hourMs)
	if err != nil {
		return err
	}
	for _, p := range rows {
		s.dict.addProducer(p)
		s.nextProducer = max(s.nextProducer, p.ID+1)
	}
	return nil
}

// replayBatch records a batch as journaled, so that it is recognised if its sender sends it again. It ignores the
// samples, which the feeds read.
func (s *state) replayBatch(rec record) error {
	var b Batch
	if err := decodeBatch(rec.kind, rec.payload, &b); err != nil {
		return err
	}
	producer, err := s.use(&b, b.ReceivedMs/hourMs)
	if err != nil {
		return err
	}
	s.epochs.add(origin{epoch: b.Epoch, topology: producer.Topology}, b.Sequence, b.ReceivedMs)
	s.nowMs = b.ReceivedMs
	return nil
}

// replayForgotten removes forgotten rows at once. Unlike at run time, no queued batch can refer to them any more.
func (s *state) replayForgotten(payload []byte) error {
	f, err := decodeForgotten(payload)
	if err != nil {
		return err
	}
	s.dict.drop(f)
	return nil
}

// replaySegment applies a segment's records to the state, up to scan.end. end is the offset after the last intact
// record. complete reports that the segment header was complete, so that no older segment is needed.
func (s *state) replaySegment(scan *scanner) (end int64, complete bool, err error) {
	var h segmentHeader
	inHeader, found := true, false
	end = min(scan.off, scan.end)
	for {
		rec, err := scan.next()
		if errors.Is(err, io.EOF) {
			return end, complete || inHeader && found && s.holds(h), nil
		}
		if err != nil {
			return end, false, err
		}
		if inHeader && !rec.kind.defines() {
			inHeader, complete = false, found && s.holds(h)
		}
		if rec.kind == kindSegment && !found {
			if h, err = decodeHeader(rec.payload); errors.Is(err, disk.ErrNewer) {
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

// holds reports whether the state has as many rows as the segment header states. If not, the header was damaged in both
// copies, and recovery starts one segment earlier.
func (s *state) holds(h segmentHeader) bool {
	return uint64(s.dict.series.known) >= h.series && uint64(s.dict.layouts.known) >= h.layouts &&
		uint64(s.dict.producers.known) >= h.producers && uint64(len(s.epochs)) >= h.epochs
}

// readHeader returns the first intact segment record of a segment. There are two copies, so damage to one place does
// not hide it. found is false if both are damaged or the file has none yet.
func readHeader(file io.ReaderAt, number uint32, size int64) (h segmentHeader, found bool, err error) {
	scan := scanner{file: file, number: number, off: magicBytes, end: size}
	for {
		rec, err := scan.next()
		if errors.Is(err, io.EOF) || err == nil && !rec.kind.defines() {
			return segmentHeader{}, false, nil
		}
		if err != nil {
			return segmentHeader{}, false, err
		}
		if rec.kind == kindSegment {
			h, err := decodeHeader(rec.payload)
			return h, err == nil, err
		}
	}
}
