// Package slicer cuts samples into slices of event time. It owns watermarks, open slices, counter offsets and gap markers. It
// is pure: journal entries go in, closed slices come out, and the same entries give the same slices to the bit. It has no
// clock, no I/O and no goroutine, and will never know what a metric means or where its slices go.
package slicer

import (
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"
)

// Slicer is the state between two journal entries. It is for one goroutine.
type Slicer struct{ closed slice.Columns }

// New returns a slicer that has seen nothing.
func New(o Options) (*Slicer, error) { return &Slicer{}, nil }

// Options set the grid and the bounds.
type Options struct {
	WidthMs    int64
	Widths     map[string]int64
	LatenessMs int64
}

// DefaultOptions are DESIGN's.
func DefaultOptions() Options { return Options{WidthMs: 10_000, LatenessMs: 30_000} }

// Closed are the slices closed so far; the caller hands them on and calls Reset on them.
func (s *Slicer) Closed() *slice.Columns { return &s.closed }

// Define says how samples of id are sliced.
func (s *Slicer) Define(id uint32, rule metric.Rule) {}

// Detach forgets id; its open samples stay and are folded in time.
func (s *Slicer) Detach(id uint32) {}

// Withdraw forgets id and its open samples, and returns how many these were.
func (s *Slicer) Withdraw(id uint32) int { return 0 }

// Describe sets a constant series (an info metric) that holds 1 in every slice in which the worker was heard.
func (s *Slicer) Describe(worker metric.Worker, info metric.Series) {}

// Started says that the collector started: no producer is connected.
func (s *Slicer) Started() {}

// Connect says that a producer opened a stream.
func (s *Slicer) Connect(producer uint32) {}

// Disconnect says that a producer's stream ended.
func (s *Slicer) Disconnect(producer uint32) {}

// Begin opens a batch; its samples follow in their order, then End.
func (s *Slicer) Begin(producer uint32, sequence uint64) {}

// Add takes a sample. It returns false, and counts nothing, where the id is not defined.
func (s *Slicer) Add(id uint32, timeMs int64, value float64) bool { return false }

// AddHistogram takes a reading of a distribution; negatives are the observations below zero, in no bucket.
func (s *Slicer) AddHistogram(id uint32, timeMs int64, h *histogram.Histogram, negatives uint64) bool {
	return false
}

// End closes what the batch moved its sources past.
func (s *Slicer) End() {}

// Tick is the collector's clock.
func (s *Slicer) Tick(nowMs int64) {}

// CloseAll closes every open slice: the end of a replay.
func (s *Slicer) CloseAll() {}

// Counts are the books.
func (s *Slicer) Counts() Counts { return Counts{} }

// Counts are the slicer's side of the books.
type Counts struct {
	InSlices, Open, Late uint64
	Refused              map[string]uint64
}

// Snapshot is the state as bytes; Closed must be empty.
func (s *Slicer) Snapshot() []byte { return nil }

// Restore reads what Snapshot wrote.
func Restore(data []byte, o Options) (*Slicer, error) { return New(o) }
