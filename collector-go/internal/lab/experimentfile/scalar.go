package experimentfile

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// scalar is a value with a text form of its own.
type scalar interface{ set(text string) error }

// Duration is a time such as 30s or 5m.
type Duration time.Duration

func (d *Duration) set(text string) error {
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed < 0 {
		return fmt.Errorf("%q is not a time; write one such as 30s or 5m", text)
	}
	*d = Duration(parsed)
	return nil
}

// Ratio is a share such as 40% or 0.4.
type Ratio float64

func (r *Ratio) set(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		value /= 100
	}
	if err != nil || !(value >= 0 && value <= 1) {
		return fmt.Errorf("%q is not a share; write one such as 40%% or 0.4", text)
	}
	*r = Ratio(value)
	return nil
}

// Bytes is a size such as 384MiB or 1.8KiB.
type Bytes int64

var sizes = []struct {
	unit  string
	bytes float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}}

func (b *Bytes) set(text string) error {
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
	return fmt.Errorf("%q is not a size; write one such as 384MiB or 1.8KiB", text)
}

// MiB is the size in whole MiB.
func (b Bytes) MiB() int { return int(b >> 20) }

// Rate is a number of records a second, or the word calibrated.
type Rate struct {
	Calibrated bool
	PerSecond  float64
}

func (r *Rate) set(text string) error {
	if text == calibrated {
		*r = Rate{Calibrated: true}
		return nil
	}
	value, err := number(text)
	if err != nil || !(value > 0) {
		return fmt.Errorf("%q is neither a positive number of records a second nor the word %s", text, calibrated)
	}
	*r = Rate{PerSecond: value}
	return nil
}

// Number is a number that may be left out.
type Number struct {
	Value float64
	Given bool
}

func (n *Number) set(text string) (err error) {
	n.Value, err = number(text)
	n.Given = err == nil
	return err
}

// Limit is a goal's limit: a time, a share or a number, as its figure has it.
type Limit struct {
	Text  string
	Given bool
}

func (l *Limit) set(text string) error {
	*l = Limit{Text: text, Given: true}
	return nil
}

// value is the limit in the unit that goals are judged in: ms for times, ratios for shares.
func (l Limit) value(unit string) (float64, error) {
	if unit == "ms" {
		var d Duration
		if err := d.set(l.Text); err != nil {
			return 0, err
		}
		return float64(d) / float64(time.Millisecond), nil
	}
	if strings.HasSuffix(l.Text, "%") {
		var r Ratio
		err := r.set(l.Text)
		return float64(r), err
	}
	return number(l.Text)
}

var errNoNumber = errors.New("not a number")

func number(text string) (float64, error) {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, fmt.Errorf("%q is %w", text, errNoNumber)
	}
	return value, nil
}

// Settings are Bullet's or Storm's, in the file's order, their values as YAML on one line.
type Settings []Setting

// Setting is one of them.
type Setting struct{ Key, Value string }
