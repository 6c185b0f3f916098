package read

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/schema"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

// wanted says what one selector needs of each series. All series of the selector share it. It follows from the query's
// plan and the engine's hints alone, and never from the data.
type wanted struct {
	ctx          context.Context // storage.Series has Iterator take none
	plan         *plan.Plan
	minMs, maxMs int64
	noSlices     bool // only labels
	thinned      bool // only the newest slice at or before each of instants
	instants     plan.Instants
	computed     bool // only the results of windows
	windows      plan.Windows
	levels       *levels // where the windows' least or greatest numbers are wanted
}

// head holds the series of one source that the merge has not reached yet. Both sources and heads are in the order of
// precedence.
type head struct {
	rank int
	left []run.Found
}

// seriesSet merges the series of all sources in the order of their labels. Each step looks at the first series of every
// source, and takes the least.
type seriesSet struct {
	wanted
	heads    []head // in the order of the sources
	limit    int    // 0: all
	given    int
	at       *series
	warnings annotations.Annotations
	err      error
}

// checkEvery is how many series are found between two checks whether the query was cancelled.
const checkEvery = 128

// Next finds the next series. It counts it against the query's limits before anything of it is decoded.
//
// A query whose windows are computed drops the metric's name, as the engine does for the results of functions. If other
// reserved labels would go with it, two series might get the same labels, and the query is answered by the engine
// instead (plan.ErrNotComputed).
func (s *seriesSet) Next() bool {
	if s.err != nil || len(s.heads) == 0 || s.limit > 0 && s.given >= s.limit {
		return false
	}
	if s.given%checkEvery == 0 {
		if s.err = s.ctx.Err(); s.err != nil {
			return false
		}
	}
	if s.err = s.plan.ReadSeries(1); s.err != nil {
		return false
	}
	s.given++
	least := s.heads[0].left[0].Labels
	for _, h := range s.heads[1:] {
		if l := h.left[0].Labels; labels.Compare(l, least) < 0 {
			least = l
		}
	}
	s.at = &series{wanted: &s.wanted, labels: least}
	if s.computed && s.windows.Function != plan.LastOverTime {
		s.at.labels = least.DropReserved(schema.IsMetadataLabel)
		if s.at.labels.Len() != least.Len()-1 { // results of two series might come under the same labels
			s.err = plan.ErrNotComputed
			return false
		}
	}
	kept := s.heads[:0]
	for _, h := range s.heads {
		// A source that holds a series twice under one set of labels is read as if it were two.
		for len(h.left) > 0 && labels.Equal(h.left[0].Labels, least) {
			s.at.found = append(s.at.found, h.left[0])
			h.left = h.left[1:]
		}
		if len(h.left) > 0 {
			kept = append(kept, h)
		}
	}
	s.heads = kept
	return true
}

// At is the series that Next found.
func (s *seriesSet) At() storage.Series { return s.at }

// Err is why Next ended early, if it did.
func (s *seriesSet) Err() error { return s.err }

// Warnings are what could not be read while series were looked for.
func (s *seriesSet) Warnings() annotations.Annotations { return s.warnings }

// warn turns damage into a warning, so that the query still answers from the rest. It returns any other error.
func (s *seriesSet) warn(err error) error {
	if _, damaged := errors.AsType[*run.DamageError](err); !damaged {
		return err
	}
	s.warnings.Add(err)
	return nil
}

// series is one series with the places where its slices are, in the order of precedence. Its slices are read when an
// iterator moves.
type series struct {
	*wanted
	labels labels.Labels
	found  []run.Found
}

// Labels are what the series is known by.
func (s *series) Labels() labels.Labels { return s.labels }

// Iterator reads the series' slices. It reuses the buffers of used if that is an iterator of this package.
func (s *series) Iterator(used chunkenc.Iterator) chunkenc.Iterator {
	if s.computed {
		c, ours := used.(*computing)
		if !ours {
			c = &computing{}
		}
		c.reset(s)
		return c
	}
	it, ours := used.(*iterator)
	if !ours {
		it = &iterator{}
	}
	it.reset(s)
	return it
}
