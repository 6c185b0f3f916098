package tuning

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// SearchKind selects which steps of a row are measured.
type SearchKind string

// Kinds of searches over a row's values.
const (
	// FullSearch measures every value, in the given order.
	FullSearch SearchKind = "full"
	// StepSearch ascends and ends at the first value that fails.
	StepSearch SearchKind = "step"
	// BinarySearch halves the interval that contains the capacity.
	BinarySearch SearchKind = "binary"
)

// Text names the search with what it measures.
func (k SearchKind) Text() string {
	switch k {
	case StepSearch:
		return "step (ascending, until a value fails)"
	case BinarySearch:
		return "binary (bisection)"
	}
	return "full (every value)"
}

// SearchKinds returns all kinds.
func SearchKinds() []SearchKind { return []SearchKind{FullSearch, StepSearch, BinarySearch} }

// Measured is the verdict of one attempt at one value.
type Measured struct {
	Value   float64
	Verdict Verdict
}

// Search decides what to measure next in one row. It has no state, so that a resumed run continues from what was
// measured.
type Search struct {
	Kind SearchKind
	// Values are distinct positions on the row's axis, in the order of a full search.
	Values []float64
	// InconclusiveRepeats is how often an inconclusive value is measured again.
	InconclusiveRepeats int
	// Confirm makes an ascending search measure the last OK and the first failed value once more. A bound that cannot
	// be repeated is not a bound.
	Confirm bool
}

// Next returns the value to measure next and the number of the attempt at it, from 1; more is false if the row is
// complete. All attempts at a value follow each other directly.
func (s Search) Next(measured []Measured) (value float64, attempt int, more bool) {
	if n := len(measured); n > 0 {
		last := measured[n-1]
		if attempts := attemptsAt(measured, last.Value); last.Verdict == Inconclusive &&
			attempts <= s.InconclusiveRepeats {
			return last.Value, attempts + 1, true
		}
	}
	if value, more = s.nextValue(verdictsByValue(measured)); more || !s.Confirm || s.Kind != StepSearch {
		return value, 1, more
	}
	value, more = unconfirmed(measured)
	return value, 2, more
}

// unconfirmed returns a bound of the interval that was measured only once, the last OK before the first FAIL.
func unconfirmed(measured []Measured) (float64, bool) {
	interval := IntervalOf(measured)
	for _, bound := range []*float64{interval.LastOK, interval.FirstFail} {
		if bound != nil && attemptsAt(measured, *bound) == 1 {
			return *bound, true
		}
	}
	return 0, false
}

func (s Search) nextValue(verdicts map[float64]Verdict) (float64, bool) {
	switch s.Kind {
	case StepSearch:
		return s.ascend(verdicts)
	case BinarySearch:
		return s.halve(verdicts)
	}
	return First(s.Values, func(v float64) bool {
		_, done := verdicts[v]
		return !done
	})
}

// ascend returns the smallest value that was not measured. It continues beyond inconclusive values, because the next
// value may be decided.
func (s Search) ascend(verdicts map[float64]Verdict) (float64, bool) {
	for _, v := range slices.Sorted(slices.Values(s.Values)) {
		switch verdict, done := verdicts[v]; {
		case !done:
			return v, true
		case verdict == Fail, verdict == Limited:
			return 0, false
		}
	}
	return 0, false
}

// halve returns the middle of the unmeasured values between the largest OK and the smallest failed or limited value.
// Beyond a limited value no load reaches the topology. Inconclusive values point in neither direction and are ignored.
func (s Search) halve(verdicts map[float64]Verdict) (float64, bool) {
	interval := intervalOf(verdicts)
	var open []float64
	for _, v := range slices.Sorted(slices.Values(s.Values)) {
		_, done := verdicts[v]
		below := (interval.FirstFail == nil || v < *interval.FirstFail) &&
			(len(interval.Limited) == 0 || v < interval.Limited[0])
		above := interval.LastOK == nil || v > *interval.LastOK
		if !done && below && above {
			open = append(open, v)
		}
	}
	if len(open) == 0 {
		return 0, false
	}
	return open[len(open)/2], true
}

func attemptsAt(measured []Measured, value float64) int {
	return len(Those(measured, func(m Measured) bool { return m.Value == value }))
}

