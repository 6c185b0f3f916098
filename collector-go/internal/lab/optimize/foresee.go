package optimize

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// maxForeseen bounds what is foreseen of a search.
const maxForeseen = 200

// Foresee is the way that a search would take after some trials if each came out as the model expects it before it, and
// none had to be repeated: what a dry run shows. The first is what it would try next; there is none where the search is
// at its end.
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
