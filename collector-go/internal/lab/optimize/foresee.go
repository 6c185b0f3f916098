package optimize

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// maxForeseen is the largest number of trials that Foresee returns.
const maxForeseen = 200

// Foresee returns the next proposals of the search. It assumes that every trial has the outcome that the model expects
// and that none must be repeated. A dry run shows them. The first one is the next trial. The result is empty if the
// search has ended.
func (s *Search) Foresee(trials []Trial) (way []Proposal, err error) {
	trials = slices.Clone(trials)
	for len(way) < maxForeseen {
		next, more, err := s.Next(trials)
		if err != nil || !more {
			return way, err
		}
		verdict := tuning.OK
		if next.Holds < 0.5 {
			verdict = tuning.Fail
		}
		way = append(way, next)
		trials = append(trials, Trial{Point: next.Point, Verdict: verdict, LatencyMs: tuning.Unknown,
			Completeness: tuning.Unknown, CatchUp: tuning.Unknown})
	}
	return way, nil
}
