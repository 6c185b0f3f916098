package ingest

import "time"

// timeRange is a range of accepted event times in ms since the Unix epoch, including both ends.
type timeRange struct{ oldestMs, newestMs int64 }

// clock decides which event times are credible. It uses two clocks: the system clock, and one that has advanced evenly
// since the start. It accepts what either of them allows, so that a step of the system clock does not reject good
// samples.
type clock struct {
	start  time.Time
	ahead  time.Duration
	maxAge time.Duration
}

// allowed returns the accepted range of event times at the time now. It covers the ranges of both clocks.
func (c *clock) allowed(now time.Time) timeRange {
	wall := now.UnixMilli()
	even := c.start.UnixMilli() + now.Sub(c.start).Milliseconds() // Sub follows the monotonic clock
	r := timeRange{newestMs: max(wall, even) + c.ahead.Milliseconds()}
	if c.maxAge > 0 { // otherwise everything since 1970
		r.oldestMs = max(0, min(wall, even)-c.maxAge.Milliseconds())
	}
	return r
}
