package grid

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/part"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// These constants decide when parts are merged. A merge writes the same slices again, and in return a query has to open
// fewer files.
const (
	// mergeFan is the number of parts of one level and partition that are merged. Six parts of ten minutes become one
	// hour, and six of those become six hours.
	mergeFan = 6
	// levelledFrom is the number of merges after which a part also has coarser levels.
	levelledFrom = 2
	// quiet is the number of manifests after its newest part at which a partition counts as complete. It equals an hour
	// of flushes.
	quiet = 6
	// worthwhile decides whether a large part is rewritten. The other parts must together have at least 1/worthwhile of
	// its size, unless nothing came for a hundred manifests.
	worthwhile = 8
)

// mergeable returns the next parts to merge, oldest first, or nil if there are none. last reports that no more parts
// are expected in their partition. Merging keeps the number of files small that a query opens. It never crosses a
// partition, so that retention can delete whole files.
func mergeable(all []*piece, sequence uint64, widthMs int64) (group []*piece, last bool) {
	partitions := map[int64][]*piece{}
	var order []int64
	for _, p := range all {
		at := floor(p.minMs, widthMs)
		if p.damaged || floor(p.maxMs, widthMs) != at {
			continue
		}
		if partitions[at] == nil {
			order = append(order, at)
		}
		partitions[at] = append(partitions[at], p)
	}
	for _, at := range order {
		if group := tier(partitions[at]); group != nil {
			return group, false
		}
		if group := partitions[at]; complete(group, sequence) {
			return group, true
		}
	}
	return nil, false
}

// tier returns the parts of the first level that has at least mergeFan of them. The merged part is one level higher, so
// each slice is rewritten at most once per level.
func tier(parts []*piece) []*piece {
	levels := map[int][]*piece{}
	for _, p := range parts {
		levels[p.level] = append(levels[p.level], p)
	}
	for _, p := range parts {
		if len(levels[p.level]) >= mergeFan {
			return levels[p.level]
		}
	}
	return nil
}

// complete reports whether all parts of a partition should be merged into one. Nothing more is expected in a partition
// after quiet manifests. A large part is not rewritten for a few late slices until a hundred manifests have passed.
func complete(parts []*piece, sequence uint64) bool {
	var newest uint64
	var sum, largest int64
	for _, p := range parts {
		newest = max(newest, p.added)
		sum += p.bytes
		largest = max(largest, p.bytes)
	}
	since := sequence - min(newest, sequence)
	return len(parts) > 1 && since >= quiet && ((sum-largest)*worthwhile >= largest || since >= 100)
}

// merge merges parts until there is nothing left to merge. The caller holds turn. If ctx is done or the store is
// closed, it abandons the current merge. The parts then stay as they are, and the next call begins with them.
func (s *Store) merge(ctx context.Context) error {
	merging, cancel := context.WithCancel(s.closing)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	for merging.Err() == nil {
		group, last := mergeable(s.pieces, s.manifest.sequence, s.options.Partition.Milliseconds())
		if group == nil {
			return nil
		}
		if err := s.mergeInto(merging, group, last); err != nil {
			if merging.Err() != nil && errors.Is(err, merging.Err()) {
				return nil
			}
			s.figures.mergesFailed.Inc()
			return err
		}
	}
	return nil
}

// mergeInto merges parts into one and publishes it in their place. If it is not the last merge of its partition and the
// result gets no levels, it does not join columns. A later merge does that, and this one takes a third of the time. If
// a source is damaged, nothing is merged, so that its intact slices stay readable.
func (s *Store) mergeInto(ctx context.Context, group []*piece, last bool) error {
	e := entry{oldest: group[0].oldest}
	sources := make([]*part.Part, len(group))
	gone := map[uint64]string{}
	var bytes int64
	for i, p := range group {
		sources[i] = p.Part
		gone[p.number] = ""
		e.level, e.added = max(e.level, p.level), max(e.added, p.added)
		bytes += p.bytes
	}
	e.level++
	if err := s.checkFree(bytes); err != nil {
		return fmt.Errorf("merge parts: %w", err)
	}
	merge := part.Merge
	if !last && e.level < levelledFrom {
		merge = part.Gather
	}
	merged, err := s.makePart(e, func(w *part.Writer) error { return merge(ctx, w, sources) })
	if damage, is := errors.AsType[*run.DamageError](err); is {
		s.spare(group, damage)
		return nil
	}
	if err != nil {
		return err
	}
	unread, err := s.replace(gone, merged)
	if err == nil {
		s.figures.merged.Inc()
		s.sweep(unread)
	}
	return err
}

// replace publishes a part in the place of others, and returns those of the others that nobody reads. After an error it
// is unknown whether the manifest is on disk: the next start may find it. The new part is therefore kept on disk until
// another manifest is published.
func (s *Store) replace(gone map[uint64]string, made *piece) (unread []*piece, err error) {
	if err = s.fs.SyncDir(s.dir); err != nil {
		err = fmt.Errorf("grid store: sync %s: %w", s.dir, err)
	} else {
		m := s.manifest
		m.parts = append(m.without(gone), made.entry)
		slices.SortStableFunc(m.parts, func(a, b entry) int { return cmp.Compare(a.oldest, b.oldest) })
		err = s.publish(m)
	}
	if err != nil {
		s.unlisted = append(s.unlisted, made.number)
		return nil, errors.Join(err, made.Close())
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	unread = s.drop(gone)
	s.pieces = append(s.pieces, made)
	slices.SortStableFunc(s.pieces, byAge)
	return unread, nil
}

// spare excludes a damaged part from further merges. The error names the file. If the file is not one of the group, the
// whole group is excluded.
func (s *Store) spare(group []*piece, damage *run.DamageError) {
	s.log.Error("grid store: a part is damaged and is not merged with others; run bullet-metrics fsck", "error", damage)
	at := slices.IndexFunc(group, func(p *piece) bool { return p.Name() == damage.File })
	for i, p := range group {
		p.damaged = p.damaged || at < 0 || i == at
	}
}
