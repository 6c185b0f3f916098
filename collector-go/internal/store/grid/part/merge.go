package part

import (
	"errors"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/run"
)

// Merge adds all series of the sources, oldest source first, to w. Where two have a slice of one kind at one time, the older source's
// stays. Damage in a source ends it with a *run.DamageError: merging must not turn damage into silence.
func Merge(w *Writer, sources []*Part) error {
	cursors := make([]*cursor, 0, len(sources)) // oldest first
	for _, p := range sources {
		c := &cursor{part: p}
		if err := c.next(); err == nil {
			cursors = append(cursors, c)
		} else if !errors.Is(err, errEnd) {
			return err
		}
	}
	var lists [][]run.Run
	for len(cursors) > 0 {
		least := cursors[0].labels
		for _, c := range cursors[1:] {
			if labels.Compare(c.labels, least) < 0 {
				least = c.labels
			}
		}
		lists = lists[:0]
		left := cursors[:0]
		for _, c := range cursors {
			if labels.Compare(c.labels, least) == 0 {
				lists = append(lists, c.runs)
				if err := c.next(); errors.Is(err, errEnd) {
					continue
				} else if err != nil {
					return err
				}
			}
			left = append(left, c)
		}
		cursors = left
		if err := w.Add(least, Join(lists...)); err != nil {
			return err
		}
	}
	return nil
}
