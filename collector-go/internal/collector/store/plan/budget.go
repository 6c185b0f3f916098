package plan

import (
	"fmt"
	"sync/atomic"
)

// Limits are how much one query may read.
type Limits struct {
	Series   int64 // of all its selectors; 0: any number
	Samples  int64 // slices decoded for it, whether or not it uses them; 0: any number
	InMemory int64 // slices that are decoded for it at one time; 0: any number
}

// LimitError reports that a query is too large. Setting is the key to raise.
type LimitError struct {
	What    string
	Limit   int64
	Setting string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("query reads more than %d %s; select fewer series or a shorter time, or raise %s", e.Limit,
		e.What, e.Setting)
}

type budget struct {
	limits   Limits
	series   atomic.Int64
	samples  atomic.Int64
	inMemory atomic.Int64
}

// ReadSeries counts series that were found; a *LimitError when they are too many.
func (p *Plan) ReadSeries(n int) error {
	if p == nil {
		return nil
	}
	return spend(&p.budget.series, n, p.budget.limits.Series, "series", "query.max_series")
}

// ReadSamples counts slices that are to be decoded; a *LimitError when they are too many.
func (p *Plan) ReadSamples(n int) error {
	if p == nil {
		return nil
	}
	return spend(&p.budget.samples, n, p.budget.limits.Samples, "samples", "query.max_read_samples")
}

// Hold counts slices that stay decoded until they are released; a *LimitError when they are too many. Most evaluations
// decode one series after the other; timestamp() has all of a selector's at once.
func (p *Plan) Hold(n int) error {
	if p == nil {
		return nil
	}
	return spend(&p.budget.inMemory, n, p.budget.limits.InMemory, "samples at a time", "query.max_samples")
}

// Release gives back what was held.
func (p *Plan) Release(n int) {
	if p != nil {
		p.budget.inMemory.Add(-int64(n))
	}
}

func spend(spent *atomic.Int64, n int, limit int64, what, setting string) error {
	if spent.Add(int64(n)) > limit && limit > 0 {
		return &LimitError{What: what, Limit: limit, Setting: setting}
	}
	return nil
}
