package journal

// maxQueuedRecords bounds the queue where bytes do not: marks are small, and batches may be.
const maxQueuedRecords = 65_536

// queued is a record that waits to be written. One without a kind is only waited for: a duplicate.
type queued struct {
	kind    kind
	payload []byte
	done    func(error) // of a batch
	key     batchKey    // of a batch
	timeMs  int64       // of a batch: when it was received
}

// size is what the record takes on disk; one that is only waited for counts too, against endless duplicates.
func (r queued) size() int64 { return headerBytes + int64(len(r.payload)) }

// lasting says whether the record is kept over a failed write: who is connected must not be forgotten.
func (r queued) lasting() bool {
	return r.kind == kindConnected || r.kind == kindDisconnected || r.kind == kindStarted
}

// queue is what waits to be written, what is being written included in bytes.
type queue struct {
	records []queued
	bytes   int64
}

func (q *queue) push(r queued) {
	q.records = append(q.records, r)
	q.bytes += r.size()
}

// take hands out the first records, as many as fit a group, at least one. Their bytes count until written is called.
func (q *queue) take() []queued {
	var size int64
	n := 0
	for n < len(q.records) && (n == 0 || size+q.records[n].size() <= groupBytes) {
		size += q.records[n].size()
		n++
	}
	group := q.records[:n:n]
	if q.records = q.records[n:]; len(q.records) == 0 {
		q.records = nil
	}
	return group
}

// written gives back the bytes of a group.
func (q *queue) written(group []queued) {
	for _, r := range group {
		q.bytes -= r.size()
	}
}

// empty takes everything out but what lasts, which goes behind the lasting records of a group that failed.
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

// definitions wait for the first record that needs them.
type definitions struct {
	series    []*seriesRow
	producers []*ProducerDefined
}

// take is their records, each as often as copiesOnDisk says.
func (d *definitions) take() []queued {
	var once []queued
	for start := 0; start < len(d.series); start += rowsPerRecord {
		part := d.series[start:min(start+rowsPerRecord, len(d.series))]
		once = append(once, queued{kind: kindSeries, payload: encodeSeries(part)})
	}
	if len(d.producers) > 0 {
		once = append(once, queued{kind: kindProducers, payload: encodeProducers(d.producers)})
	}
	*d = definitions{}
	var records []queued
	for range copiesOnDisk {
		records = append(records, once...)
	}
	return records
}
