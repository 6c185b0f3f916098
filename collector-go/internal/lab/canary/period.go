package canary

import (
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
)

// Summary summarises the queries that ended in a minute or an hour.
type Summary struct {
	// Length is a minute or an hour; From and To are the part of it that was observed.
	Length   time.Duration
	From, To time.Time
	Classes  []ClassSummary
}

// ClassSummary is the summary of one class.
type ClassSummary struct {
	Class  load.Class
	Result load.Result
}

// period aggregates the queries that end during a minute or an hour. It is safe for concurrent use, because each query
// reports from its own goroutine.
type period struct {
	length  time.Duration
	classes []load.Class

	mu    sync.Mutex
	from  time.Time
	tally map[load.Class]*load.Tally
}

func newPeriod(length time.Duration, classes []load.Class) *period {
	return &period{length: length, classes: classes}
}

// begin starts a period with empty tallies of all classes, so that a class without queries still has a line.
func (p *period) begin(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.from, p.tally = now, map[load.Class]*load.Tally{}
	for _, class := range p.classes {
		p.tally[class] = load.NewTally()
	}
}

// over returns the end of the period: the next full minute or hour after its beginning. The first period is therefore
// shorter, and all later ones are aligned with the clock.
func (p *period) over() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.from.Truncate(p.length).Add(p.length)
}

// add counts an outcome in the period in which its query ended.
func (p *period) add(o load.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if tally := p.tally[o.Class]; tally != nil {
		tally.Add(o)
	}
}

// end returns the summary of the queries that have ended in the period. It does not begin the next period.
func (p *period) end(now time.Time) *Summary {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &Summary{Length: p.length, From: p.from, To: now}
	for _, class := range p.classes {
		s.Classes = append(s.Classes, ClassSummary{class, p.tally[class].Result()})
	}
	return s
}
