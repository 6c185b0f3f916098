package grid

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/part"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// bytesASlice is an upper estimate of the average size of a slice on disk, in bytes. A write requires that much free
// space before it begins.
const bytesASlice = 4

// freeze is a head that is being written to disk. It takes no more slices, and it stays readable until its parts are
// published. If a write fails, the next attempt continues with the partitions that are not yet in written. A large head
// on a nearly full disk therefore makes progress.
type freeze struct {
	*head
	labels  []labels.Labels  // by id, as they were when the head was frozen
	upTo    uint64           // journal position up to which the head has everything
	written map[int64]*piece // parts by partition; not published yet
}

// Flush writes everything that was handed over to disk, and moves the durable position there. A store that receives
// slices does this by itself. Flush is for callers that need it at once, such as a snapshot.
func (s *Store) Flush(ctx context.Context) error {
	if s.closing.Err() != nil {
		return ErrClosed
	}
	if err := s.flush(ctx); err != nil {
		return err
	}
	return s.withTurn(ctx, func() error { return s.merge(ctx) })
}

// flush does the writing for Flush. Unlike Flush it also works during Close, and it does not merge.
func (s *Store) flush(ctx context.Context) error { return s.withTurn(ctx, s.write) }

// withTurn runs work that writes files. Only one such work runs at a time, because each builds on the manifest that the
// previous one published.
func (s *Store) withTurn(ctx context.Context, work func() error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("grid store: wait for the current write: %w", ctx.Err())
	}
	defer func() { <-s.turn }()
	return work()
}

// work writes and merges in the background. It logs only the first of several failures in a row; the others are
// counted.
func (s *Store) work() {
	err := s.withTurn(context.Background(), func() error {
		if s.closing.Err() != nil {
			return nil
		}
		if err := s.write(); err != nil {
			return err
		}
		return s.merge(context.Background())
	})
	s.lock.Lock()
	first := err != nil && !s.failing
	s.working, s.failing = false, err != nil
	s.lock.Unlock()
	if first { // further failures are only counted
		s.log.Warn("grid store: write failed; retrying, slices stay in memory and in the journal", "error", err)
	}
}

// write deletes what is expired and writes everything that was handed over. The caller holds turn. A failure loses
// nothing: the frozen head stays in memory, and the journal keeps its records.
func (s *Store) write() error {
	started := time.Now()
	err := s.writeAll()
	s.figures.wrote(time.Since(started), err)
	s.lock.Lock()
	defer s.lock.Unlock()
	s.pause = 0
	if err != nil {
		s.pause = retryHandOvers
	}
	return err
}

// writeAll first deletes what is expired, since that may free the space that the write needs. If an earlier attempt
// left a frozen head, it writes that one first, and then what was handed over since.
func (s *Store) writeAll() error {
	if err := s.expire(); err != nil {
		return err
	}
	for {
		f, fresh := s.freeze()
		if f == nil {
			return nil
		}
		if err := s.writeFrozen(f); err != nil {
			return err
		}
		if fresh {
			return nil
		}
	}
}

// freeze returns what must be written: the head that an earlier attempt left (fresh is false), or else everything that
// was handed over. It returns nil if there is nothing to write.
func (s *Store) freeze() (f *freeze, fresh bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.frozen != nil {
		return s.frozen, false
	}
	s.handovers, s.idle = 0, 0
	if s.live.slices() == 0 && s.handed <= s.manifest.position {
		return nil, true
	}
	t := s.live.table
	s.frozen = &freeze{head: s.live, labels: t.labels, upTo: s.handed, written: map[int64]*piece{}}
	if t.dead > 0 && (t.dead >= len(t.labels)/4 || len(t.labels) >= s.options.MaxSeries) {
		t = t.renewed(s.options.MaxSeries)
	}
	s.live = newHead(t)
	return s.frozen, true
}

