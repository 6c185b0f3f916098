// Package part is one immutable file of the grid store: the runs of many series, compressed in columns, with an index of its own that is
// read where it is needed and never loaded whole. It knows nothing of other files. The format is docs/formats/grid.md.
package part

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/run"
)

// Info is what a part holds.
type Info struct {
	MinMs, MaxMs int64 // ends of the first and last slice; 0 and -1 where there is none
	Series       int
	Slices       int64 // markers included
	Bytes        int64 // of the file
}

// Part is an open part. It is safe for concurrent use, apart from Close. It implements run.Source and run.Reader. What it gives out is
// not tied to the file: it stays valid after Close.
type Part struct{}

// Open reads a part's footer. A footer that cannot be read is a *run.DamageError.
func Open(fs disk.FS, name string) (*Part, error) { panic("not built") }

// Info is what the footer says.
func (p *Part) Info() Info { panic("not built") }

// Name is the file's.
func (p *Part) Name() string { panic("not built") }

// Close releases the file. It may be called twice.
func (p *Part) Close() error { panic("not built") }

// Select implements run.Source. A *run.DamageError comes with all series that could be read.
func (p *Part) Select(ctx context.Context, minMs, maxMs int64, matchers []*labels.Matcher) ([]run.Found, error) {
	panic("not built")
}

// LabelNames implements run.Source. A *run.DamageError comes with all that could be read.
func (p *Part) LabelNames(ctx context.Context, matchers []*labels.Matcher) ([]string, error) {
	panic("not built")
}

// LabelValues implements run.Source. A *run.DamageError comes with all that could be read.
func (p *Part) LabelValues(ctx context.Context, name string, matchers []*labels.Matcher) ([]string, error) {
	panic("not built")
}

// Runs implements run.Reader.
func (p *Part) Runs(ref uint32, minMs, maxMs int64, to []run.Run) ([]run.Run, error) {
	panic("not built")
}

// Each calls fn for all series in order, with all their runs; fn may keep what it is given. It ends with fn's first error. Damage does
// not end it: the first *run.DamageError comes after all that could be read.
func (p *Part) Each(fn func(l labels.Labels, runs []run.Run) error) error { panic("not built") }

// Check reads the whole file and reports all damage, also in what only makes reading faster. The error is one of reading, not damage.
func (p *Part) Check(report func(*run.DamageError)) error { panic("not built") }