// verdictsByValue combines the attempts at each value.
func verdictsByValue(measured []Measured) map[float64]Verdict {
	attempts, verdicts := map[float64][]Verdict{}, map[float64]Verdict{}
	for _, m := range measured {
		attempts[m.Value] = append(attempts[m.Value], m.Verdict)
	}
	for value, all := range attempts {
		verdicts[value] = Combined(all)
	}
	return verdicts
}

// Interval is where a capacity lies on the axis of a row: in [LastOK, FirstFail).
type Interval struct {
	// LastOK is the largest OK value below the first failed one; null if there is none.
	LastOK *float64 `json:"last_ok"`
	// FirstFail is the smallest value that failed; null if none did.
	FirstFail *float64 `json:"first_fail"`
	// Censored states that a value was OK and none failed: LastOK is a lower bound and not a capacity.
	Censored bool `json:"censored"`
	// Inconclusive are values that could not be judged, however often they were measured; those within the interval
	// widen it.
	Inconclusive []float64 `json:"inconclusive,omitempty"`
	// Limited are values at which something outside the topology was at its limit. They say nothing about the
	// topology.
	Limited []float64 `json:"limited,omitempty"`
	Note    string    `json:"note,omitempty"`
}

// IntervalOf returns the capacity from the measurements of one configuration, in one or several trials.
func IntervalOf(measured []Measured) Interval { return intervalOf(verdictsByValue(measured)) }

func intervalOf(verdicts map[float64]Verdict) Interval {
	var i Interval
	for value, verdict := range verdicts {
		if verdict == Fail && (i.FirstFail == nil || value < *i.FirstFail) {
			i.FirstFail = &value
		}
	}
	var over []float64
	for value, verdict := range verdicts {
		below := i.FirstFail == nil || value < *i.FirstFail
		switch {
		case verdict == Inconclusive:
			i.Inconclusive = append(i.Inconclusive, value)
		case verdict == Limited:
			i.Limited = append(i.Limited, value)
		case verdict == OK && !below:
			over = append(over, value)
		case verdict == OK && (i.LastOK == nil || value > *i.LastOK):
			i.LastOK = &value
		}
	}
	i.Censored = i.LastOK != nil && i.FirstFail == nil
	slices.Sort(i.Inconclusive)
	slices.Sort(i.Limited)
	i.Note = i.note(over)
	return i
}

func (i Interval) note(over []float64) string {
	var notes []string
	switch {
	case i.LastOK == nil && i.FirstFail == nil:
		notes = append(notes, "the capacity is unknown, because no step was OK or FAIL")
	case i.FirstFail == nil:
		notes = append(notes, fmt.Sprintf("no step failed: the capacity is at least %s and has no known upper bound",
			grouped(*i.LastOK)))
	case i.LastOK == nil:
		notes = append(notes, fmt.Sprintf("no step below %s was OK, so the capacity is below that", grouped(*i.FirstFail)))
	}
	if len(over) > 0 {
		notes = append(notes, fmt.Sprintf("%s was OK although %s failed: repeat these steps", grouped(slices.Max(over)),
			grouped(*i.FirstFail)))
	}
	if len(i.Inconclusive) > 0 {
		notes = append(notes, fmt.Sprintf("inconclusive at %s", strings.Join(Each(i.Inconclusive, grouped), ", ")))
	}
	if len(i.Limited) > 0 {
		notes = append(notes, fmt.Sprintf("at %s something outside the topology was at its limit",
			strings.Join(Each(i.Limited, grouped), ", ")))
	}
	return strings.Join(notes, "; ")
}

// String is Text.
func (i Interval) String() string { return i.Text() }

// Compare orders capacities by their largest OK value, then by their smallest failed value. An unknown capacity is the
// smallest.
func (i Interval) Compare(other Interval) int {
	ok, fail := i.Bounds(math.Inf(-1), math.Inf(-1))
	otherOK, otherFail := other.Bounds(math.Inf(-1), math.Inf(-1))
	return cmp.Or(cmp.Compare(ok, otherOK), cmp.Compare(fail, otherFail))
}

// Bounds returns the last OK value and the first that failed, or what is given for a missing one.
func (i Interval) Bounds(noOK, noFail float64) (lastOK, firstFail float64) {
	if i.LastOK != nil {
		noOK = *i.LastOK
	}
	if i.FirstFail != nil {
		noFail = *i.FirstFail
	}
	return noOK, noFail
}

