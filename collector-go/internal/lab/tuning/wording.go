package tuning

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Percent formats a ratio: 0.4 becomes "40%", 0.042 becomes "4.2%".
func Percent(f Figure) string {
	if f < 0.1 {
		return PercentIn(f, 1)
	}
	return PercentIn(f, 0)
}

// PercentIn formats a ratio as a percentage with a fixed number of decimals. Every percentage of a ratio is made by it.
func PercentIn(f Figure, decimals int) string {
	if !f.Known() {
		return "–"
	}
	return strconv.FormatFloat(100*float64(f), 'f', decimals, 64) + "%"
}

// SignedPercent formats a relative change: "-26.1%".
func SignedPercent(f Figure) string {
	text := PercentIn(Figure(math.Round(1000*float64(f))/1000+0), 1)
	if f.Known() && !strings.HasPrefix(text, "-") {
		text = "+" + text
	}
	return text
}

// SignedDigits formats an absolute change, with a plus sign if it is positive.
func SignedDigits(f Figure) string {
	if f > 0 {
		return "+" + Digits(f)
	}
	return Digits(f)
}

// ConfidencePercent formats a confidence: 0.95 becomes "95%".
func ConfidencePercent(confidence float64) string { return Digits(Figure(100*confidence)) + "%" }

// Between formats an interval; "unknown" if an end of it is unknown.
func Between(low, high Figure) string {
	if !low.Known() || !high.Known() {
		return "unknown"
	}
	return Digits(low) + " to " + Digits(high)
}

// InBrackets formats a note that follows a sentence; "" if there is none.
func InBrackets(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}

// rounded removes digits that are smaller than the uncertainty. It keeps two significant digits of half the interval.
func (e Estimate) rounded() Estimate {
	half := float64(e.High-e.Low) / 2
	if !(half > 0) || math.IsInf(half, 0) {
		return e
	}
	unit := math.Pow(10, math.Floor(math.Log10(half))-1)
	for _, f := range []*Figure{&e.Value, &e.Low, &e.High} {
		*f = Figure(math.Round(float64(*f)/unit) * unit)
	}
	return e
}

// Text formats the value with its interval: "12.4 ms (95%: 11.8 to 13.1)". For an unknown value it states the reason.
func (e Estimate) Text(confidence float64, unit string) string {
	if !e.Value.Known() {
		return strings.TrimSuffix("unknown: "+e.Note, ": ")
	}
	var about []string
	e = e.rounded()
	if e.Low.Known() && e.High.Known() {
		about = append(about, ConfidencePercent(confidence)+": "+Between(e.Low, e.High))
	}
	if e.Note != "" {
		about = append(about, e.Note)
	}
	return strings.TrimRight(Digits(e.Value)+" "+unit, " ") + InBrackets(strings.Join(about, "; "))
}

// Of formats the interval with its unit and its note. An unknown capacity has no unit.
func (i Interval) Of(unit string) string {
	if i.LastOK == nil && i.FirstFail == nil {
		return "unknown" + InBrackets(i.Note)
	}
	return i.Text() + " " + unit + InBrackets(i.Note)
}

// shortNote is the maximum length of a note that replaces a capacity.
const shortNote = 24

// Text formats the interval: "[200, 300)", "at least 300", "below 200". An unknown capacity is its note if that is
// short.
func (i Interval) Text() string {
	text := func(v *float64) string { return Digits(Figure(*v)) }
	switch {
	case i.LastOK == nil && i.FirstFail == nil && len(i.Note) <= shortNote:
		return cmp.Or(i.Note, "unknown")
	case i.LastOK == nil && i.FirstFail == nil:
		return "unknown"
	case i.FirstFail == nil:
		return "at least " + text(i.LastOK)
	case i.LastOK == nil:
		return "below " + text(i.FirstFail)
	}
	return fmt.Sprintf("[%s, %s)", text(i.LastOK), text(i.FirstFail))
}

// CostText is Text for a cost. An unknown cost was not determined.
func (e Estimate) CostText(confidence float64, unit string) string {
	if !e.Value.Known() {
		return "not determined: " + e.Note
	}
	return e.Text(confidence, unit)
}
