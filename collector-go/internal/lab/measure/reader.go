package measure

import (
	"context"
	"time"
)

// reader reads the series of a topology's metrics in (from, to]. The first error stays in err and later reads return
// nothing, so that a caller of several reads checks once.
type reader struct {
	ctx      context.Context
	stored   Stored
	topology string
	from, to time.Time
	err      error
}

// read returns the series of a metric over the reader's whole time range.
func (r *reader) read(metric string, more ...string) []Series {
	return r.since(r.from, metric, more...)
}

// since is read with an earlier start. The increase of a counter in a step needs a value from before the step.
func (r *reader) since(from time.Time, metric string, more ...string) (series []Series) {
	if r.err == nil {
		series, r.err = r.stored.Slices(r.ctx, selector(r.topology, metric, more...), from, r.to)
	}
	return series
}

// reader returns a reader for the session's topology.
func (s *Session) reader(ctx context.Context, from, to time.Time) *reader {
	return &reader{ctx: ctx, stored: s.ports.Slices, topology: s.o.Topology, from: from, to: to}
}
