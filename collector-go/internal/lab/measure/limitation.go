package measure

import (
	"context"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Limitation returns a sentence about the resource that limited a topology, from the same evidence as in experiments.
// found is false if no resource was at its limit.
func Limitation(ctx context.Context, collector Stored, t Topology, of TimeRange) (text string, found bool, err error) {
	of.Workers = len(t.Workers)
	evidence, err := GatherEvidence(ctx, collector, t, of)
	if err != nil {
		return "", false, err
	}
	limit := tuning.Limit(evidence)
	return limit.Text, limit.Known(), nil
}
