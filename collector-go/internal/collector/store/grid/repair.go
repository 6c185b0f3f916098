package grid

import (
	"context"
	"errors"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/part"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// Repair removes the damage from a store that no process has open, and reports what that costs. It replaces a damaged
// manifest, sets aside a part that cannot be opened, and rewrites a part with damaged pages from its readable data.
// Damaged files are kept, with names that end in ".damaged", as long as retention keeps slices. Repair deletes nothing
// else, whatever the retention is.
func Repair(dir string, o Options, report func(*run.DamageError)) error {
	o.RetentionTime, o.RetentionBytes, o.MinFreeBytes = 0, 0, 0
	if err := Check(o.filled().FS, dir, report); err != nil {
		return err
	}
	s, err := Open(dir, o)
	if err != nil {
		return err
	}
	err = s.withTurn(context.Background(), s.repair)
	return errors.Join(err, s.Close(context.Background()))
}

// repair rewrites each part that has damage.
func (s *Store) repair() error {
	for _, p := range slices.Clone(s.pieces) {
		intact := true
		if err := p.Check(func(*run.DamageError) { intact = false }); err != nil {
			return err
		}
		if intact {
			continue
		}
		if err := s.writeAgain(p); err != nil {
			return err
		}
	}
	return nil
}

// writeAgain replaces a damaged part by one with its readable data.
func (s *Store) writeAgain(p *piece) error {
	e := entry{oldest: p.oldest, level: p.level, added: p.added}
	again, err := s.makePart(e, func(w *part.Writer) error {
		var adding error
		err := p.Each(func(l labels.Labels, runs []run.Run) error {
			adding = w.Add(l, runs)
			return adding
		})
		if _, damaged := errors.AsType[*run.DamageError](err); damaged && adding == nil {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	unread, err := s.replace(map[uint64]string{p.number: ""}, again)
	if err != nil {
		return err
	}
	s.setAside(partName(p.number))
	s.sweep(unread)
	return nil
}

// SetPosition sets the journal position of a store that no process has open. It is for a journal that was lost or
// replaced. The old position would make the store skip records of the new journal, or wait for records that never come.
// Slices in parts are kept.
func SetPosition(dir string, o Options, position uint64) error {
	o.RetentionTime, o.RetentionBytes, o.MinFreeBytes = 0, 0, 0
	s, err := Open(dir, o)
	if err != nil {
		return err
	}
	err = s.withTurn(context.Background(), func() error {
		m := s.manifest
		m.position = position
		return s.publish(m)
	})
	s.lock.Lock()
	s.handed, s.replayed = position, position
	s.lock.Unlock()
	return errors.Join(err, s.Close(context.Background()))
}
