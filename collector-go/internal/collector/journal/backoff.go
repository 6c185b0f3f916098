package journal

import "time"

// Backoff is the retry policy of a reader after ErrRead. It decides how long to retry before the unreadable record is
// skipped. A short failure of the disk must not lose samples, and a permanent one must not stop a store forever.
// Backoff reads no clock. It adds up the delays that it returns, so tests take no time.
type Backoff struct {
	First     time.Duration // delay before the second try; it doubles with each further try
	Last      time.Duration // longest delay between two tries
	SkipAfter time.Duration // total delay after which the caller skips the record (Reader.Skip)

	delay, waited time.Duration
	spent         bool // SkipAfter was reached, and nothing was read since
}

// DefaultBackoff outlasts a disk reset or a network mount that reconnects. It delays a store by at most one minute.
func DefaultBackoff() Backoff {
	return Backoff{First: 100 * time.Millisecond, Last: 5 * time.Second, SkipAfter: time.Minute}
}

// Failed must be called after each ErrRead. It returns how long to wait, and whether to skip the record after that.
// After a skip, the next unreadable record is skipped after the first delay. A long damaged stretch therefore costs the
// minute only once.
func (p *Backoff) Failed() (wait time.Duration, skip bool) {
	if p.spent {
		return p.First, true
	}
	p.delay = min(max(2*p.delay, p.First), p.Last)
	p.waited += p.delay
	p.spent = p.waited >= p.SkipAfter
	return p.delay, p.spent
}

// Failing reports whether the last reads failed. Callers use it to log the beginning of a failure once.
func (p *Backoff) Failing() bool { return p.waited > 0 }

// Succeeded must be called after each entry that was read.
func (p *Backoff) Succeeded() { p.delay, p.waited, p.spent = 0, 0, false }
