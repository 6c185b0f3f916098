package canary

import (
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
)

// Summary is what became of the queries that ended in a minute or an hour.
type Summary struct {
	// Length is a minute or an hour; From and To are what of it was seen.
	Length   time.Duration
	From, To time.Time
	Classes  []ClassSummary
}

// ClassSummary is a class' part.
type ClassSummary struct {
	Class  load.Class
	Result load.Result
}

// period aggregates the queries that end during a minute or an hour. It is safe for concurrent use, since each query
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

// begin starts a period with empty tallies of all classes, so that a class without a query still has a line.
func (p *period) begin(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.from, p.tally = now, map[load.Class]*load.Tally{}
	for _, class := range p.classes {
		p.tally[class] = load.NewTally()
	}
}

// over is when the period ends: the next full minute or hour after its beginning. The first period is therefore
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

// end is the summary of what ended in the period so far. It does not begin the next one.
func (p *period) end(now time.Time) *Summary {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &Summary{Length: p.length, From: p.from, To: now}
	for _, class := range p.classes {
		s.Classes = append(s.Classes, ClassSummary{class, p.tally[class].Result()})
	}
	return s
}
