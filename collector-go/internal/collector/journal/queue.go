package journal

import "slices"

// maxQueuedRecords bounds the queue in addition to its bytes, because control records are small and batches may be.
const maxQueuedRecords = 65_536

// queued is a record that waits to be written. A record without a kind is a duplicate batch. Nothing is written for it,
// and its callback runs when the first copy is durable.
type queued struct {
	kind    kind
	payload []byte      // for a batch only its histograms and notes; the rest is encoded on writing
	entry   Entry       // what readers receive; nil for none, or for definitions
	defined []Entry     // what readers receive for a record of definitions
	done    func(error) // of a batch
	key     batchName   // of a batch
	of      string      // topology to whose share of the queue it counts; "" for none
	bytes   int64       // upper bound of the payload's length
	end     Position    // set when it is written
}

// size returns the number of bytes that a record counts for in the queue. A duplicate has a size too, so that a sender
// cannot fill the memory with duplicates.
func (r *queued) size() int64 { return headerBytes + max(r.bytes, int64(len(r.payload))) }

// lasting reports whether the record stays queued after a failed write. Senders send batches again. Nobody repeats the
// start or end of a stream, a move, or the forgetting of ids.
func (r *queued) lasting() bool {
	switch r.kind {
	case kindConnected, kindDisconnected, kindMoved, kindStarted, kindForgotten:
		return true
	}
	return false
}

// appendTo encodes the record for a position. A batch is encoded here and not in Append, because its checksum covers
// its position. The streams then also do not wait for the encoding.
func (r *queued) appendTo(to []byte, at Position) []byte {
	start := len(to)
	to = beginRecord(to)
	if r.kind.batch() {
		to = appendBatch(to, r.entry.(*Batch), r.payload)
	} else {
		to = append(to, r.payload...)
	}
	finishRecord(to[start:], at, r.kind)
	return to
}

// appendQueued appends records to the content of a file from start on, and sets the end of each record.
func appendQueued(to []byte, start Position, records []queued) []byte {
	for i := range records {
		r := &records[i]
		if r.kind != 0 {
			to = r.appendTo(to, start+Position(len(to)))
		}
		r.end = start + Position(len(to))
	}
	return to
}

// queue holds the records that wait to be written. Its bytes include the group that is being written, because that
// memory is still in use. It is protected by Journal.mu.
type queue struct {
	records []queued
	bytes   int64
	spare   []queued // memory of a written group, for reuse
	shares  map[string]share
	enough  int // records for which the committer waits
}

// share is the part of the queue that one topology uses, counted like the queue.
type share struct {
	records int
	bytes   int64
}

// shareOfFree limits a topology to this many times the free space of the queue. One topology alone may use two thirds
// of it. Whatever the others do, some space stays free for a topology that starts to send.
const shareOfFree = 2

// full reports whether a topology has reached its share of a queue with the limit most, in bytes.
func (q *queue) full(topology string, most int64) bool {
	has := q.shares[topology]
	return has.bytes > 0 && has.bytes >= shareOfFree*(most-q.bytes) || has.records > 0 &&
		has.records >= shareOfFree*(maxQueuedRecords-len(q.records))
}

// count adds records and bytes to a topology's share.
func (q *queue) count(topology string, records int, bytes int64) {
	if topology == "" {
		return
	}
	if q.shares == nil {
		q.shares = map[string]share{}
	}
	has := q.shares[topology]
	has.records, has.bytes = has.records+records, has.bytes+bytes
	if has == (share{}) {
		delete(q.shares, topology)
		return
	}
	q.shares[topology] = has
}

// push adds a record at the end. It reuses the memory of a written group if there is any.
func (q *queue) push(r queued) {
	if q.records == nil {
		q.records, q.spare = q.spare, nil
	}
	q.records = append(q.records, r)
	q.bytes += r.size()
	q.count(r.of, 1, r.size())
}

