package experimentfile

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// Text forms that experiment files share with other files.
type (
	Duration = yamlfile.Duration
	Ratio    = yamlfile.Ratio
)

// Bytes is a size such as 384MiB or 1.8KiB. Units are powers of 1024.
type Bytes int64

var sizes = []struct {
	unit  string
	bytes float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}}

// Set parses a size with its unit. A bare number is refused, because its unit would be a guess.
func (b *Bytes) Set(text string) error {
	for _, size := range sizes {
		number, found := strings.CutSuffix(text, size.unit)
		if !found {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(value >= 0) || math.IsInf(value, 0) {
			break
		}
		*b = Bytes(math.Round(value * size.bytes))
		return nil
	}
	return fmt.Errorf("%q is not a size; write a number with a unit, for example 384MiB or 1.8KiB", text)
}

// MiB returns the size in whole MiB, rounded down.
func (b Bytes) MiB() int { return int(b >> 20) }

// Rate is a number of records/s, or the word calibrated. Calibrated means that the run finds the rate that leaves a
// share of the host idle.
type Rate struct {
	Calibrated bool
	PerSecond  float64
}

// Set parses a positive rate or the word calibrated.
func (r *Rate) Set(text string) error {
	if text == calibrated {
		*r = Rate{Calibrated: true}
		return nil
	}
	value, err := yamlfile.Number(text)
	if err != nil || !(value > 0) {
		return fmt.Errorf("%q is not a number of records per second above 0; write a number or %s", text, calibrated)
	}
	*r = Rate{PerSecond: value}
	return nil
}

// Number is a number that may be left out. Given distinguishes 0 from an omitted number.
type Number struct {
	Value float64
	Given bool
}

// Set parses a finite number and notes that it was given.
func (n *Number) Set(text string) (err error) {
	n.Value, err = yamlfile.Number(text)
	n.Given = err == nil
	return err
}

// figure returns the number, or Unknown if it was left out.
func (n Number) figure() tuning.Figure {
	if !n.Given {
		return tuning.Unknown
	}
	return tuning.Figure(n.Value)
}

// Limit is a goal's limit: a number in the unit in which goals are judged, which is ms for a time and a ratio for a
// share. Whether the unit fits the goal's figure is checked later, because the figure may come later in the file.
type Limit struct {
	Number
	isTime bool
}

// Set parses a time, a share in percent, or a number.
func (l *Limit) Set(text string) (err error) {
	var share Ratio
	var d time.Duration
	switch n, notNumber := yamlfile.Number(text); {
	case strings.HasSuffix(text, "%"):
		err = share.Set(text)
		l.Value = float64(share)
	case notNumber == nil:
		l.Value = n
	default:
		if d, err = time.ParseDuration(text); err != nil {
			err = fmt.Errorf("%q is not a limit; write a time such as 200ms, a share such as 99%%, or a number", text)
		}
		l.Value, l.isTime = float64(d)/float64(time.Millisecond), true
	}
	l.Given = err == nil
	return err
}
