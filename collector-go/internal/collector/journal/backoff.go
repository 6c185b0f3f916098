package journal

import "time"

// Backoff is the backoff policy of a reader after ErrRead: how long it retries before it skips the unreadable record. A
// short failure of the disk must not lose samples, and a permanent one must not stop a store indefinitely. It reads no
// clock. It adds up the waits that it asks for, so tests need no time.
type Backoff struct {
	First     time.Duration // wait before the second try; each further one waits twice as long
	Last      time.Duration // longest wait between two tries
	SkipAfter time.Duration // total wait after which the caller skips the record (Reader.Skip)

	delay, waited time.Duration
	spent         bool // abandoned, and nothing was read since
}

// DefaultBackoff outlasts a disk reset or a network mount that returns, and delays a store by one minute at most.
func DefaultBackoff() Backoff {
	return Backoff{First: 100 * time.Millisecond, Last: 5 * time.Second, SkipAfter: time.Minute}
}

// Failed is called after each ErrRead. It returns how long to wait, and whether to skip the record after that. After a
// skip, the next unreadable record is skipped with the first wait, so that a long damaged stretch costs the minute
// once.
func (p *Backoff) Failed() (wait time.Duration, skip bool) {
	if p.spent {
		return p.First, true
	}
	p.delay = min(max(2*p.delay, p.First), p.Last)
	p.waited += p.delay
	p.spent = p.waited >= p.SkipAfter
	return p.delay, p.spent
}

// Failing reports whether reads fail at the moment. Callers use it to log the beginning of a failure once.
func (p *Backoff) Failing() bool { return p.waited > 0 }

// Succeeded is called after each entry that was read.
func (p *Backoff) Succeeded() { p.delay, p.waited, p.spent = 0, 0, false }
