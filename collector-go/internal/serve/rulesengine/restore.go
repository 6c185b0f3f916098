package rulesengine

import (
	"context"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// restore evaluates every group immediately and restores since when its alerts have been active. Prometheus restores
// only after two intervals, during which nobody would be notified of an alert. RestoreForState marks the group, so
// that it is not restored a second time.
//
// The groups do not run yet (they wait for the manager's Run), so that nothing else evaluates them. The evaluation
// times lie between two regular evaluations, so that results that the last collector recorded are not overwritten.
func (e *Evaluator) restore(ctx context.Context) {
	for _, group := range e.rules.RuleGroups() {
		now := time.Now().Truncate(time.Millisecond)
		group.Eval(ctx, now)
		// The states were stored with the query offset applied. The duration of the outage counts from there.
		group.RestoreForState(now.Add(-group.QueryOffset()))
		group.Eval(ctx, now.Add(time.Millisecond)) // alerts that were firing fire again
	}
}

// awaitAlertmanagers waits until the notifier knows its Alertmanagers, because it drops alerts that it receives
// before.
func (e *Evaluator) awaitAlertmanagers(ctx context.Context) {
	_ = poll.Until(ctx, time.Millisecond, func() bool { return len(e.notifier.Alertmanagers()) >= len(e.targets) })
}
