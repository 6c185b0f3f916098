package chaos

import (
	"context"
	"fmt"
	"os"
	"time"
)

// Play plays a scenario on ground whose Dir it empties before, and afterwards where every promise was kept: else the
// collector's log and data stay for whoever looks into it. That a scenario could not be played is in its outcome as
// broken.
func Play(ctx context.Context, scenario Scenario, ground Ground, tries int) Result {
	begun := time.Now()
	outcome, err := play(ctx, scenario, &ground, tries)
	if err != nil {
		outcome.Broken = append(outcome.Broken, "could not be played: "+err.Error())
	}
	if outcome.Kept() {
		_ = os.RemoveAll(ground.Dir)
	} else {
		outcome.Broken = append(outcome.Broken,
			fmt.Sprintf("repeat it with: make chaos ROWS=%d CHAOS_SEED=%d CHAOS_SCALE=%g (what it left is in %s)",
				scenario.Number, ground.Seed, ground.Scale, ground.Dir))
	}
	ended := time.Now()
	return Result{scenario.Number, scenario.Fault, outcome, outcome.Verdict(), ended.Sub(begun).Seconds(),
		ground.Version, ended.UTC().Truncate(time.Second)}
}

func play(ctx context.Context, scenario Scenario, ground *Ground, tries int) (Outcome, error) {
	if err := os.RemoveAll(ground.Dir); err != nil {
		return Outcome{}, err
	}
	if err := os.MkdirAll(ground.Dir, 0o750); err != nil {
		return Outcome{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return scenario.Try(ctx, ground, tries)
}
