package journal

import (
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

const (
	groupBytes  = 8 << 20   // of records that are made durable together; one record may exceed it
	writeBytes  = 512 << 10 // of records that are encoded at a time, so that they stay in the processor's cache
	plentyBytes = 256 << 10 // of queued records that are written without waiting for more

	calmAfter   = 8 * time.Millisecond  // between two records; then the times are calm
	calmRecords = int(Calm / calmAfter) // more than that in the interval mean that they are not
)

// committer is the only goroutine that writes to disk. It takes the queued records as a group, writes and fsyncs them
// together, and then calls their callbacks. The next group grows while the disk is busy, so throughput does not depend
// on the latency of an fsync.
//
// After a failed write or fsync it never writes to that file again. The kernel may have dropped the dirty pages, so a
// second fsync could succeed without the data. The committer seals the segment, drops the queued batches, and retries
// with a new file.
//
// All fields except the channels belong to its goroutine, or, in a stepped journal, to the caller of Commit.
type committer struct {
	j         *Journal
	work      chan struct{} // holds a token if there may be something to write
	plenty    chan struct{} // holds a token if so much is queued that the committer must not wait for more
	closing   chan struct{}
	stopped   chan struct{}
	unsettled []segment // found at the start and not yet known to be durable

	active disk.File // nil after a failure
	number uint32
	offset int64
	limit  int64 // offset at which the segment is full

	looked    time.Time // when the active segment's file was last found in the directory
	continued bool      // nothing has failed since the previous segment began, so the ring continues
	buffer    []byte
	begun     time.Time     // start of the last write
	apart     time.Duration // between its records: the time since the write before, divided by their number
}

func newCommitter(j *Journal) *committer {
	return &committer{j: j, work: make(chan struct{}, 1), plenty: make(chan struct{}, 1), closing: make(chan struct{}),
		stopped: make(chan struct{})}
}

// begin opens the first segment and starts the goroutine. If the disk refuses the segment, the journal starts anyway:
// the goroutine tries again, and senders keep their batches meanwhile.
func (c *committer) begin() {
	c.open()
	if !c.j.o.Stepped {
		go c.run()
	}
}

// open starts a new segment, or records why it could not. It signals work in both cases, because records that were
// queued during a failure are still waiting.
func (c *committer) open() {
	if err := c.startSegment(nil); err != nil {
		c.fail(nil, err)
	}
	c.notify()
}

// Commit does the work of the goroutine, for a journal with Options.Stepped. It tries a new segment after a failure,
// writes the queued records and calls their callbacks. It must be called by the goroutine that calls Close.
func (j *Journal) Commit() {
	if j.committer.active == nil {
		j.committer.open()
	}
	j.committer.drain()
}

func (c *committer) notify() { signal(c.work) }

// signal puts a token into a channel of capacity one, unless it holds one already. The receiver checks the state
// itself, so one token stands for any number of changes.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// stop writes what is queued, ends the goroutine and closes the active segment. Only Close calls it, once.
func (c *committer) stop() error {
	close(c.closing)
	if c.j.o.Stepped {
		c.drain()
		close(c.stopped)
	}
	<-c.stopped
	if c.active == nil {
		return nil
	}
	return c.active.Close()
}

func (c *committer) run() {
	defer close(c.stopped)
	for {
		if c.active == nil && !c.retry() {
			return
		}
		select {
		case <-c.work:
			c.drain()
		case <-c.closing:
			c.drain()
			return
		}
	}
}

// retry waits for RetryInterval and tries a new segment. It returns false when the journal closes.
func (c *committer) retry() bool {
	timer := time.NewTimer(c.j.o.RetryInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.closing:
		return false
	}
	c.open()
	return true
}

// gather delays the next write for a moment if little is queued, so that more records share one fsync. In calm times
// few wait for their answer, and it waits longer: each write costs a page, however small the record.
func (c *committer) gather() {
	c.await(c.j.o.GatherInterval, false)
	if c.apart >= calmAfter {
		c.await(c.j.o.CalmInterval, true)
	}
}

// await waits until interval has passed since the last write, or until enough is queued.
func (c *committer) await(interval time.Duration, calm bool) {
	rest := interval - time.Since(c.begun)
	if rest <= 0 || !c.waitsLittle(calm) {
		return
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.plenty:
	case <-c.closing:
	}
}

// waitsLittle reports whether records are queued, but not many. From then on, plenty is signalled when there are many.
// In calm times, as many records as open streams are many: each sender may wait for its answer before it sends more.
func (c *committer) waitsLittle(calm bool) bool {
	c.j.mu.Lock()
	defer c.j.mu.Unlock()
	select {
	case <-c.plenty: // from before
	default:
	}
	c.j.queue.enough = maxQueuedRecords / 2
	if calm {
		c.j.queue.enough = min(calmRecords, max(c.j.state.streams, 1))
	}
	return len(c.j.queue.records) > 0 && !c.j.queue.plenty()
}

// drain writes group after group until the queue is empty or a write fails.
func (c *committer) drain() {
	var group []queued
	for c.active != nil {
		c.gather()
		group = c.takeGroup(group)
		if len(group) == 0 {
			return
		}
		if err := c.commit(group); err != nil {
			c.fail(group, err)
			return
		}
		c.succeed(group)
	}
}

// takeGroup returns the next group. The memory of before, the previous group, is reused.
func (c *committer) takeGroup(before []queued) []queued {
	c.j.mu.Lock()
	defer c.j.mu.Unlock()
	c.j.queue.reuse(before)
	return c.j.queue.take()
}

// commit writes a group and makes it durable with one fsync. It encodes one part at a time, so that the bytes are still
// in the processor's cache when they are written.
func (c *committer) commit(group []queued) error {
	if c.offset >= c.limit {
		if err := c.rotate(group); err != nil {
			return err
		}
	}
	now := time.Now()
	c.apart, c.begun = now.Sub(c.begun)/time.Duration(len(group)), now
	end := c.offset
	for rest := group; len(rest) > 0; {
		n := writtenAtOnce(rest)
		c.buffer = appendQueued(c.buffer[:0], positionOf(c.number, end), rest[:n])
		rest = rest[n:]
		if len(c.buffer) == 0 {
			continue
		}
		if _, err := c.active.WriteAt(c.buffer, end); err != nil {
			return fmt.Errorf("journal: %s: write: %w", segmentName(c.number), err)
		}
		end += int64(len(c.buffer))
	}
	if end == c.offset {
		return nil
	}
	if err := c.active.Sync(); err != nil {
		return fmt.Errorf("journal: %s: fsync: %w", segmentName(c.number), err)
	}
	if err := c.stillThere(c.begun); err != nil {
		return err
	}
	c.offset = end
	if cap(c.buffer) > 4*writeBytes {
		c.buffer = nil
	}
	c.j.figures.fsync.Observe(time.Since(c.begun).Seconds())
	return nil
}

// writtenAtOnce returns how many records are encoded and written together. It is at least one.
func writtenAtOnce(records []queued) (n int) {
	for size := int64(0); n < len(records) && (n == 0 || size+records[n].size() <= writeBytes); n++ {
		size += records[n].size()
	}
	return n
}

// stillThere checks, once per RetryInterval, that the file of the active segment is still in the directory. Data that
// is written to a removed file is lost when the process ends, even if fsync succeeds.
func (c *committer) stillThere(now time.Time) error {
	if now.Sub(c.looked) < c.j.o.RetryInterval {
		return nil
	}
	linked, err := c.active.Linked()
	switch {
	case err != nil:
		return fmt.Errorf("journal: look for %s: %w", segmentName(c.number), err)
	case !linked:
		return fmt.Errorf("journal: %s was removed or renamed while in use; samples that no store has yet are lost unless the file is restored before the next start",
			segmentName(c.number))
	}
	c.looked = now
	return nil
}

// writeDurably writes bytes at an offset and syncs the file. If it succeeds, the bytes survive a power failure.
func writeDurably(f disk.File, b []byte, at int64) error {
	if _, err := f.WriteAt(b, at); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("fsync: %w", err)
	}
	return nil
}

