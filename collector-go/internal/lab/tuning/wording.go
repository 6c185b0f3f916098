package tuning

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Percent writes a ratio: 0.4 is "40%", 0.042 "4.2%".
func Percent(f Figure) string {
	if !f.Known() {
		return "–"
	}
	decimals := 0
	if f < 0.1 {
		decimals = 1
	}
	return strconv.FormatFloat(100*float64(f), 'f', decimals, 64) + "%"
}

// SignedPercent writes a relative change: "-26.1%".
func SignedPercent(f Figure) string {
	if !f.Known() {
		return "–"
	}
	return fmt.Sprintf("%+.1f%%", math.Round(1000*float64(f))/10+0)
}

// SignedDigits writes an absolute change, with a plus where it is one.
func SignedDigits(f Figure) string {
	if f > 0 {
		return "+" + Digits(f)
	}
	return Digits(f)
}

// ConfidencePercent writes a confidence: 0.95 is "95%".
func ConfidencePercent(confidence float64) string { return Digits(Figure(100*confidence)) + "%" }

// Between is an interval in words; "unknown" where an end of it is.
func Between(low, high Figure) string {
	if !low.Known() || !high.Known() {
		return "unknown"
	}
	return Digits(low) + " to " + Digits(high)
}

// InBrackets is a note behind a sentence, "" for none.
func InBrackets(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}

// rounded has no digits that its interval makes meaningless: two significant ones of half the interval are left.
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

// Text is the value with its interval: "12.4 ms (95%: 11.8 to 13.1)"; of an unknown one why.
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

// Of is the interval with the unit of its ends and its note; a capacity that is unknown has no unit.
func (i Interval) Of(unit string) string {
	if i.LastOK == nil && i.FirstFail == nil {
		return "unknown" + InBrackets(i.Note)
	}
	return i.Text() + " " + unit + InBrackets(i.Note)
}

// shortNote is how long a note may be to stand in the place of a capacity.
const shortNote = 24

// Text is the interval: "[200, 300)", "at least 300", "below 200"; a short note where nothing is known.
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
