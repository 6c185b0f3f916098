// Package csvtable reads measurements that people keep in CSV files, with the columns of Bullet's tuning document and
// units in the names of the columns. It handles the syntax: separators, headers, misspelled columns, numbers with
// commas. Every error names the file, line and column, and says how to correct it. The package does not know what the
// figures mean. That is the job of tuning, and Table.Locate adds the place in the file to tuning's errors.
//
// Start reading at Open in table.go. measurements.go defines the columns of each analysis.
package csvtable

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/agnivade/levenshtein"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Kind is the type of a column's cells. It decides how a cell is checked.
type Kind int

// The kinds of columns.
const (
	Text Kind = iota
	Number
	Whole
	// VerdictOfRun is a verdict. The tables of a run's report have this column, because a run is also judged by goals
	// whose figures are not in the table.
	VerdictOfRun
)

// Column is a column that a table may or must have. An optional column may be absent, and a column that may be empty
// may have cells without a value. Both read as Unknown.
type Column struct {
	Name string
	Kind Kind
	// Optional means that the whole column may be absent. MayBeEmpty means that single cells may be empty.
	Optional, MayBeEmpty bool
}

// The upper bounds of counts and of other numbers. A larger number of instances, queries or records is a typing error.
const (
	largestWhole  = 1_000_000_000
	largestNumber = 1e15
)

// parse reads a number. Its error says how to write the number correctly. Hexadecimal digits, binary exponents and
// underscores are refused although strconv accepts them, because in a table written by hand they are typing errors.
func (c Column) parse(text string) (tuning.Figure, error) {
	switch {
	case strings.Contains(text, ","):
		return tuning.Unknown, fmt.Errorf("%q has a comma; %s", text, withoutComma(text))
	case strings.ContainsAny(text, "xXpP_"):
		return tuning.Unknown, fmt.Errorf("%q is not a number; write digits and a point, such as 1234.5", text)
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return tuning.Unknown, fmt.Errorf("%q is not a finite number; remove rows that were not measured", text)
	case err != nil:
		return tuning.Unknown,
			fmt.Errorf("%q is not a number; write digits and a point, such as 1234.5, without a unit", text)
	case v < 0:
		return tuning.Unknown, fmt.Errorf("%s is negative; a %s is at least 0", text, c.Name)
	case v > largestNumber:
		return tuning.Unknown, fmt.Errorf("%s is too large for a %s; the maximum is %g", text, c.Name,
			float64(largestNumber))
	case c.Kind == Whole && (v != math.Trunc(v) || v > largestWhole):
		return tuning.Unknown, fmt.Errorf("%s is not a whole number up to %d", text, largestWhole)
	}
	return tuning.Figure(v), nil
}

// These patterns are the two ways to read a number with a comma: the comma marks the decimals, or it separates
// thousands.
var (
	decimalComma    = regexp.MustCompile(`^[+-]?(?:\d+|\d{1,3}(?:[. '\x{a0}\x{202f}\x{2019}]\d{3})+),\d+$`)
	thousandsCommas = regexp.MustCompile(`^[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$`)
)

// withoutComma says how to write a number that has a comma. Only the author knows which number is meant: 1,234 may be a
// thousand or a little more than one. The text therefore offers every possible reading and chooses none.
func withoutComma(text string) string {
	decimal, thousands := decimalComma.MatchString(text), thousandsCommas.MatchString(text)
	plain := strings.ReplaceAll(text, ",", "")
	whole, fraction, _ := strings.Cut(text, ",")
	point := strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) || r == '+' || r == '-' {
			return r
		}
		return -1
	}, whole) + "." + fraction
	switch {
	case decimal && thousands:
		return fmt.Sprintf("write %s if the comma marks the decimals, or %s if it separates thousands", point, plain)
	case decimal:
		return fmt.Sprintf("write %s if the comma marks the decimals, without separators of thousands", point)
	case thousands:
		return fmt.Sprintf("write %s, without separators of thousands", plain)
	}
	return "write digits and a point, such as 1234.5"
}

// nearest returns the known name with the smallest edit distance to a name, and that distance. Of several such names it
// returns the first.
func nearest(name string, known []string) (best string, distance int) {
	distance = math.MaxInt
	for _, k := range known {
		if d := levenshtein.ComputeDistance(name, k); d < distance {
			best, distance = k, d
		}
	}
	return best, distance
}

// slip returns the largest edit distance that counts as a misspelling of a name: 0 for a short name, at most 3 for a
// long one.
func slip(name string) int { return min(3, max(0, (len(name)-4)/4)) }
