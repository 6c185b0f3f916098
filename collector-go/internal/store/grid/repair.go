package grid

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/part"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/run"
)

// Repair opens a store that nobody has open, writes every part again that has damaged pages, without these, and returns the names of the
// parts that it replaced. What a damaged page held is gone; no query warns of it any more.
func Repair(dir string, options Options) (replaced []string, err error) {
	s, err := Open(dir, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close(context.Background())) }()
	err = s.withTurn(context.Background(), func() error {
		for _, p := range append([]*piece(nil), s.pieces...) {
			name, err := s.repairPart(p)
			if err != nil {
				return err
			}
			if name != "" {
				replaced = append(replaced, name)
			}
		}
		return nil
	})
	return replaced, err
}

// repairPart replaces a part that is damaged; its name is "" where it is whole.
func (s *Store) repairPart(p *piece) (name string, err error) {
	damaged := false
	if err := p.Check(func(*run.DamageError) { damaged = true }); err != nil || !damaged {
		return "", err
	}
	name = s.path(partName(p.number))
	e := p.entry
	fresh, err := s.makePart(entry{oldest: e.oldest, level: e.level}, func(w *part.Writer) error { return copyReadable(w, p.Part) })
	if err != nil {
		return "", err
	}
	if err := s.fs.SyncDir(s.dir); err != nil {
		return "", err
	}
	m := s.manifest
	m.parts = m.without(map[uint64]string{p.number: "damaged"})
	fresh.added = s.sequence + 1
	m.parts = append(m.parts, fresh.entry)
	if err := s.publish(m); err != nil {
		return "", err
	}
	s.lock.Lock()
	pieces := make([]*piece, 0, len(s.pieces))
	for _, other := range s.pieces {
		if other != p {
			pieces = append(pieces, other)
		}
	}
	s.pieces = append(pieces, fresh)
	s.lock.Unlock()
	return name, errors.Join(p.Close(), s.fs.Remove(name))
}

// copyReadable adds all of a part that can be read.
func copyReadable(w *part.Writer, from *part.Part) error {
	all, err := from.Select(context.Background(), math.MinInt64, math.MaxInt64, []*labels.Matcher{labels.MustNewMatcher(labels.MatchNotEqual, model.MetricNameLabel, "")})
	var damage *run.DamageError
	if err != nil && !errors.As(err, &damage) {
		return err
	}
	for _, found := range all {
		runs, err := found.Reader.Runs(found.Ref, math.MinInt64, math.MaxInt64, nil)
		if err != nil && !errors.As(err, &damage) {
			return fmt.Errorf("%s: %w", found.Labels, err)
		}
		if len(runs) == 0 {
			continue
		}
		if err := w.Add(found.Labels, runs); err != nil {
			return err
		}
	}
	return nil
}

// Extent is the ends of the oldest and the newest slice, gap markers included, as far as parts and memory say without being read; ok is
// false where there is none.
func (s *Store) Extent(ctx context.Context) (oldestMs, newestMs int64, ok bool, err error) {
	if err := s.Flush(ctx); err != nil {
		return 0, 0, false, err
	}
	s.lock.RLock()
	defer s.lock.RUnlock()
	for i, p := range s.pieces {
		if i == 0 {
			oldestMs, newestMs, ok = p.minMs, p.maxMs, true
		}
		oldestMs, newestMs = min(oldestMs, p.minMs), max(newestMs, p.maxMs)
	}
	return oldestMs, newestMs, ok, nil
}
