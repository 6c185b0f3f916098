package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Reader reads durable entries in order, for one store. It is not safe for concurrent use.
//
// A reader that keeps up receives the appended entries themselves from the ring in memory, and decodes nothing. A
// reader that lags reads the segment files. Both deliver the same entries in the same order, on which the slicer
// relies. To start in the middle of a segment, a reader first reads the definitions in its header.
type Reader struct {
	j    *Journal
	from Position // start position; before it, only definitions are read
	at   Position // position to resume from

	// In memory: a group, and the index of its next item.
	group *group
	item  int

	// In a file.
	number uint32 // of the segment being read; 0 if none is
	file   disk.File
	scan   scanner
	closed segment // a segment that could not be opened

	// The ids that are defined up to the reader's position. They keep segment headers from being repeated to the
	// caller, and batches from coming without their definitions. complete reports that no definition is missing.
	series    idSet
	layouts   map[LayoutID]int // number of columns
	producers idSet
	complete  bool

	pending []Entry // definitions to return before the next record
}

// Reader returns a reader that starts after from: a position that a Reader returned, or 0 for the oldest entry. It
// returns ErrExpired if entries after from have been deleted, and ErrAhead if from belongs to another journal. The
// caller must close the reader, because an open reader keeps entries in the ring.
func (j *Journal) Reader(from Position) (*Reader, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	from = cmp.Or(from, j.before)
	if from < j.before {
		return nil, fmt.Errorf("%w: %v is before the oldest, %v", ErrExpired, from, j.before)
	}
	if from.Segment() > j.newest {
		return nil, fmt.Errorf("%w: %v, the newest segment of %s is %d", ErrAhead, from, j.dir, j.newest)
	}
	r := newReader(j, from)
	j.readers[r] = from
	return r, nil
}

// readByAll returns the position up to which all open readers have read, or 0 if there is no reader. The caller must
// hold mu.
func (j *Journal) readByAll() Position {
	if len(j.readers) == 0 {
		return 0
	}
	had := j.durable
	for _, at := range j.readers {
		had = min(had, at)
	}
	return had
}

func newReader(j *Journal, from Position) *Reader {
	return &Reader{j: j, from: from, at: from, layouts: map[LayoutID]int{}}
}

// Next waits for the next entry and returns it with the position to resume from after it. The definitions that are
// valid at the start position come before the first entry. Their position is the start position itself.
//
// The entry is shared with other readers and must not be changed. It stays valid, except for the bytes of a batch's
// blocks, which the next call may overwrite.
//
// ErrRead means that the disk did not return what was written, and Next may be called again. After Journal.Close, Next
// still returns the durable entries, and then ErrClosed.
func (r *Reader) Next(ctx context.Context) (Position, Entry, error) {
	for {
		if entry := r.nextPending(); entry != nil {
			return r.at, entry, nil
		}
		if r.group != nil {
			if entry := r.nextOfGroup(); entry != nil {
				return r.at, entry, nil
			}
			continue
		}
		rec, err := r.scan.next()
		if err == nil {
			if entry := r.read(rec); entry != nil {
				return r.at, entry, nil
			}
			continue
		}
		if !errors.Is(err, io.EOF) {
			r.j.figures.unreadable.Inc()
			return 0, nil, err
		}
		if len(r.pending) > 0 {
			r.from = min(r.from, r.place()) // there is no record in between
			continue
		}
		if err := r.advance(ctx); err != nil {
			return 0, nil, err
		}
	}
}

// nextPending returns the next pending definition. Before the reader has reached its start it returns none, because a
// later record may still forget the id.
func (r *Reader) nextPending() Entry {
	if len(r.pending) == 0 || r.place() < r.from {
		return nil
	}
	entry := r.pending[0]
	r.pending = r.pending[1:]
	return entry
}

