package tuning

import "slices"

// Limited is the verdict of a step whose load met a limit that is not the topology's: it shows nothing of the topology
// at that load.
const Limited Verdict = "limited"

// AdjustFor changes a step's verdict for what limited it. A starved host is to have been excused where
// BlamesTopology says so. A miss that nothing explains is said in the limitation's text.
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

// spoiled reports whether what was measured is not the topology's.
func (l *Limitation) spoiled() bool {
	return l.Known() && slices.Contains([]Limiter{LimitedByHost, LimitedByCollector, LimitedBySilence}, l.Limiters[0])
}

// held reports whether the load that was asked for did not reach the topology.
func (l *Limitation) held() bool {
	return slices.ContainsFunc(l.Limiters, func(x Limiter) bool {
		return x == LimitedByDRPC || x == LimitedByEndpoint || x == LimitedByClient
	})
}

// doubt states that a goal was missed for no reason that was measured.
func (l *Limitation) doubt() {
	if len(l.Missing) == 0 && len(l.Contradictions) == 0 {
		l.Contradictions = append(l.Contradictions,
			"a goal was missed although nothing that was measured was at its limit")
		l.Text = "cannot tell: a goal was missed, yet " + l.Text
	}
}
