package measure

import (
	"context"
	"time"
)

// reader reads the series of a topology's metrics in (from, to]. The first error stays in err, and every later read
// returns nothing, so that a caller of several reads checks once.
type reader struct {
	ctx      context.Context
	stored   Stored
	topology string
	from, to time.Time
	err      error
}

// read reads the series of a metric over the reader's whole time.
func (r *reader) read(metric string, more ...string) []Series {
	return r.since(r.from, metric, more...)
}

// since is read from another time on. Counters need a value from before a step to show what they rose by in it.
func (r *reader) since(from time.Time, metric string, more ...string) (series []Series) {
	if r.err == nil {
		series, r.err = r.stored.Slices(r.ctx, selector(r.topology, metric, more...), from, r.to)
	}
	return series
}

// reader reads the session's topology.
func (s *Session) reader(ctx context.Context, from, to time.Time) *reader {
	return &reader{ctx: ctx, stored: s.ports.Slices, topology: s.o.Topology, from: from, to: to}
}
