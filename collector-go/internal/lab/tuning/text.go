package tuning

import (
	"math"
	"strconv"
	"strings"
)

// Digits writes a number with its meaningful digits: four significant ones, but never fewer than its whole part, and a
// decimal below ten thousand. What is not known is a dash.
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

// TwoDigits writes a number of which more than two significant digits mean nothing: 1,369 is "1,400", 0.0234 "0.023".
func TwoDigits(f Figure) string {
	if !f.Known() || f == 0 {
		return Digits(f)
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(float64(f))))-1)
	return Digits(Figure(math.Round(float64(f)/unit) * unit))
}

// trimmed takes the zeros behind the point away.
func trimmed(text string) string {
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// Counted is a number of things: "1 trial", "36 trials", "2 capacities", "3 launches".
func Counted(n int, one string) string {
	if n != 1 {
		if stem, found := strings.CutSuffix(one, "y"); found {
			one = stem + "ie"
		} else if strings.HasSuffix(one, "ch") {
			one += "e"
		}
		one += "s"
	}
	return Grouped(strconv.Itoa(n)) + " " + one
}

// Grouped puts a comma between each three digits before the point of a number's text.
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

// grouped writes all digits of a number but those that only the order of a sum made.
func grouped(v float64) string {
	return Grouped(strconv.FormatFloat(tidy(v), 'f', -1, 64))
}

// Listed is "a", "a and b", "a, b and c".
func Listed(texts []string) string {
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}