// plenty reports whether so much is queued or being written that the committer must not wait for more.
func (q *queue) plenty() bool { return q.bytes >= plentyBytes || len(q.records) >= q.enough }

// take removes the records of the next group: as many as fit into groupBytes, at least one. Their bytes count until
// written is called.
func (q *queue) take() []queued {
	var size int64
	n := 0
	for n < len(q.records) && (n == 0 || size+q.records[n].size() <= groupBytes) {
		size += q.records[n].size()
		n++
	}
	group := q.records[:n:n]
	for i := range group {
		q.count(group[i].of, -1, 0)
	}
	if q.records = q.records[n:]; len(q.records) == 0 {
		q.records = nil
	}
	return group
}

// written removes the bytes of a group from the counts.
func (q *queue) written(group []queued) {
	for i := range group {
		size := group[i].size()
		q.bytes -= size
		q.count(group[i].of, 0, -size)
	}
}

// reuse keeps the memory of a written group for the next one. The caller must not use the group any more.
func (q *queue) reuse(group []queued) {
	if cap(group) > cap(q.spare) && cap(group) <= maxSpareRecords {
		clear(group)
		q.spare = group[:0]
	}
}

const maxSpareRecords = 4096

// empty removes all records except the lasting ones, and returns the removed ones for their callbacks. failed is the
// group whose write failed. Its lasting records come first, so that the order is preserved.
func (q *queue) empty(failed []queued) (dropped []queued) {
	all := append(failed, q.records...)
	*q = queue{}
	for _, r := range all {
		if r.lasting() {
			q.push(r)
		} else {
			dropped = append(dropped, r)
		}
	}
	return dropped
}

// definitions are new ids that are in no record yet. They are written before the next record, so that defining a
// thousand series needs no separate write.
type definitions struct {
	series    []used[SeriesDefined]
	layouts   []used[LayoutDefined]
	producers []used[ProducerDefined]
}

func (d *definitions) empty() bool { return len(d.series)+len(d.layouts)+len(d.producers) == 0 }

// entries returns what readers receive for the definitions. Series come before the layouts that list them.
func (d *definitions) entries() []Entry {
	entries := make([]Entry, 0, len(d.series)+len(d.layouts)+len(d.producers))
	for _, r := range d.series {
		entries = append(entries, r.row)
	}
	for _, r := range d.layouts {
		entries = append(entries, r.row)
	}
	for _, r := range d.producers {
		entries = append(entries, r.row)
	}
	return entries
}

// columnsPerRecord bounds a layouts record. A record contains at least one layout.
const columnsPerRecord = 1 << 20

// records returns the records of all definitions, once each.
func (d *definitions) records() []queued {
	var records []queued
	for rows := range slices.Chunk(d.series, rowsPerRecord) {
		part := definitions{series: rows}
		records = append(records, queued{kind: kindSeries, payload: encodeSeries(part.series), defined: part.entries()})
	}
	for start := 0; start < len(d.layouts); {
		end, columns := start, 0
		for end < len(d.layouts) && (end == start || end-start < rowsPerRecord &&
			columns+len(d.layouts[end].row.Series) <= columnsPerRecord) {
			columns += len(d.layouts[end].row.Series)
			end++
		}
		part := definitions{layouts: d.layouts[start:end]}
		records = append(records, queued{kind: kindLayouts, payload: encodeLayouts(part.layouts),
			defined: part.entries()})
		start = end
	}
	for rows := range slices.Chunk(d.producers, rowsPerRecord) {
		part := definitions{producers: rows}
		records = append(records, queued{kind: kindProducers, payload: encodeProducers(part.producers),
			defined: part.entries()})
	}
	return records
}

// take removes the definitions and returns their records, each copiesOnDisk times.
func (d *definitions) take() []queued {
	if d.empty() {
		return nil
	}
	once := d.records()
	*d = definitions{}
	return slices.Repeat(once, copiesOnDisk)
}
