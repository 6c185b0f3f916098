package tuning

import "slices"

// Verdict is the outcome of a step or of a run. OK means that every goal was measured and held. FAIL means that a goal
// was missed, and nothing outside the topology is known to explain it. Inconclusive means that the data do not decide:
// a figure is missing, or the host, the collector or a silent worker spoiled it. Limited, in judge.go, means that the
// load did not reach the topology. A capacity is bracketed by OK and FAIL alone, so a doubtful step must be neither of
// them.
type Verdict string

// Verdicts of a step.
const (
	OK           Verdict = "OK"
	Fail         Verdict = "FAIL"
	Inconclusive Verdict = "inconclusive"
)

// Judgement is a verdict with its reasons, the strongest first. An unqualified OK has no reasons.
type Judgement struct {
	Verdict Verdict
	Reasons []string
}

// completenessSlack absorbs the rounding of a mean that lies exactly at its lower limit. Without it, a mean of 9.9
// that was summed from floats could miss a goal of 9.9.
const completenessSlack = 1e-9

// worst lists the verdicts other than OK, the one that outranks all others first.
var worst = []Verdict{Fail, Inconclusive, Limited}

// Overall combines the verdicts of steps that must all hold, such as the steps of a run. The worst one wins: FAIL
// before inconclusive before limited. Without any verdict the result is inconclusive, because nothing was measured.
func Overall(all []Verdict) Verdict {
	for _, verdict := range worst {
		if slices.Contains(all, verdict) {
			return verdict
		}
	}
	if len(all) == 0 {
		return Inconclusive
	}
	return OK
}
