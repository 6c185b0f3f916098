package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// number writes a figure with so many decimals.
func number(f Figure, decimals int) string {
	if !f.Known() {
		return document.Unknown
	}
	return tuning.Grouped(strconv.FormatFloat(float64(f), 'f', decimals, 64))
}

// grouped writes a whole number.
func grouped(n int) string { return tuning.Grouped(strconv.Itoa(n)) }

// numbered is "1 trial", "2 trials".
func numbered(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", grouped(n), what)
}

// timesText is "once", "twice", "3 times".
func timesText(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// digitsColumn is a column of figures, each with the digits that matter.
func digitsColumn[T any](head, unit string, figure func(T) Figure) document.Of[T] {
	return document.Number(head, unit, func(row T) string { return tuning.Digits(figure(row)) })
}

// figureColumn is a column of figures with so many decimals.
func figureColumn[T any](head, unit string, decimals int, figure func(T) Figure) document.Of[T] {
	return document.Number(head, unit, func(row T) string { return number(figure(row), decimals) })
}

// percentColumn is a column of ratios.
func percentColumn[T any](head string, ratio func(T) Figure) document.Of[T] {
	return document.Number(head, "", func(row T) string { return tuning.Percent(ratio(row)) })
}

// wholeColumn is a column of whole numbers.
func wholeColumn[T any](head string, count func(T) int) document.Of[T] {
	return document.Number(head, "", func(row T) string { return strconv.Itoa(count(row)) })
}

// wholeMs is a percentile of what was measured in whole milliseconds: what lies between them is the histogram's
// interpolation.
func wholeMs(ms Figure) string {
	return tuning.TwoDigits(Figure(math.Round(float64(ms))))
}