// nextOfGroup returns the group's next entry. At the end of the group it returns nil and leaves the group.
func (r *Reader) nextOfGroup() Entry {
	for r.item < len(r.group.items) {
		next := r.group.items[r.item]
		r.item++
		r.at = next.end
		if entry := r.admit(next.entry); entry != nil {
			return entry
		}
	}
	r.at, r.group = r.group.to, nil
	return nil
}

// place returns how far the reader has read. It may be before at while the reader collects definitions for its start.
func (r *Reader) place() Position {
	if r.number == 0 {
		return r.at
	}
	return positionOf(r.number, r.scan.off)
}

// Close ends the reader. The ring then no longer keeps entries for it.
func (r *Reader) Close() error {
	r.j.mu.Lock()
	delete(r.j.readers, r)
	r.j.mu.Unlock()
	return r.closeFile()
}

func (r *Reader) closeFile() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// read decodes a record, or keeps its definitions for the next calls. Records before the reader's start are read only
// for their definitions. A record that cannot be decoded is counted as damage and skipped.
func (r *Reader) read(rec record) Entry {
	end := positionOf(r.number, rec.end)
	entry, err := r.decode(rec, end > r.at)
	if err != nil {
		r.j.reportDamage(r.number, rec.start, rec.end)
	}
	r.at = max(r.at, end)
	return entry
}

// decode returns the entry of a record, if it has one and wanted is true. Definitions go to pending instead, because
// one record contains up to 4,096 of them.
func (r *Reader) decode(rec record, wanted bool) (Entry, error) {
	switch {
	case rec.kind == kindForgotten:
		f, err := decodeForgotten(rec.payload)
		if err != nil {
			return nil, err
		}
		entry := r.admit(f)
		if !wanted {
			r.forget()
			entry = nil
		}
		return entry, nil
	case rec.kind == kindSeries && listsOnly(rec.payload, r.series.has):
		return nil, nil // the usual case for the header of the next segment
	case rec.kind.defines():
		definitions, err := decodeDefinitions(rec)
		first := len(r.pending)
		for _, d := range definitions {
			if entry := r.admit(d); entry != nil {
				r.pending = append(r.pending, entry)
			}
		}
		r.j.share(r.pending[first:])
		return nil, err
	case !wanted:
		return nil, nil
	case rec.kind.batch():
		return r.decodeBatch(rec)
	}
	entry, _, err := decodeControl(rec.kind, rec.payload)
	return entry, err
}

// decodeBatch returns a batch whose blocks refer to the record. It fails if the caller lacks a definition.
func (r *Reader) decodeBatch(rec record) (Entry, error) {
	b := new(Batch)
	if err := decodeBatch(rec.kind, rec.payload, b); err != nil {
		return nil, err
	}
	if !r.knowsAll(b) {
		return nil, errPayload
	}
	return b, nil
}

// Retained returns a copy of the batch that stays valid after the Reader's next call. Blocks that were read from a file
// refer to the reader's buffer, which the next call overwrites.
func (b *Batch) Retained() *Batch {
	copied := *b
	copied.Blocks = slices.Clone(b.Blocks)
	for i := range copied.Blocks {
		of := &copied.Blocks[i]
		of.Values, of.Presence = slices.Clone(of.Values), slices.Clone(of.Presence)
	}
	return &copied
}

// decodeDefinitions returns the entries of a record that defines something. The records that occur only in segment
// headers define nothing that a reader needs.
func decodeDefinitions(rec record) (entries []Entry, err error) {
	switch rec.kind {
	case kindSeries:
		rows, err := decodeSeries(rec.payload)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			entries = append(entries, &rows[i].SeriesDefined)
		}
	case kindLayouts:
		rows, err := decodeLayouts(rec.payload)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			entries = append(entries, &rows[i].LayoutDefined)
		}
	case kindProducers, kindProducersV1:
		rows, err := decodeProducers(rec.payload, rec.kind == kindProducers, 0)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			entries = append(entries, &rows[i].ProducerDefined)
		}
	}
	return entries, nil
}

