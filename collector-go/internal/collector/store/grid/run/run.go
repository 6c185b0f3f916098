// Package run defines the types that the grid store's packages share. A run is a sequence of slices of one series at
// equal distances. A source has such runs, in memory or on disk. It contains no logic.
package run

import (
	"context"
	"fmt"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
)

// Run holds slices of one series at equal distances: slot i ends at FirstMs + i*StepMs. It has either numbers (Values)
// or distributions (Histograms), and the other field is nil.
type Run struct {
	FirstMs int64
	StepMs  int64 // above 0, even if there is only one slot
	// Present has a bit for each slot that holds a slice. Slot 0 is the lowest bit of the first word. If it is nil,
	// all slots do.
	Present []uint64
	// Values has a number for each slot. The number at a slot without a slice is undefined. A gap marker is
	// Prometheus' stale NaN.
	Values []float64
	// Given states that Values belongs to the caller of Runs. If the caller leaves such a run behind the end of the
	// slice that it passes, Runs may overwrite its Values.
	Given bool
	// Histograms has an element for each slot. At a slot that holds a slice, nil is a gap marker.
	Histograms []*histogram.Histogram
}

// Slots returns the number of slots, with or without a slice.
func (r *Run) Slots() int { return max(len(r.Values), len(r.Histograms)) }

// LastMs returns the end of the last slot.
func (r *Run) LastMs() int64 { return r.FirstMs + int64(r.Slots()-1)*r.StepMs }

// Has reports whether a slot holds a slice.
func (r *Run) Has(slot int) bool { return r.Present == nil || r.Present[slot>>6]>>(slot&63)&1 == 1 }

// Source is a store of slices. It is safe for concurrent use. What it returns is valid until its owner releases the
// source, which it does not do while a querier is open.
type Source interface {
	// Select returns the series that all matchers match and that may have slices within [minMs, maxMs], sorted by
	// labels (labels.Compare).
	Select(ctx context.Context, minMs, maxMs int64, matchers []*labels.Matcher) ([]Found, error)
	// LabelNames and LabelValues return the sorted names, and the values of a name, in the series that all matchers
	// match.
	LabelNames(ctx context.Context, matchers []*labels.Matcher) ([]string, error)
	LabelValues(ctx context.Context, name string, matchers []*labels.Matcher) ([]string, error)
}

// Found is a series in a source.
type Found struct {
	Labels labels.Labels
	Reader Reader
	Ref    uint32 // the source's own reference, for Reader
}

// Reader reads the slices of a series.
type Reader interface {
	// Runs appends the runs that have slots within [minMs, maxMs], sorted by FirstMs. They may extend beyond that
	// range. Runs of one series may overlap in time, if its interval changed or if it has numbers and distributions. No
	// two slices of one kind have the same time. The caller must not change them. If some data is damaged, Runs returns
	// a *DamageError together with all that it could read.
	Runs(ref uint32, minMs, maxMs int64, to []Run) ([]Run, error)
}

// LevelsMs are the widths of the windows whose least and greatest numbers may be stored in addition to the slices,
// coarsest first. A window is (end-width, end], and its end is a multiple of the width since the Unix epoch. Each width
// is a multiple of the next one.
var LevelsMs = [...]int64{3_600_000, 300_000, 60_000}

// Extent summarises the slices of a series.
type Extent struct {
	FirstMs, LastMs int64 // ends of the first and last slice; LastMs is less than FirstMs if there are none
	// FinestMs is the finest of LevelsMs that the series has. It has all coarser ones too. 0 means that it has none.
	FinestMs int64
	// StepMs is the distance of the slices if they are all numbers and none is missing from the first to the last. 0
	// means that this is not known.
	StepMs int64
	// Rises states that no number is less than the one before. In every window, the first number is then the least and
	// the last is the greatest.
	Rises bool
}

// LevelReader is a Reader that may have the least and greatest numbers of windows in addition to the slices.
type LevelReader interface {
	Reader
	// Extent returns the extent of a series. It reads no slices.
	Extent(ref uint32) (Extent, error)
	// Extremes returns, for the windows of a level within (fromMs, toMs], the number that max_over_time (if greatest is
	// set) or min_over_time returns for the window. A window without numbers is a slot without a slice. An error says
	// nothing about whether Runs can read the slices.
	Extremes(ref uint32, levelMs int64, greatest bool, fromMs, toMs int64) (Run, error)
}

// DamageError describes a part of a file that cannot be read, and what is lost. Everything else can still be read.
type DamageError struct {
	File         string
	What         string // "page", "index" or "footer", and where it is
	Labels       string // of the series; "" if it is not about one
	FromMs, ToMs int64  // slices that end within this range are missing
	Err          error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s: %s of %s is damaged: slices from %d ms to %d ms are missing: %v", e.File, e.What, e.Labels,
		e.FromMs, e.ToMs, e.Err)
}

// Unwrap returns the cause of the damage.
func (e *DamageError) Unwrap() error { return e.Err }