// Overlaps reports whether a capacity could lie in both intervals; unknown ends are open.
func (i Interval) Overlaps(other Interval) bool {
	return below(i.LastOK, other.FirstFail) && below(other.LastOK, i.FirstFail)
}

func below(low, high *float64) bool { return low == nil || high == nil || *low < *high }

// Loads of the cost steps, as shares of the first expected capacity. They are well below it, because the cost is that
// of a topology that is not overloaded.
const (
	lesserLoad  = 0.25
	greaterLoad = 0.5
)

// MirroredLoads returns the order of the cost steps: 0, a, b, b, a, 0. A steady drift of the topology adds the same
// amount to each load, so it cancels out of the slope. It shows as the difference between the two measurements of each
// load. b is at most half of the first expected capacity. An expected capacity below 4 has no two such loads, and the
// result is empty.
func MirroredLoads(expectedCapacity float64) []float64 {
	a, b := math.Floor(lesserLoad*expectedCapacity), math.Floor(greaterLoad*expectedCapacity)
	if !(a >= 1 && b > a) || math.IsInf(b, 0) {
		return []float64{}
	}
	return []float64{0, a, b, b, a, 0}
}

// steadyBound is the largest relative change of the cost of a record that counts as steady.
const steadyBound = 0.05

// Steady reports whether the cost of a record is steady, from the CPU per record in consecutive slices. The mean of
// the last LeastSlices must differ by less than a twentieth from that of as many before. An unknown slice means not
// steady.
func Steady(costs []Figure) bool {
	n := len(costs)
	if n < 2*LeastSlices {
		return false
	}
	before, now := Figure(0), Figure(0)
	for i := range LeastSlices {
		before, now = before+costs[n-2*LeastSlices+i], now+costs[n-LeastSlices+i]
	}
	return math.Abs(float64(now-before)) < steadyBound*float64(before)
}

// Reading is one measurement of the host during the calibration of the record rate.
type Reading struct {
	RecordsPerSecond Figure `json:"records_per_second"`
	HostIdle         Figure `json:"host_idle"`
}

// Calibration states how the record rate was found.
type Calibration struct {
	TargetIdle       Figure    `json:"target_idle"`
	Readings         []Reading `json:"readings"`
	RecordsPerSecond Figure    `json:"records_per_second"`
}

// IdleTolerance is how far the idle ratio at a calibrated rate may differ from the target.
const IdleTolerance = 0.1

// RateAdvice is what to do if no record rate leaves the target idle (Missed).
const RateAdvice = "Stop other work on the host and measure again, or set the record rate (load.records_per_second in an experiment file, --records-per-second of demo)."

// Missed returns why the calibration found no rate that leaves the target idle, "" if it found one. A rate counts as
// found only if the host was seen to be about as idle as the target (IdleTolerance). The last reading at that rate
// decides; without one, the idle ratio of the step with 0 queries does. idleOfStep is that ratio, or unknown if there
// is no such step.
func (c Calibration) Missed(idleOfStep Figure) string {
	if !c.TargetIdle.Known() || len(c.Readings) == 0 {
		return ""
	}
	seen := idleOfStep
	for _, r := range c.Readings {
		if r.RecordsPerSecond == c.RecordsPerSecond {
			seen = r.HostIdle
		}
	}
	byRate := func(a, b Reading) int { return cmp.Compare(a.RecordsPerSecond, b.RecordsPerSecond) }
	low, high := slices.MinFunc(c.Readings, byRate), slices.MaxFunc(c.Readings, byRate)
	if math.Abs(float64(seen-c.TargetIdle)) <= IdleTolerance {
		return ""
	}
	text := fmt.Sprintf("no record rate leaves %s of the host idle: ", Percent(c.TargetIdle))
	switch {
	case !seen.Known():
		text += fmt.Sprintf("%s records/s is an estimate that was not measured", Digits(c.RecordsPerSecond))
	case low.RecordsPerSecond == high.RecordsPerSecond:
		text += fmt.Sprintf("%s records/s left %s", Digits(c.RecordsPerSecond), Percent(seen))
	default:
		text += fmt.Sprintf("%s records/s left %s, %s records/s %s", Digits(low.RecordsPerSecond),
			Percent(low.HostIdle), Digits(high.RecordsPerSecond), Percent(high.HostIdle))
	}
	return text
}
