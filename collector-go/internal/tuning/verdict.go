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

// Judgement is a verdict with what led to it, most telling first. The reasons of an OK are empty.
type Judgement struct {
	Verdict Verdict
	Reasons []string
}

// completenessSlack absorbs rounding where an average is exactly at the border.
const completenessSlack = 1e-9

// worst orders verdicts from the one that decides a run to the one that decides nothing.
var worst = []Verdict{Fail, Inconclusive, Limited}

// Overall is the verdict of a run: the worst of its steps', FAIL before inconclusive before limited. A run without steps is
// inconclusive.
func Overall(steps []Judgement) Verdict {
	for _, verdict := range worst {
		if slices.ContainsFunc(steps, func(j Judgement) bool { return j.Verdict == verdict }) {
			return verdict
		}
	}
	if len(steps) == 0 {
		return Inconclusive
	}
	return OK
}
