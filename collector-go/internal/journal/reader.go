package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/disk"
)

// Reader reads durable entries in order. It is for one goroutine.
type Reader struct {
	j      *Journal
	at     Position // to resume from
	number uint32   // of the segment being read; 0 before the first
	file   disk.File
	scan   scanner

	// What was handed out as defined, so that heads are not repeated to the caller and no batch comes without its definitions.
	series    []bool
	producers []bool

	defined []Entry // to be handed out before the next record
	batch   Batch
}

// Reader starts reading behind from: a position that a Reader returned, or 0 for the oldest entry that there is. ErrExpired
// when entries behind from have been deleted, ErrAhead when from is of another journal.
func (j *Journal) Reader(from Position) (*Reader, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if from == 0 {
		from = j.before
	}
	if from < j.before {
		return nil, fmt.Errorf("%w: %v is before the oldest, %v", ErrExpired, from, j.before)
	}
	if from.segment() > j.newest {
		return nil, fmt.Errorf("%w: %v, the newest segment of %s is %d", ErrAhead, from, j.dir, j.newest)
	}
	return &Reader{j: j, at: from}, nil
}

// Next waits for the next entry and returns it with the position to resume from after it. Before the first entry come the
// definitions that were made before the reader's place; their position is the reader's place itself. The entry is valid
// until the next call. After Journal.Close what is durable is still handed out, then ErrClosed.
func (r *Reader) Next(ctx context.Context) (Position, Entry, error) {
	for {
		if len(r.defined) > 0 {
			entry := r.defined[0]
			r.defined = r.defined[1:]
			return r.at, entry, nil
		}
		rec, err := r.scan.next()
		if errors.Is(err, io.EOF) {
			if err := r.goOn(ctx); err != nil {
				return 0, nil, err
			}
			continue
		}
		if err != nil {
			return 0, nil, err
		}
		if entry := r.read(rec); entry != nil {
			return r.at, entry, nil
		}
	}
}

// Close frees the reader's file.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// read makes an entry of a record, or keeps its definitions for the next calls. Records before the reader's place are read
// for their definitions alone.
func (r *Reader) read(rec record) Entry {
	end := positionOf(r.number, rec.end)
	entry, err := r.decode(rec, end > r.at)
	if err != nil {
		r.j.reportDamage(r.number, rec.start, rec.end)
	}
	r.at = max(r.at, end)
	return entry
}

// decode is the record's entry, if it has one and that is wanted.
func (r *Reader) decode(rec record, wanted bool) (Entry, error) {
	switch {
	case rec.kind == kindSeries:
		return nil, r.decodeSeries(rec.payload)
	case rec.kind == kindProducers:
		return nil, r.decodeProducers(rec.payload)
	case rec.kind < kindBatch || !wanted:
		return nil, nil
	case rec.kind == kindBatch:
		if err := decodeBatch(rec.payload, &r.batch); err != nil {
			return nil, err
		}
		if !r.knowsAll(&r.batch) {
			return nil, errPayload
		}
		return &r.batch, nil
	}
	entry, _, err := decodeMark(rec.kind, rec.payload)
	return entry, err
}

func (r *Reader) decodeSeries(payload []byte) error {
	rows, err := decodeSeries(payload)
	if err != nil {
		return err
	}
	for i := range rows {
		if note(&r.series, uint32(rows[i].ID)) {
			r.defined = append(r.defined, &rows[i].SeriesDefined)
		}
	}
	return nil
}

func (r *Reader) decodeProducers(payload []byte) error {
	rows, err := decodeProducers(payload)
	if err != nil {
		return err
	}
	for i := range rows {
		if note(&r.producers, uint32(rows[i].ID)) {
			r.defined = append(r.defined, &rows[i])
		}
	}
	return nil
}

// note marks an id as known, and says whether it was new.
func note(known *[]bool, id uint32) bool {
	for len(*known) <= int(id) {
		*known = append(*known, make([]bool, max(64, len(*known)))...)
	}
	isNew := !(*known)[id]
	(*known)[id] = true
	return isNew
}

func knows(known []bool, id uint32) bool { return int(id) < len(known) && known[id] }

// knowsAll says whether all that a batch refers to was handed out.
func (r *Reader) knowsAll(b *Batch) bool {
	for _, id := range b.IDs {
		if !knows(r.series, uint32(id)) {
			return false
		}
	}
	for _, h := range b.Histograms {
		if !knows(r.series, h.GetSeriesId()) {
			return false
		}
	}
	return knows(r.producers, uint32(b.Producer))
}

// goOn finds more to read: in the same segment, in the next, or, having waited, in either.
func (r *Reader) goOn(ctx context.Context) error {
	for {
		step := r.j.stepFrom(r.number, r.scan.end, r.at)
		switch {
		case step.err != nil:
			return step.err
		case step.number != r.number:
			return r.open(step.number, step.end)
		case step.end > r.scan.end:
			r.scan.end = step.end
			return nil
		}
		select {
		case <-step.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// open starts on a segment.
func (r *Reader) open(number uint32, end int64) error {
	if err := r.Close(); err != nil {
		return fmt.Errorf("journal: close %s: %w", segmentName(r.number), err)
	}
	file, err := r.j.fs.Open(filepath.Join(r.j.dir, segmentName(number)))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrExpired, segmentName(number))
	}
	if err != nil {
		return fmt.Errorf("journal: open %s: %w", segmentName(number), err)
	}
	r.file, r.number = file, number
	r.scan = scanner{file: file, number: number, off: magicBytes, end: end, window: r.scan.window[:0],
		damaged: func(from, to int64) { r.j.reportDamage(number, from, to) }}
	return nil
}

// step is where a reader finds more: up to end in segment number. When that is where it is, it has to wait for changed.
type step struct {
	number  uint32
	end     int64
	changed <-chan struct{}
	err     error
}

// stepFrom says how a reader goes on that has read segment number up to end; at is its place.
func (j *Journal) stepFrom(number uint32, end int64, at Position) step {
	j.mu.Lock()
	defer j.mu.Unlock()
	if max(at, positionOf(number, end)) < j.before {
		return step{err: fmt.Errorf("%w: reader at %v was overtaken by Release up to %v", ErrExpired, at, j.before)}
	}
	for _, s := range j.segments {
		if s.number == number && s.end > end {
			return step{number: number, end: s.end}
		}
		if s.number > number && s.number >= at.segment() {
			return step{number: s.number, end: s.end}
		}
	}
	if j.closed && j.drained() {
		return step{err: ErrClosed}
	}
	return step{number: number, end: end, changed: j.changed}
}

// drained says whether the committer will write no more.
func (j *Journal) drained() bool {
	select {
	case <-j.committer.stopped:
		return true
	default:
		return false
	}
}
