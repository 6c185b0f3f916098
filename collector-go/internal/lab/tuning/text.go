package tuning

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Digits formats a number with four significant digits, but never fewer than its whole part. Numbers below ten
// thousand have at least one decimal unless it is 0. An unknown number is a dash.
func Digits(f Figure) string {
	if !f.Known() {
		return "–"
	}
	decimals := 0
	if magnitude := math.Abs(float64(f)); magnitude > 0 {
		decimals = min(12, max(0, 3-int(math.Floor(math.Log10(magnitude)))))
		if magnitude < 10_000 {
			decimals = max(decimals, 1)
		}
	}
	return Grouped(trimmed(strconv.FormatFloat(float64(f), 'f', decimals, 64)))
}

// TwoDigits formats a number whose further digits are meaningless: 1,369 becomes "1,400", 0.0234 becomes "0.023".
func TwoDigits(f Figure) string {
	if !f.Known() || f == 0 {
		return Digits(f)
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(float64(f))))-1)
	return Digits(Figure(math.Round(float64(f)/unit) * unit))
}

// trimmed removes trailing zeros after the point.
func trimmed(text string) string {
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// Counted formats a number of things: "1 trial", "36 trials", "2 capacities", "3 launches".
func Counted(n int, one string) string {
	if n != 1 {
		if stem, found := strings.CutSuffix(one, "y"); found {
			one = stem + "ie"
		} else if strings.HasSuffix(one, "ch") {
			one += "e"
		}
		one += "s"
	}
	return Count(n) + " " + one
}

// Fixed formats a number with a fixed number of decimals, for columns that a reader compares digit by digit.
func Fixed(f Figure, decimals int) string {
	if !f.Known() {
		return "–"
	}
	return Grouped(strconv.FormatFloat(float64(f), 'f', decimals, 64))
}

// Count formats a whole number.
func Count(n int) string { return Grouped(strconv.Itoa(n)) }

// YesNo formats a boolean.
func YesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// Times formats how often something happened: "once", "twice", "3 times".
func Times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return Count(n) + " times"
}

// Lasting formats a duration in ms without trailing zeros: "5m", "1m30s".
func Lasting(ms int64) string {
	text := (time.Duration(ms) * time.Millisecond).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// Took formats a time in seconds, such as 12m0s. It drops fractions of a second.
func Took(seconds float64) string { return (time.Duration(seconds) * time.Second).String() }

// Grouped inserts a comma between groups of three digits before the point.
func Grouped(digits string) string {
	whole, fraction, found := strings.Cut(digits, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if found {
		whole += "." + fraction
	}
	return sign + whole
}

// grouped formats a number with all its digits except rounding errors (tidy).
func grouped(v float64) string {
	return Grouped(strconv.FormatFloat(tidy(v), 'f', -1, 64))
}

// Listed joins texts: "a", "a and b", "a, b and c".
func Listed(texts []string) string {
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}

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

// Text formats the interval: "holds 200, fails at 300", "at least 300", "below 200". An unknown capacity is its note if
// that is short.
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
	return fmt.Sprintf("holds %s, fails at %s", text(i.LastOK), text(i.FirstFail))
}

// CostText is Text for a cost. An unknown cost was not determined.
func (e Estimate) CostText(confidence float64, unit string) string {
	if !e.Value.Known() {
		return "not determined: " + e.Note
	}
	return e.Text(confidence, unit)
}
