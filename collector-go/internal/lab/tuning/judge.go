package tuning

import "slices"

// Limited is the verdict of a step whose load met a limit outside the topology, such as the DRPC server or the load
// client. Such a step shows nothing about the topology at that load. Counting it as OK would overstate the capacity;
// counting it as FAIL would understate it.
const Limited Verdict = "limited"

// AdjustFor changes a verdict by goals to account for what limited the step. The cases, in order:
//   - A FAIL on a spoiled measurement becomes inconclusive. The host, the collector or a silent worker spoils one.
//   - A FAIL with a known limit outside the topology becomes limited. So does an OK whose load did not arrive.
//   - An OK whose source made too few records becomes FAIL, limited or inconclusive; see ofShort.
//   - A FAIL with a known limit within the topology stays, and the limit is added to its reasons.
//   - A FAIL that nothing explains stays, and the limitation's text says that the cause is unknown.
//
// The caller must already have excused a starved host if BlamesTopology allows it; GoalStep.judge does.
func (l *Limitation) AdjustFor(j Judgement) Judgement {
	switch {
	case j.Verdict == Fail && l.spoiled():
		return Judgement{Inconclusive, append([]string{l.Text}, j.Reasons...)}
	case j.Verdict == Fail && l.Known() && !l.BlamesTopology(), j.Verdict == OK && l.held():
		return Judgement{Limited, append([]string{l.Text}, j.Reasons...)}
	case j.Verdict == OK && l.short() != nil:
		return l.ofShort()
	case j.Verdict == Fail && l.Known():
		return Judgement{Fail, append(slices.Clone(j.Reasons), l.Text)}
	case j.Verdict == Fail:
		l.doubt()
	}
	return j
}

// spoiled reports whether the first named limit makes the figures useless. They then describe the host or the
// collection and not the topology.
func (l *Limitation) spoiled() bool {
	return l.Known() && slices.Contains([]Limiter{LimitedByHost, LimitedByCollector, LimitedBySilence}, l.Limiters[0])
}

// held reports whether the requested load was held back before it reached the topology. Any such limit counts, not
// only the strongest, because even a partly missing load makes an OK meaningless.
func (l *Limitation) held() bool {
	return slices.ContainsFunc(l.Limiters, func(x Limiter) bool {
		return x == LimitedByDRPC || x == LimitedByEndpoint || x == LimitedByClient
	})
}

// doubt records that a goal was missed although no measured resource was at its limit. It does nothing if evidence is
// missing or contradictory, because the text says so already.
func (l *Limitation) doubt() {
	if len(l.Missing) == 0 && len(l.Contradictions) == 0 {
		l.Contradictions = append(l.Contradictions,
			"a goal was missed, although nothing that was measured was at its limit")
		l.Text = "cannot tell: a goal was missed, but " + l.Text
	}
}
