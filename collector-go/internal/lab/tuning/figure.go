package tuning

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// Figure is a number that may be unknown: NaN in memory, null in JSON.
type Figure float64

// Unknown is the unknown figure.
var Unknown = Figure(math.NaN())

// Known reports whether the figure is a finite number.
func (f Figure) Known() bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }

// MarshalJSON writes null for an unknown figure, because JSON has no NaN.
func (f Figure) MarshalJSON() ([]byte, error) {
	if !f.Known() {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(f), 'g', -1, 64), nil
}

// UnmarshalJSON reads null as NaN.
func (f *Figure) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*f = Unknown
		return nil
	}
	return json.Unmarshal(text, (*float64)(f))
}

// unmeasured returns a T in which each figure is unknown, also in the structs of T: a figure that nobody measured must
// not be taken for 0.
func unmeasured[T any]() (out T) {
	forget(reflect.ValueOf(&out).Elem())
	return out
}

func forget(v reflect.Value) {
	for i := range v.NumField() {
		switch field := v.Field(i); {
		case !field.CanSet():
		case field.Type() == reflect.TypeFor[Figure]():
			field.SetFloat(math.NaN())
		case field.Kind() == reflect.Struct:
			forget(field)
		}
	}
}

// Greater returns the larger of two figures. If only one is known, it returns that one.
func Greater(a, b Figure) Figure {
	if b.Known() && !(b <= a) {
		return b
	}
	return a
}

// Largest returns the largest known figure.
func Largest(figures []Figure) Figure {
	most := Unknown
	for _, f := range figures {
		most = Greater(most, f)
	}
	return most
}

// tidy rounds to 12 significant digits, which removes digits that depend only on the order of a sum.
func tidy(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) {
		return v
	}
	scale := math.Pow(10, 12-math.Ceil(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// sameRounded reports whether two figures are equal up to the rounding of tables.
func sameRounded(a, b Figure) bool {
	return math.Abs(float64(a-b)) <= 1e-6*math.Max(1, math.Max(math.Abs(float64(a)), math.Abs(float64(b))))
}

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

// Each maps a list. The result is never nil, so that JSON has [] and not null.
func Each[T, U any](all []T, of func(T) U) []U {
	out := make([]U, len(all))
	for i, one := range all {
		out[i] = of(one)
	}
	return out
}

// Those returns the elements that fit, in their order. It leaves the list as it is.
func Those[T any](all []T, fits func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !fits(one) })
}

// First returns the first element that fits, and whether there is one.
func First[T any](all []T, fits func(T) bool) (first T, found bool) {
	i := slices.IndexFunc(all, fits)
	if i < 0 {
		return first, false
	}
	return all[i], true
}

// Union returns all with what it does not have yet of more.
func Union[T comparable](all []T, more ...T) []T {
	for _, one := range more {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}