// rotate closes the full segment and starts the next one. dequeued is the group that will be written first to it.
func (c *committer) rotate(dequeued []queued) error {
	if err := c.active.Close(); err != nil {
		c.active = nil
		return fmt.Errorf("journal: close %s: %w", segmentName(c.number), err)
	}
	c.active = nil
	return c.startSegment(dequeued)
}

// succeed publishes a durable group to readers and calls its callbacks. It calls them without mu, because they may lock
// the mutexes of streams.
func (c *committer) succeed(records []queued) {
	j := c.j
	written := newGroup(0, positionOf(c.number, c.offset), records)
	j.mu.Lock()
	count := 0
	for i := range records {
		r := &records[i]
		switch {
		case r.kind.batch():
			j.state.epochs.add(r.key.origin, r.key.sequence, r.entry.(*Batch).ReceivedMs)
			delete(j.inFlight, r.key)
		case r.kind == kindForgotten:
			j.state.dict.drop(r.entry.(*Forgotten))
		}
		if r.kind != 0 {
			count++
		}
	}
	j.queue.written(records)
	if written.from = j.durable; written.from != written.to {
		j.ring.push(written, j.readByAll())
	}
	j.grow(c.offset)
	j.figures.records.Add(float64(count))
	j.mu.Unlock()
	for i := range records {
		if done := records[i].done; done != nil {
			done(nil)
		}
	}
}

// fail seals the segment and refuses the queued batches, so that their senders keep them. It keeps the records that
// must not be lost (see queued.lasting). Bytes after the segment's end do not belong to the journal. The header of the
// next segment records where this one ended.
func (c *committer) fail(group []queued, err error) {
	c.seal()
	c.continued = false
	j := c.j
	j.mu.Lock()
	first := j.failure == nil
	j.failure = err
	dropped := j.queue.empty(group)
	clear(j.inFlight)
	j.ring.clear() // the definitions that are dropped here will be only in the next segment's header
	j.showSizes()
	j.mu.Unlock()
	j.figures.fsyncFailed.Inc()
	j.figures.failing.Set(1)
	if first {
		j.log.Error("journal write failed; retrying while senders wait", "dir", j.dir, "err", err, "retry", j.o.RetryInterval)
	}
	for _, r := range dropped {
		if r.done != nil {
			r.done(j.full("write", err))
		}
	}
}

// seal abandons the active segment. Truncating it only saves disk space, so an error is ignored.
func (c *committer) seal() {
	if c.active == nil {
		return
	}
	_ = c.active.Truncate(c.offset)
	_ = c.active.Close()
	c.active = nil
}
