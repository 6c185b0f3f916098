package chart

import "math"

// span is the least and the largest of finite numbers.
type span struct{ low, high, lowPositive float64 }

func newSpan(values ...float64) *span {
	s := &span{math.Inf(1), math.Inf(-1), math.Inf(1)}
	s.add(values...)
	return s
}

func (s *span) add(values ...float64) {
	for _, v := range values {
		if !known(v) {
			continue
		}
		s.low, s.high = min(s.low, v), max(s.high, v)
		if v > 0 {
			s.lowPositive = min(s.lowPositive, v)
		}
	}
}

// nice widens the span to whole steps.
func (s *span) nice(parts int) (low, high float64) {
	if !(s.high > s.low) {
		return min(0, s.low), max(s.high, 1)
	}
	step := niceStep((s.high-s.low)*1.04, parts)
	return step * math.Floor(s.low/step), step * math.Ceil(s.high*1.02/step)
}

// positive is what a logarithmic axis can show.
func (s *span) positive() (low, high float64) {
	if math.IsInf(s.lowPositive, 1) {
		return 1, 10
	}
	return s.lowPositive, s.high
}
