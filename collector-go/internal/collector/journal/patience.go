package journal

import "time"

// Patience decides for how long a reader tries again what the disk does not give back (ErrRead). It has no clock: what
// it asks its caller to wait adds up.
type Patience struct {
	First  time.Duration // wait before the second try; each further one waits twice as long
	Last   time.Duration // longest wait between two tries
	GiveUp time.Duration // after which the caller is to step over (Reader.StepOver)

	delay, waited time.Duration
	spent         bool // abandoned, and nothing was read since
}

// DefaultPatience outlasts a disk that is reset or a network mount that comes back, and holds a store up for a minute
// at most.
func DefaultPatience() Patience {
	return Patience{First: 100 * time.Millisecond, Last: 5 * time.Second, GiveUp: time.Minute}
}

// Failed is called after each ErrRead: how long to wait, and whether to step over then. What follows on something that
// was abandoned is tried twice, so that a stretch costs the wait once.
func (p *Patience) Failed() (wait time.Duration, stepOver bool) {
	if p.spent {
		return p.First, true
	}
	p.delay = min(max(2*p.delay, p.First), p.Last)
	p.waited += p.delay
	p.spent = p.waited >= p.GiveUp
	return p.delay, p.spent
}

// Failing reports whether something failed and nothing was read since.
func (p *Patience) Failing() bool { return p.waited > 0 }

// Succeeded is called after each entry that was read.
func (p *Patience) Succeeded() { p.delay, p.waited, p.spent = 0, 0, false }
