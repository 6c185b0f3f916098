// Package run is the vocabulary of the grid store: slices of one series at even distances, and a place where such runs
// can be found, in memory or on disk. It holds no logic.
package run

import (
	"context"
	"fmt"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
)

// Run is slices of one series at even distances: place i ends at FirstMs + i*StepMs. It is of numbers (Values) or of
// distributions (Histograms); the other is nil.
type Run struct {
	FirstMs int64
	StepMs  int64 // positive, also where there is one place
	// Present has a bit for each place that holds a slice, place 0 in the lowest bit of the first word; nil: all do.
	Present []uint64
	// Values has one for each place; what stands in a place without a slice means nothing. A gap's marker is
	// Prometheus' stale NaN.
	Values []float64
	// Given means that Values are the caller's: where it leaves them behind the end of what it appends runs to, the
	// next ones may take their place.
	Given bool
	// Histograms has one for each place. In a place that holds a slice, nil is a gap's marker.
	Histograms []*histogram.Histogram
}

// Places is how many there are, slices or not.
func (r *Run) Places() int { return max(len(r.Values), len(r.Histograms)) }

// LastMs is the end of the last place.
func (r *Run) LastMs() int64 { return r.FirstMs + int64(r.Places()-1)*r.StepMs }

// Has reports whether a place holds a slice.
func (r *Run) Has(place int) bool { return r.Present == nil || r.Present[place>>6]>>(place&63)&1 == 1 }

// Source is a place where slices are. It is safe for concurrent use; what it gives out is valid until its owner
// releases it, which is not while a querier is open.
type Source interface {
	// Select finds the series that all matchers match and that may have slices within [minMs, maxMs], in the order of
	// their labels (labels.Compare).
	Select(ctx context.Context, minMs, maxMs int64, matchers []*labels.Matcher) ([]Found, error)
	// LabelNames and LabelValues are sorted, of the series that all matchers match.
	LabelNames(ctx context.Context, matchers []*labels.Matcher) ([]string, error)
	LabelValues(ctx context.Context, name string, matchers []*labels.Matcher) ([]string, error)
}

// Found is a series in a source.
type Found struct {
	Labels labels.Labels
	Reader Reader
	Ref    uint32 // the source's own, for Reader
}

// Reader reads the slices of a series.
type Reader interface {
	// Runs appends the runs that have places within [minMs, maxMs], ascending by FirstMs; they may reach beyond. Runs
	// of one series may overlap in time (a changed interval, numbers beside distributions), but hold no two slices of
	// one kind at one time. The caller changes nothing in them. A *DamageError comes with all that could be read.
	Runs(ref uint32, minMs, maxMs int64, to []Run) ([]Run, error)
}

// LevelsMs are the widths of the windows whose least and greatest numbers may be kept beside the slices, the coarsest
// first. A window is (end-width, end]; ends are multiples of the width since the epoch. Each width is a multiple of the
// next.
var LevelsMs = [...]int64{3_600_000, 300_000, 60_000}

// Extent is where the slices of a series are.
type Extent struct {
	FirstMs, LastMs int64 // ends of the first and the last; the last is less where there is none
	// FinestMs is the finest of LevelsMs that the series has; it has all that are coarser too. 0: it has none.
	FinestMs int64
	// StepMs is how far the slices are apart where from the first to the last none is missing and all are numbers; 0:
	// that is not known.
	StepMs int64
	// Rises means that none of them is less than the one before: of a window the least is the first, the greatest the
	// last.
	Rises bool
}

// LevelReader is a Reader that may have the least and greatest numbers of a series' windows beside its slices.
type LevelReader interface {
	Reader
	// Extent is where the slices of a series are; it reads none.
	Extent(ref uint32) (Extent, error)
	// Extremes is, for the windows of a level that lie within (fromMs, toMs], one after the other, the number that
	// max_over_time (greatest) or min_over_time takes of all numbers of the series in the window. A window without
	// numbers is a place without a slice. An error names nothing about what Runs can read.
	Extremes(ref uint32, levelMs int64, greatest bool, fromMs, toMs int64) (Run, error)
}

// DamageError names the part of a file that cannot be read, and what is lost. The rest answers.
type DamageError struct {
	File         string
	What         string // "page", "index" or "footer", and where
	Labels       string // of the series; "" where it is not one
	FromMs, ToMs int64  // slices that end within are missing
	Err          error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s: %s of %s is damaged: slices from %d ms to %d ms are missing: %v", e.File, e.What, e.Labels,
		e.FromMs, e.ToMs, e.Err)
}

// Unwrap is what was wrong.
func (e *DamageError) Unwrap() error { return e.Err }
