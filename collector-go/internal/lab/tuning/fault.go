package tuning

import (
	"errors"
	"fmt"
	"math"
)

// Fault is an error in a cell of a table. Rows count from 1; the reader of a file knows their lines.
type Fault struct {
	Row     int
	Column  string
	Problem string
	// Earlier is the earlier row with the same key, 0 if there is none.
	Earlier int
}

func (f Fault) Error() string {
	text := fmt.Sprintf("row %d, column %s: %s", f.Row, f.Column, f.Problem)
	if f.Earlier > 0 {
		text += fmt.Sprintf(" (first in row %d)", f.Earlier)
	}
	return text
}

// faults collects faults, so that all faults of a table are reported at once.
type faults []error

func (f *faults) add(row int, column, format string, args ...any) {
	*f = append(*f, Fault{Row: row, Column: column, Problem: fmt.Sprintf(format, args...)})
}

func (f *faults) repeats(row, earlier int, column, format string, args ...any) {
	*f = append(*f, Fault{Row: row, Column: column, Problem: fmt.Sprintf(format, args...), Earlier: earlier})
}

// once requires that no two rows have the same key.
func once[K comparable](f *faults, seen map[K]int, key K, row int, column, format string, args ...any) {
	if earlier, twice := seen[key]; twice {
		f.repeats(row, earlier, column, format, args...)
	} else {
		seen[key] = row
	}
}

// atLeast requires a finite number that is not below least; positive requires one above 0.
func (f *faults) atLeast(row int, column string, v, least float64) {
	f.check(row, column, v, v >= least, "at least", least)
}
func (f *faults) positive(row int, column string, v float64) {
	f.check(row, column, v, v > 0, "above", 0)
}

// notNegative is for figures that may be unknown.
func (f *faults) notNegative(row int, column string, v Figure) {
	if v < 0 || math.IsInf(float64(v), 0) {
		f.add(row, column, "%g is not at least 0", float64(v))
	}
}

func (f *faults) check(row int, column string, v float64, ok bool, word string, least float64) {
	if !Figure(v).Known() {
		f.add(row, column, "the cell is empty or not a number; write a number %s %g", word, least)
	} else if !ok {
		f.add(row, column, "%g is not %s %g", v, word, least)
	}
}

func (f faults) err() error { return errors.Join(f...) }
