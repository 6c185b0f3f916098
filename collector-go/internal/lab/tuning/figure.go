package tuning

import (
	"encoding/json"
	"math"
	"strconv"
)

// Figure is a number that may be unknown: NaN here, null in JSON.
type Figure float64

// Unknown is the figure that is not known.
var Unknown = Figure(math.NaN())

// Known reports whether the figure is a finite number.
func (f Figure) Known() bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }

// MarshalJSON writes null for what is not known: JSON has no NaN.
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

// Greater is the larger of two figures; of an unknown one and a known one the known one.
func Greater(a, b Figure) Figure {
	if b.Known() && !(b <= a) {
		return b
	}
	return a
}

// tidy takes away what only the order of a sum made of its last digits.
func tidy(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) {
		return v
	}
	scale := math.Pow(10, 12-math.Ceil(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// sameRounded reports whether two figures differ by no more than tables round.
func sameRounded(a, b Figure) bool {
	return math.Abs(float64(a-b)) <= 1e-6*math.Max(1, math.Max(math.Abs(float64(a)), math.Abs(float64(b))))
}
