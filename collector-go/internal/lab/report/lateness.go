package report

import (
	"fmt"
	"time"
)

// window is how long queries run by themselves, ms: what their result takes beyond it is the topology's. 0 where it is
// not known, or where queries end before it, so that all that they take is what is measured.
type window int64

// window is that of the queries whose steps these are.
func (r *Report) window() window {
	if r.durationMs > 0 &&
		r.anyStep(func(s StepReport) bool { return s.Clients.LatencyP99Ms >= Figure(r.durationMs) }) {
		return window(r.durationMs)
	}
	return 0
}

// head names a column or an axis of times to result, without its statistic.
func (w window) head() string {
	if w == 0 {
		return "Time to result"
	}
	return fmt.Sprintf("Result after the query's own %s", time.Duration(w)*time.Millisecond)
}

// unit is that of beyond.
func (w window) unit() string {
	if w == 0 {
		return "ms"
	}
	return "s late"
}

// beyond is a time to result as what it is beyond the window, in unit; negative where a query ended before.
func (w window) beyond(ms Figure) Figure {
	if w == 0 {
		return ms
	}
	return (ms - Figure(w)) / 1000
}

// decimals are as many as beyond has in a table.
func (w window) decimals() int {
	if w == 0 {
		return 0
	}
	return 2
}
