package searchfile

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
)

// Duration is a time such as 200ms or 4h.
type Duration time.Duration

// Set reads a duration; an error where the text is none or is negative.
func (d *Duration) Set(text string) error {
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed < 0 {
		return fmt.Errorf("%q is not a time; write one such as 200ms or 5m", text)
	}
	*d = Duration(parsed)
	return nil
}

// Ratio is a share such as 99.9% or 0.999.
type Ratio float64

// Set reads a share from 0 to 1, or a percentage; an error where the text is none.
func (r *Ratio) Set(text string) error {
	digits, percent := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if percent {
		value /= 100
	}
	if err != nil || !(value >= 0 && value <= 1) {
		return fmt.Errorf("%q is not a share; write one such as 99%% or 0.99", text)
	}
	*r = Ratio(value)
	return nil
}

// Formula is an optimize.Formula as a file has it.
type Formula struct{ *optimize.Formula }

// Set reads a formula; an error states what of it is not understood.
func (f *Formula) Set(text string) (err error) {
	f.Formula, err = optimize.ParseFormula(text)
	return err
}

func number(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}
