package tuning

import "slices"

// Verdict is the outcome of a step or of a run.
type Verdict string

// The verdicts.
const (
	OK           Verdict = "OK"
	Fail         Verdict = "FAIL"
	Inconclusive Verdict = "inconclusive"
)

// Judgement is a verdict with what led to it, the strongest first. The reasons of an OK are empty.
type Judgement struct {
	Verdict Verdict
	Reasons []string
}

// completenessSlack absorbs rounding where an average is exactly at the border.
const completenessSlack = 1e-9

// worst orders verdicts from the one that decides a run to the one that decides nothing.
var worst = []Verdict{Fail, Inconclusive, Limited}

// Overall is the verdict of several together: the worst of them, FAIL before inconclusive before limited. Of none it is
// inconclusive.
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

// Agreed is one verdict for several launches: what they agree on, else inconclusive. There is one at least.
func Agreed(all []Verdict) Verdict {
	if slices.ContainsFunc(all, func(v Verdict) bool { return v != all[0] }) {
		return Inconclusive
	}
	return all[0]
}
