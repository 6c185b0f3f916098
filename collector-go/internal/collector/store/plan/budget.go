package plan

import (
	"fmt"
	"sync/atomic"
)

// Limits say how much one query may read. 0 means no limit.
type Limits struct {
	Series   int64 // over all selectors of the query
	Samples  int64 // slices that are decoded for the query, even if it does not use them
	InMemory int64 // decoded slices that the query holds at one time
}

// LimitError reports that a query is too large. Setting is the key of the setting to raise.
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

// ReadSeries counts n series that a selector found. It returns a *LimitError if the query exceeds Limits.Series.
func (p *Plan) ReadSeries(n int) error {
	if p == nil {
		return nil
	}
	return spend(&p.budget.series, n, p.budget.limits.Series, "series", "query.max_series")
}

// ReadSamples counts n slices before they are decoded. It returns a *LimitError if the query exceeds Limits.Samples.
func (p *Plan) ReadSamples(n int) error {
	if p == nil {
		return nil
	}
	return spend(&p.budget.samples, n, p.budget.limits.Samples, "samples", "query.max_read_samples")
}

// Hold counts n decoded slices that stay in memory until Release. It returns a *LimitError if the query exceeds
// Limits.InMemory. Most evaluations decode one series after the other, but timestamp() holds all series of a selector
// at once.
func (p *Plan) Hold(n int) error {
	if p == nil {
		return nil
	}
	return spend(&p.budget.inMemory, n, p.budget.limits.InMemory, "samples at a time", "query.max_samples")
}

// Release ends the hold on n slices.
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