// writeFrozen writes a part for each partition, syncs the directory, and then publishes the manifest that lists the
// parts and has the new position. This order makes a crash harmless: a part that no manifest lists is ignored, and the
// journal still has its slices.
func (s *Store) writeFrozen(f *freeze) error {
	partitions := f.partitions(s.options.Partition.Milliseconds())
	if len(partitions) > 0 {
		if err := s.checkFree(int64(f.slices()) * bytesASlice); err != nil {
			return err
		}
	}
	order := s.order.of(&s.lock, f.table, f.labels)
	for _, at := range partitions {
		if f.written[at] != nil {
			continue
		}
		p, err := s.writePart(f, order, at)
		if err != nil {
			return err
		}
		f.written[at] = p
	}
	if len(partitions) > 0 {
		if err := s.fs.SyncDir(s.dir); err != nil {
			return fmt.Errorf("grid store: sync %s: %w", s.dir, err)
		}
	}
	added := slices.SortedFunc(maps.Values(f.written), byAge)
	m := s.manifest
	m.position = max(m.position, f.upTo)
	m.parts = slices.Clone(m.parts)
	for _, p := range added {
		p.added = s.sequence + 1
		m.parts = append(m.parts, p.entry)
	}
	if err := s.publish(m); err != nil {
		return err
	}
	s.figures.flushed(added)
	s.lock.Lock()
	defer s.lock.Unlock()
	s.pieces = append(s.pieces, added...)
	s.frozen = nil
	return nil
}

// writePart writes the slices of one partition into a part. It reuses the buffers of one series for the next, so it
// needs little memory in addition to the head.
func (s *Store) writePart(f *freeze, order []uint32, fromMs int64) (*piece, error) {
	toMs := fromMs + s.options.Partition.Milliseconds() - 1
	return s.makePart(entry{}, func(w *part.Writer) error {
		var memory reading
		var runs []run.Run
		for _, id := range order {
			memory.reset()
			runs = f.runs(&memory, id, fromMs, toMs, runs[:0])
			if len(runs) == 0 {
				continue
			}
			if err := w.Add(f.labels[id], runs); err != nil {
				return err
			}
		}
		return nil
	})
}

// makePart makes a part from what fill adds. It renames and syncs the file, but the new name is durable only after the
// directory is synced. It removes the file if anything fails.
func (s *Store) makePart(e entry, fill func(w *part.Writer) error) (*piece, error) {
	e.number = s.manifest.next
	e.oldest = cmp.Or(e.oldest, e.number)
	name := s.path(partName(e.number))
	_ = s.fs.Remove(name + disk.AsideSuffix) // of an earlier attempt that failed
	w, err := part.Create(s.fs, name+disk.AsideSuffix, part.WriterOptions{Levels: e.level >= levelledFrom,
		Cache: &s.texts})
	if err != nil {
		return nil, fmt.Errorf("grid store: %w", err)
	}
	var info part.Info
	if err = fill(w); err == nil {
		info, err = w.Finish()
	}
	if err != nil {
		return nil, fmt.Errorf("grid store: write %s: %w", name, errors.Join(err, w.Abandon()))
	}
	if err := s.fs.Rename(name+disk.AsideSuffix, name); err != nil {
		return nil, fmt.Errorf("grid store: write %s: %w", name, errors.Join(err, s.fs.Remove(name+disk.AsideSuffix)))
	}
	opened, err := s.openPart(name)
	if err != nil {
		return nil, fmt.Errorf("grid store: read back %s: %w", name, errors.Join(err, s.fs.Remove(name)))
	}
	s.lock.Lock()
	s.manifest.next++ // numbers are never reused, even if the part is never listed
	s.lock.Unlock()
	e.minMs, e.maxMs, e.series, e.slices, e.bytes = info.MinMs, info.MaxMs, info.Series, info.Slices, info.Bytes
	return &piece{entry: e, Part: opened}, nil
}

// byAge orders pieces by their oldest slices.
func byAge(a, b *piece) int { return cmp.Compare(a.oldest, b.oldest) }

// publish makes m the content of the store. It writes the manifest to a temporary file, syncs and renames it, and syncs
// the directory. If that fails, the next start may find either manifest. Nothing that the failed manifest lists may
// therefore be deleted before another one is published.
func (s *Store) publish(m manifest) error {
	s.sequence++
	m.sequence = s.sequence
	m.next = s.manifest.next
	name := manifestName(m.sequence)
	if err := disk.WriteAside(s.fs, s.dir, s.path(name), m.encode()); err != nil {
		s.stale = append(s.stale, m.sequence)
		return fmt.Errorf("grid store: publish %s: %w", s.path(name), err)
	}
	previous := s.manifest.sequence
	s.lock.Lock()
	s.manifest = m
	s.lock.Unlock()
	s.durable.Store(m.position)
	for _, sequence := range s.stale {
		s.remove(manifestName(sequence))
		s.remove(manifestName(sequence) + disk.AsideSuffix)
	}
	for _, number := range s.unlisted {
		s.remove(partName(number))
	}
	s.stale, s.unlisted = nil, nil
	if previous > 0 {
		s.stale = []uint64{previous}
	}
	return nil
}
