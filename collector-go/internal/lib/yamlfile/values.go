package yamlfile

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a non-negative duration, written as 30s or 5m.
type Duration time.Duration

// Set parses a duration. A number without a unit is refused, because the unit would be a guess.
func (d *Duration) Set(text string) error {
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed < 0 {
		return fmt.Errorf("%q is not a duration; use for example 30s or 5m", text)
	}
	*d = Duration(parsed)
	return nil
}

// Ratio is a share from 0 to 1, written as 40% or 0.4.
type Ratio float64

// Set parses a share or a percentage. A value above 1 is refused, because it is most likely a percentage without its
// sign.
func (r *Ratio) Set(text string) error {
	digits, percent := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if percent {
		value /= 100
	}
	if err != nil || !(value >= 0 && value <= 1) {
		return fmt.Errorf("%q is not a ratio; use for example 40%% or 0.4", text)
	}
	*r = Ratio(value)
	return nil
}

// Number parses a finite number.
func Number(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return n, nil
}
