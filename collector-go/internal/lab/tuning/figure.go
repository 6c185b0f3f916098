package tuning

import (
	"encoding/json"
	"math"
	"reflect"
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