// admit filters an entry from memory or a file, so that the caller sees each definition once. It drops definitions that
// the caller has, and ids of a Forgotten that the caller never received.
func (r *Reader) admit(entry Entry) Entry {
	switch e := entry.(type) {
	case *SeriesDefined:
		if !r.series.add(uint32(e.ID)) {
			return nil
		}
	case *ProducerDefined:
		if !r.producers.add(uint32(e.ID)) {
			return nil
		}
	case *LayoutDefined:
		if _, known := r.layouts[e.ID]; known || !r.hasSeries(e.Series) {
			return nil
		}
		r.layouts[e.ID] = len(e.Series)
	case *Forgotten:
		return r.admitForgotten(e)
	}
	return entry
}

// share replaces definitions that were read from a file by the dictionary's own rows. A reader that keeps them then
// does not keep a second copy of 500,000 series.
func (j *Journal) share(definitions []Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, entry := range definitions {
		switch e := entry.(type) {
		case *SeriesDefined:
			if row := j.state.dict.series.get(uint32(e.ID)); row != nil && row.Series == e.Series {
				definitions[i] = &row.SeriesDefined
			}
		case *LayoutDefined:
			if row := j.state.dict.layouts.get(uint32(e.ID)); row != nil && slices.Equal(row.Series, e.Series) {
				definitions[i] = &row.LayoutDefined
			}
		}
	}
}

func (r *Reader) hasSeries(ids []SeriesID) bool {
	for _, id := range ids {
		if !r.series.has(uint32(id)) {
			return false
		}
	}
	return true
}

func (r *Reader) admitForgotten(f *Forgotten) Entry {
	known := &Forgotten{TimeMs: f.TimeMs}
	for _, id := range f.Series {
		if r.series.remove(uint32(id)) {
			known.Series = append(known.Series, id)
		}
	}
	for _, id := range f.Layouts {
		if _, ok := r.layouts[id]; ok {
			delete(r.layouts, id)
			known.Layouts = append(known.Layouts, id)
		}
	}
	for _, id := range f.Producers {
		if r.producers.remove(uint32(id)) {
			known.Producers = append(known.Producers, id)
		}
	}
	if known.empty() {
		return nil
	}
	return known
}

// forget removes from pending the definitions that were forgotten before the reader's start.
func (r *Reader) forget() {
	r.pending = slices.DeleteFunc(r.pending, func(entry Entry) bool {
		switch e := entry.(type) {
		case *SeriesDefined:
			return !r.series.has(uint32(e.ID))
		case *ProducerDefined:
			return !r.producers.has(uint32(e.ID))
		case *LayoutDefined:
			_, known := r.layouts[e.ID]
			return !known
		}
		return false
	})
}

// knowsAll reports whether the caller received every definition that a batch uses. If not, the definition was in a
// damaged record. The batch then counts as damaged too, because the meaning of its values is unknown.
func (r *Reader) knowsAll(b *Batch) bool {
	if !r.hasSeries(b.IDs) || !r.producers.has(uint32(b.Producer)) {
		return false
	}
	for _, h := range b.Histograms {
		if !r.series.has(h.GetSeriesId()) {
			return false
		}
	}
	for i := range b.Blocks {
		if r.layouts[b.Blocks[i].Layout] != b.Blocks[i].Columns {
			return false
		}
	}
	return true
}

