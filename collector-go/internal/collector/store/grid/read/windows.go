package read

import (
	"math"
	"time"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/util/kahansum"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

// windows computes functions over the windows of one series. Its results equal those of Prometheus' engine bit by bit,
// because it uses the same operations in the same order (promql/functions.go).
//
// The engine looks at each number of each window. This code looks at few of them. For example, a rate needs only the
// first and last number of a window if the numbers never fall.
type windows struct {
	spans  []span
	first  int     // index in spans of the first that the current window may reach
	within []piece // the pieces of spans in the current window
	merged []float64
	queue  []candidate
}

// span is a sequence of numbers at equal distances without a gap. It has the numbers, or an outline of them, or neither
// if only their count is needed.
type span struct {
	firstMs, stepMs int64
	slots           int
	values          []float64 // nil if an outline or the count is enough
	outline         *outline
	falls           bool // some number is less than the one before
}

func (s *span) msOf(slot int) int64 { return s.firstMs + int64(slot)*s.stepMs }
func (s *span) lastMs() int64       { return s.msOf(s.slots - 1) }

func (s *span) at(slot int) float64 {
	if s.values == nil {
		return s.outline.at(s, slot)
	}
	return s.values[slot]
}

// piece is the part of a span that is in the current window. It has at least one slot.
type piece struct {
	*span
	from, last int
}

func (p piece) all() []float64 { return p.values[p.from : p.last+1] }

// addRun adds the wanted numbers of a run, without empty slots and gap markers. If falls is set, it also checks
// whether a number is less than the one before.
func (w *windows) addRun(c *cursor, falls bool) {
	from := c.first
	add := func(to int) {
		if to > from {
			s := span{firstMs: c.msOf(from), stepMs: c.StepMs, slots: to - from, values: c.Values[from:to]}
			s.falls = falls && fall(s.values)
			w.spans = append(w.spans, s)
		}
		from = to + 1
	}
	for i, v := range c.Values[c.first : c.last+1] {
		if slot := c.first + i; v != v && value.IsStaleNaN(v) || c.Present != nil && !c.Has(slot) {
			add(slot)
		}
	}
	add(c.last + 1)
}

// fall reports whether some number is less than the one before.
func fall(values []float64) bool {
	last := math.Inf(-1)
	for _, v := range values {
		if v < last {
			return true
		}
		last = v
	}
	return false
}

// addMerged adds the slices that an iterator returns, which must have read its runs. It is the slow way, for series
// whose runs overlap. Slices at equal distances become one span.
func (w *windows) addMerged(it *iterator) {
	w.merged = w.merged[:0]
	starts := make([]int, 0, 16)
	for kind := it.seek(math.MinInt64); kind != 0; kind = it.Next() {
		ms, v := it.At()
		if value.IsStaleNaN(v) {
			continue
		}
		at := len(w.spans) - 1
		slots := int64(0)
		if at >= 0 {
			slots = int64(len(w.merged) - starts[at])
		}
		switch {
		case slots == 1:
			w.spans[at].stepMs = ms - w.spans[at].firstMs
		case slots == 0 || ms != w.spans[at].firstMs+slots*w.spans[at].stepMs:
			w.spans, starts = append(w.spans, span{firstMs: ms, stepMs: 1}), append(starts, len(w.merged))
			w.merged = append(w.merged, v)
			continue
		}
		w.spans[at].falls = w.spans[at].falls || v < w.merged[len(w.merged)-1]
		w.merged = append(w.merged, v)
	}
	for i := range w.spans {
		end := len(w.merged)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		w.spans[i].values, w.spans[i].slots = w.merged[starts[i]:end], end-starts[i]
	}
}

// compute appends the result of each window to results, one for each instant of the query, in order. A window without a
// result gets a gap marker.
func (w *windows) compute(of plan.Windows, results []float64) []float64 {
	switch of.Function {
	case plan.MaxOverTime:
		return w.extremes(of, results, greatest)
	case plan.MinOverTime:
		return w.extremes(of, results, least)
	}
	w.first = 0
	for ms := of.FirstMs; ms <= of.LastMs; ms += of.StepMs {
		result := stale
		if w.reach(ms-of.RangeMs, ms) {
			result = w.result(of, ms)
		}
		results = append(results, result)
	}
	return results
}

// candidate is a number that is the extreme of the current window, or may become it when earlier numbers leave the
// window.
type candidate struct {
	ms int64
	v  float64
}

// extremes appends the greatest or least number of each window. Of equal numbers the first counts. NaN counts only if
// the window has nothing else, and then the last one. Numbers that enter and leave windows together become one
// candidate, so that each number is looked at once, in however many windows it is.
func (w *windows) extremes(of plan.Windows, results []float64, e extreme) []float64 {
	head, at, slot := 0, 0, 0 // head is in the queue; at and slot are of the next number
	none := candidate{ms: math.MinInt64, v: stale}
	w.queue = w.queue[:0]
	leaveMs, stepMs := of.FirstMs-of.RangeMs, of.StepMs // numbers up to leaveMs leave the windows together
	if of.FirstMs == of.LastMs {
		stepMs = of.RangeMs
	}
	for ms := of.FirstMs; ms <= of.LastMs; ms += of.StepMs {
		fromMs := ms - of.RangeMs
		for ; at < len(w.spans) && w.spans[at].msOf(slot) <= ms; at, slot = at+1, 0 {
			s := &w.spans[at]
			if away := fromMs - s.firstMs; away >= 0 {
				slot = max(slot, int(min(away/s.stepMs+1, int64(s.slots))))
			}
			end := int(min((ms-s.firstMs)/s.stepMs+1, int64(s.slots)))
			for slot < end {
				if ahead := s.msOf(slot) - leaveMs; ahead > 0 {
					leaveMs += (ahead + stepMs - 1) / stepMs * stepMs
				}
				next := slot + 1
				if s.stepMs < stepMs {
					next = min(end, int((leaveMs-s.firstMs)/s.stepMs)+1)
				}
				c := candidate{ms: s.msOf(next - 1)}
				if c.v = e.of(s.values[slot:next]); c.v != c.v {
					none = candidate{c.ms, s.values[next-1]}
				} else {
					last := len(w.queue) - 1
					for ; last >= head && e.more(c.v, w.queue[last].v); last-- {
					}
					w.queue = append(w.queue[:last+1], c)
				}
				slot = next
			}
			if slot < s.slots {
				break
			}
		}
		for head < len(w.queue) && w.queue[head].ms <= fromMs {
			head++
		}
		switch {
		case head < len(w.queue):
			results = append(results, w.queue[head].v)
		case none.ms > fromMs:
			results = append(results, none.v)
		default:
			results = append(results, stale)
		}
	}
	return results
}

// extreme is the greatest or the least of numbers. of returns it: the first of equals, and NaN only if all are. more
// reports whether v is more extreme than another number.
type extreme struct {
	of   func([]float64) float64
	more func(v, than float64) bool
}

var (
	greatest = extreme{
		func(values []float64) float64 {
			most := values[0]
			for _, v := range values[1:] {
				if v > most || most != most {
					most = v
				}
			}
			return most
		},
		func(v, than float64) bool { return v > than }}
	least = extreme{
		func(values []float64) float64 {
			lowest := values[0]
			for _, v := range values[1:] {
				if v < lowest || lowest != lowest {
					lowest = v
				}
			}
			return lowest
		},
		func(v, than float64) bool { return v < than }}
)

// reach finds the numbers that end within (fromMs, toMs], and returns false if there are none. It must be called with
// ascending windows, because it does not look again at spans before the last one.
func (w *windows) reach(fromMs, toMs int64) bool {
	for w.first < len(w.spans) && w.spans[w.first].lastMs() <= fromMs {
		w.first++
	}
	w.within = w.within[:0]
	for i := w.first; i < len(w.spans) && w.spans[i].firstMs <= toMs; i++ {
		s := &w.spans[i]
		from, last := 0, s.slots-1
		if fromMs >= s.firstMs {
			from = int((fromMs-s.firstMs)/s.stepMs) + 1
		}
		if away := (toMs - s.firstMs) / s.stepMs; away < int64(last) {
			last = int(away)
		}
		if from <= last {
			w.within = append(w.within, piece{s, from, last})
		}
	}
	return len(w.within) > 0
}

// result returns the result of the query's function for the current window.
func (w *windows) result(of plan.Windows, ms int64) float64 {
	switch of.Function {
	case plan.AvgOverTime:
		return w.average()
	case plan.SumOverTime:
		return w.sum()
	case plan.CountOverTime:
		return float64(w.count())
	case plan.LastOverTime:
		last := w.within[len(w.within)-1]
		return last.at(last.last)
	}
	return w.rate(of, ms)
}

// count returns how many numbers the window has.
func (w *windows) count() (n int) {
	for _, p := range w.within {
		n += p.last + 1 - p.from
	}
	return n
}

// added sums the window by the algorithm of Kahan and Neumaier, as kahansum.Inc does. finite is false if the sum
// overflows or has a NaN. Written out, this takes half the time.
func (w *windows) added() (sum, c float64, finite bool) {
	for _, p := range w.within {
		for _, v := range p.all() {
			t := sum + v
			if math.Abs(sum) >= math.Abs(v) {
				c += (sum - t) + v
			} else {
				c += (v - t) + sum
			}
			sum = t
		}
	}
	return sum, c, sum-sum == 0
}

// sum returns sum_over_time. If the fast sum is not finite, it sums again exactly as the engine does, whose treatment
// of infinities differs.
func (w *windows) sum() float64 {
	sum, c, finite := w.added()
	if finite {
		return sum + c
	}
	sum, c = 0, 0
	for _, p := range w.within {
		for _, v := range p.all() {
			sum, c = kahansum.Inc(v, sum, c)
		}
	}
	if math.IsInf(sum, 0) {
		return sum
	}
	return sum + c
}

// average returns avg_over_time. It divides the sum if that is finite.
func (w *windows) average() float64 {
	if sum, c, finite := w.added(); finite {
		n := float64(w.count())
		return sum/n + c/n
	}
	return w.incrementalAverage()
}

// incrementalAverage returns avg_over_time of numbers whose sum is not finite. From the number at which the sum
// overflows, it updates the mean step by step, as the engine does.
func (w *windows) incrementalAverage() float64 {
	var sum, mean, c, count float64
	var incremental bool
	for _, p := range w.within {
		for _, v := range p.all() {
			if count++; count == 1 {
				sum = v
				continue
			}
			if !incremental {
				newSum, newC := kahansum.Inc(v, sum, c)
				if !math.IsInf(newSum, 0) {
					sum, c = newSum, newC
					continue
				}
				incremental = true
				mean = sum / (count - 1)
				c /= count - 1
			}
			q := (count - 1) / count
			mean, c = kahansum.Inc(v/count, q*mean, q*c)
		}
	}
	if incremental {
		return mean + c
	}
	return sum/count + c/count
}

// rate returns the increase of a counter, per second or in total, extrapolated to the window's edges as in Prometheus.
// A number that is less than the one before counts as a reset, and the one before is added. For a span that never
// falls, only the first and last number are used.
func (w *windows) rate(of plan.Windows, ms int64) float64 {
	n := w.count()
	if n < 2 {
		return stale
	}
	first, last := w.within[0], w.within[len(w.within)-1]
	firstMs, firstValue := first.msOf(first.from), first.at(first.from)
	result := last.at(last.last) - firstValue
	before := firstValue
	for _, p := range w.within {
		if !p.falls {
			if p.at(p.from) < before {
				result += before
			}
			before = p.at(p.last)
			continue
		}
		for _, v := range p.all() {
			if v < before {
				result += before
			}
			before = v
		}
	}
	lastMs := last.msOf(last.last)
	toStart, toEnd := float64(firstMs-(ms-of.RangeMs))/1000, float64(ms-lastMs)/1000
	sampled := float64(lastMs-firstMs) / 1000
	apart := sampled / float64(n-1)
	if toStart >= apart*1.1 {
		toStart = apart / 2
	}
	if result > 0 && firstValue >= 0 {
		if toZero := sampled * (firstValue / result); toZero < toStart {
			toStart = toZero
		}
	}
	if toEnd >= apart*1.1 {
		toEnd = apart / 2
	}
	factor := (sampled + toStart + toEnd) / sampled
	if of.Function == plan.Rate {
		factor /= (time.Duration(of.RangeMs) * time.Millisecond).Seconds()
	}
	return result * factor
}
