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

// wanted says what one selector needs of each series. All series of the selector share it. It depends only on the
// query's plan and the engine's hints, and not on the data.
type wanted struct {
	ctx          context.Context // kept here because storage.Series.Iterator has no context parameter
	plan         *plan.Plan
	minMs, maxMs int64
	noSlices     bool // only labels are needed
	thinned      bool // only the newest slice at or before each of instants is needed
	instants     plan.Instants
	computed     bool // only the results of windows are needed
	windows      plan.Windows
	levels       *levels // set if the windows' least or greatest numbers are needed
}

// seriesSet merges the series of all sources in the order of their labels. Each step compares the first remaining
// series of every source, and returns the least.
type seriesSet struct {
	wanted
	left     [][]run.Found // of each source in order of precedence, the series that the merge has not reached yet
	limit    int           // 0 means all
	given    int
	at       *series
	warnings annotations.Annotations
	err      error
}

// checkEvery is the number of series after which Next checks whether the query was cancelled.
const checkEvery = 128

// Next moves to the next series, and counts it against the query's limits before any of it is decoded.
//
// For windows that are computed here, it drops the metric's name, as the engine does for results of functions. If other
// reserved labels would be dropped too, two series might get the same labels. The engine then evaluates the query
// instead (plan.ErrNotComputed).
func (s *seriesSet) Next() bool {
	if s.err != nil || len(s.left) == 0 || s.limit > 0 && s.given >= s.limit {
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
	least := s.left[0][0].Labels
	for _, of := range s.left[1:] {
		if l := of[0].Labels; labels.Compare(l, least) < 0 {
			least = l
		}
	}
	s.at = &series{wanted: &s.wanted, labels: least}
	if s.computed && s.windows.Function != plan.LastOverTime {
		s.at.labels = least.DropReserved(schema.IsMetadataLabel)
		if s.at.labels.Len() != least.Len()-1 { // the results of two series might get the same labels
			s.err = plan.ErrNotComputed
			return false
		}
	}
	kept := s.left[:0]
	for _, of := range s.left {
		// A source that lists a series twice is read as if it were two sources.
		for len(of) > 0 && labels.Equal(of[0].Labels, least) {
			s.at.found = append(s.at.found, of[0])
			of = of[1:]
		}
		if len(of) > 0 {
			kept = append(kept, of)
		}
	}
	s.left = kept
	return true
}

// At returns the current series.
func (s *seriesSet) At() storage.Series { return s.at }

// Err returns the error that ended the set early, if there is one.
func (s *seriesSet) Err() error { return s.err }

// Warnings returns the damage that was met while series were searched.
func (s *seriesSet) Warnings() annotations.Annotations { return s.warnings }

// warn turns damage into a warning, so that the query is answered from the remaining data. It returns any other error.
func (s *seriesSet) warn(err error) error {
	if _, damaged := errors.AsType[*run.DamageError](err); !damaged {
		return err
	}
	s.warnings.Add(err)
	return nil
}

// series is one series and the sources of its slices, in order of precedence. Its slices are read when an iterator
// first moves.
type series struct {
	*wanted
	labels labels.Labels
	found  []run.Found
}

// Labels returns the labels under which the series is returned.
func (s *series) Labels() labels.Labels { return s.labels }

// Iterator returns an iterator over the series' slices. It reuses the buffers of used if that is an iterator of this
// package.
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