// advance finds more entries to read: in the ring, in the same segment, or in the next one. If there are none, it waits
// until the journal changes or ctx ends.
func (r *Reader) advance(ctx context.Context) error {
	if r.number != 0 && r.place() >= r.from {
		r.complete = true
	}
	for {
		step := r.j.stepFrom(r)
		switch {
		case step.err != nil:
			return step.err
		case step.group != nil:
			err := r.closeFile()
			r.number, r.scan.off, r.scan.end = 0, 0, 0
			r.group, r.item = step.group, step.item
			return err
		case step.segment.number != r.number, r.file == nil && step.segment.end > r.scan.end:
			return r.open(step)
		case step.segment.end > r.scan.end:
			r.scan.end = step.segment.end
			return nil
		}
		select {
		case <-step.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// open starts to read a segment. The segment may have been released since the step was chosen. That is no error if the
// reader needed only its definitions, because the next segment header repeats them.
func (r *Reader) open(s step) error {
	if err := r.closeFile(); err != nil {
		return fmt.Errorf("journal: close %s: %w", segmentName(r.number), err)
	}
	number := s.segment.number
	file, err := r.j.fs.Open(filepath.Join(r.j.dir, segmentName(number)))
	if errors.Is(err, fs.ErrNotExist) && s.segment.endPosition() <= r.j.Oldest() { // released since the step was chosen
		if s.segment.endPosition() <= r.at {
			return nil // only its definitions were needed, and the next header repeats them
		}
		return fmt.Errorf("%w: %s", ErrExpired, segmentName(number))
	}
	if err != nil {
		r.closed = s.segment
		r.j.figures.unreadable.Inc()
		return fmt.Errorf("%w: open %s: %w", ErrRead, segmentName(number), err)
	}
	r.closed = segment{}
	r.file, r.number = file, number
	r.scan = scanner{file: file, number: number, off: s.offset, end: s.segment.end, window: r.scan.window[:0],
		damaged: func(from, to int64) { r.j.reportDamage(number, from, to) }}
	return nil
}

// Skip skips what Next could not read (ErrRead), and counts it as damage. It skips one record if its length can be
// read, otherwise the rest of a disk page. If the file cannot be opened, it skips the whole segment. Without a
// preceding ErrRead it does nothing.
func (r *Reader) Skip() {
	if s := r.closed; s.number != 0 {
		r.j.reportDamage(s.number, 0, s.end)
		r.number, r.at, r.closed = s.number, max(r.at, s.endPosition()), segment{}
		r.from, r.complete = positionOf(s.number+1, 0), false // the next header repeats its definitions
		r.scan = scanner{number: s.number, off: s.end, end: s.end, window: r.scan.window[:0]}
		return
	}
	if r.file != nil {
		r.scan.skipUnreadable()
	}
}

// step is the decision where a reader continues: in a group of the ring, or in a segment from an offset up to its end.
// If the reader has already read that far, it must wait for changed.
type step struct {
	group *group
	item  int

	segment segment
	offset  int64
	changed <-chan struct{}
	err     error
}

// stepFrom decides where a reader that has read everything continues. It also records the reader's position, so that
// the ring can release the groups that every reader has received.
func (j *Journal) stepFrom(r *Reader) step {
	j.mu.Lock()
	defer j.mu.Unlock()
	place := max(r.at, r.place())
	if _, open := j.readers[r]; open {
		j.readers[r] = place
	}
	if place < j.before {
		return step{err: fmt.Errorf("%w: reader at %v was overtaken by Release up to %v", ErrExpired, place, j.before)}
	}
	if r.complete {
		if g, item := j.ring.after(place); g != nil {
			return step{group: g, item: item}
		}
	}
	for _, s := range j.segments {
		switch {
		case s.number == r.number && s.end > r.scan.end:
			return step{segment: s, offset: r.scan.off}
		case s.number <= r.number || s.number < r.at.Segment():
		case !r.complete || s.number > r.at.Segment():
			return step{segment: s, offset: magicBytes}
		case s.endPosition() > r.at: // the position is no longer in the ring, and no file is open
			return step{segment: s, offset: r.at.offset()}
		}
	}
	if j.closed && j.drained() {
		return step{err: ErrClosed}
	}
	return step{segment: segment{number: r.number, end: r.scan.end}, changed: j.changed}
}

// drained reports whether the committer will write no more.
func (j *Journal) drained() bool {
	select {
	case <-j.committer.stopped:
		return true
	default:
		return false
	}
}
