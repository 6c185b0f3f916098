package journal

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// segment describes one segment file. Readers never read beyond end, because bytes after it may not be durable.
type segment struct {
	number uint32
	end    int64 // offset after its last durable record
	size   int64 // of the file

	missing Position // end of the previous segment, if its file is missing
}

func (s segment) endPosition() Position { return positionOf(s.number, s.end) }

// startSegment opens a new segment. If the recovered segments are not settled yet, it settles them first. dequeued is
// the group that will be written first. The new header must already contain the definitions in that group.
func (c *committer) startSegment(dequeued []queued) error {
	if err := c.j.keepLock(); err != nil {
		return err
	}
	if err := c.settle(); err != nil {
		return err
	}
	snapshot, fresh := c.j.nextHeader(dequeued)
	number, header := snapshot.header.number, snapshot.encode()
	file, err := c.createSegment(number, header)
	if err != nil {
		return fmt.Errorf("journal: start %s: %w", segmentName(number), err)
	}
	c.active, c.number = file, number
	c.offset = int64(len(header))
	c.limit = c.offset + c.j.o.SegmentBytes
	if !c.continued {
		fresh = nil
	}
	c.continued = true
	c.j.addSegment(segment{number: number, end: c.offset, size: c.offset}, fresh)
	return nil
}

// nextHeader returns the content of a new segment header: an unused number, and everything defined so far. fresh holds
// the definitions that no earlier record has, including those of queued records. A reader of files finds them in the
// header. Readers from memory receive fresh at the same place, so that all readers see the same order.
func (j *Journal) nextHeader(dequeued []queued) (_ *snapshot, fresh []queued) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.newest++
	previous := j.before
	if n := len(j.segments); n > 0 {
		previous = j.segments[n-1].endPosition()
	}
	fresh = []queued{{defined: j.unwritten(dequeued)}}
	j.fresh = definitions{}
	return j.state.snapshot(j.newest, previous), fresh
}

// unwritten returns the definitions that are in no written record yet, in the order of a segment header: series before
// the layouts that list them. The caller must hold mu.
func (j *Journal) unwritten(dequeued []queued) []Entry {
	var series, layouts, producers []Entry
	add := func(defined []Entry) {
		for _, entry := range defined {
			switch entry.(type) {
			case *SeriesDefined:
				series = append(series, entry)
			case *LayoutDefined:
				layouts = append(layouts, entry)
			case *ProducerDefined:
				producers = append(producers, entry)
			}
		}
	}
	for _, waiting := range [][]queued{dequeued, j.queue.records} {
		for i := range waiting {
			add(waiting[i].defined)
		}
	}
	add(j.fresh.entries())
	return slices.Concat(series, layouts, producers)
}

// createSegment makes the file, its header and its name durable before any entry is written to it. Otherwise a crash
// could leave acknowledged entries in a file that has no name.
func (c *committer) createSegment(number uint32, header []byte) (disk.File, error) {
	name := filepath.Join(c.j.dir, segmentName(number))
	file, err := c.j.fs.Create(name)
	if err != nil {
		return nil, err
	}
	if err = writeDurably(file, header, 0); err == nil {
		err = c.j.fs.SyncDir(c.j.dir)
	}
	if err != nil {
		_ = file.Close()
		_ = c.j.fs.Remove(name)
		return nil, err
	}
	return file, nil
}

// addSegment makes a new segment visible to readers, and accepts batches again after a failure. fresh holds the part of
// its header that readers in memory need; nil makes them read the header from the file.
func (j *Journal) addSegment(s segment, fresh []queued) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if fresh != nil {
		fresh[0].end = s.endPosition()
		j.ring.push(newGroup(j.durable, s.endPosition(), fresh), j.readByAll())
	}
	if j.failure != nil {
		j.log.Info("journal accepts writes again", "dir", j.dir, "segment", segmentName(s.number))
	}
	j.failure = nil
	j.figures.failing.Set(0)
	j.figures.written.Add(float64(s.size))
	j.segments = append(j.segments, s)
	j.bytes += s.size
	j.durable = s.endPosition()
	j.showSizes()
	j.notifyReaders()
}

// grow sets the end of the newest segment to what is durable now, so that readers can continue. The caller must hold
// mu.
func (j *Journal) grow(end int64) {
	newest := &j.segments[len(j.segments)-1]
	if end == newest.end {
		return
	}
	j.figures.written.Add(float64(end - newest.end))
	j.bytes += end - newest.size
	newest.end, newest.size = end, end
	j.durable = newest.endPosition()
	j.showSizes()
	j.notifyReaders()
}

// showSizes updates the gauges. The caller must hold mu.
func (j *Journal) showSizes() {
	j.figures.segments.Set(float64(len(j.segments)))
	j.figures.bytes.Set(float64(j.bytes))
	j.figures.ringBytes.Set(float64(j.ring.bytes))
	j.figures.epochs.Set(float64(len(j.state.epochs)))
	j.showDictionary()
	j.figures.queueBytes.Set(float64(j.queue.bytes))
	j.figures.queueLength.Set(float64(len(j.queue.records)))
}

// showDictionary updates the gauges of the dictionary. The caller must hold mu.
func (j *Journal) showDictionary() {
	j.figures.series.Set(float64(j.state.dict.known))
	j.figures.layouts.Set(float64(j.state.dict.knownLayouts))
	j.figures.layoutColumns.Set(float64(j.state.dict.columns))
	j.figures.producers.Set(float64(len(j.state.dict.byProducer)))
}

// positionOf returns the position of an offset in the file of a segment.
func positionOf(number uint32, offset int64) Position {
	return Position(uint64(number)<<32 | uint64(offset))
}

// Segment returns the number of the segment that contains the position.
func (p Position) Segment() uint32 { return uint32(p >> 32) }
func (p Position) offset() int64   { return int64(uint32(p)) }

// Since returns the bytes of the journal from an earlier position to p. If a segment began between them, it counts only
// those of p's segment.
func (p Position) Since(earlier Position) int64 {
	if p.Segment() != earlier.Segment() {
		return p.offset()
	}
	return p.offset() - earlier.offset()
}

// String returns segment and offset, for logs.
func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Segment(), p.offset()) }

const segmentSuffix = ".segment"

// segmentName returns the name of a segment's file in the journal's directory.
func segmentName(number uint32) string { return fmt.Sprintf("%010d%s", number, segmentSuffix) }

// parseSegmentName is the inverse of segmentName. Other files in the directory are ignored.
func parseSegmentName(name string) (number uint32, ok bool) {
	digits, found := strings.CutSuffix(name, segmentSuffix)
	if !found || len(digits) != 10 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), err == nil && n > 0
}
