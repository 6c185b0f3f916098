package ingest

import "time"

// timeRange is the event times that are taken, ms since the Unix epoch, both ends included.
type timeRange struct{ oldestMs, newestMs int64 }

// clock decides which event times are credible. It trusts two clocks, the system's and the one that has run evenly
// since the start, and takes what either allows: a step of the system's clock must not make good samples look old or
// ahead.
type clock struct {
	now    func() time.Time
	start  time.Time
	ahead  time.Duration
	maxAge time.Duration
}

func newClock(now func() time.Time, ahead, maxAge time.Duration) *clock {
	return &clock{now: now, start: now(), ahead: ahead, maxAge: maxAge}
}

// allowed is the range at the time now.
func (c *clock) allowed(now time.Time) timeRange {
	wall := now.UnixMilli()
	even := c.start.UnixMilli() + now.Sub(c.start).Milliseconds() // Sub follows the monotonic clock
	r := timeRange{newestMs: max(wall, even) + c.ahead.Milliseconds()}
	if c.maxAge > 0 { // else as old as 1970
		r.oldestMs = max(0, min(wall, even)-c.maxAge.Milliseconds())
	}
	return r
}
