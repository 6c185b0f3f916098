package rulesengine

import (
	"context"
	"time"
)

// restore evaluates every group at once and brings back since when its alerts are active. The library does so after two
// intervals, in which nobody would be notified of an alert; that it need not do so again, its RestoreForState notes
// itself.
//
// The groups do not run yet (they wait for the manager's Run), so that nothing else evaluates them. Each is evaluated
// between two of its rounds, so that what the last collector recorded in them stays as it is.
func (e *Evaluator) restore(ctx context.Context) {
	for _, group := range e.rules.RuleGroups() {
		now := time.Now().Truncate(time.Millisecond)
		group.Eval(ctx, now)
		// States are kept under the time that a round looks at: how long the collector was away counts from there.
		group.RestoreForState(now.Add(-group.QueryOffset()))
		group.Eval(ctx, now.Add(time.Millisecond)) // now those fire that fired
	}
}

// awaitAlertmanagers waits until the notifier has its Alertmanagers: what it is given before, it drops.
func (e *Evaluator) awaitAlertmanagers(ctx context.Context) {
	if len(e.targets) == 0 {
		return
	}
	looking := time.NewTicker(time.Millisecond)
	defer looking.Stop()
	for len(e.notifier.Alertmanagers()) < len(e.targets) {
		select {
		case <-ctx.Done():
			return
		case <-looking.C:
		}
	}
}
