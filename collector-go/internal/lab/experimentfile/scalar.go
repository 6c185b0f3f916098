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
	return fmt.Errorf("%q is not a size; write one such as 384MiB or 1.8KiB", text)
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
		return fmt.Errorf("%q is neither a positive number of records a second nor the word %s", text, calibrated)
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

// Limit is a goal's limit. A file may write a time, a share or a number, and only the goal's figure determines which
// is valid. text therefore keeps what the file wrote until the figure is known. A limit from LimitOf has no text,
// because it is already a number in the figure's unit.
type Limit struct {
	Given  bool
	text   *string
	number float64
}

// LimitOf returns a limit from a number in the unit that goals are judged in.
func LimitOf(v tuning.Figure) Limit { return Limit{Given: true, number: float64(v)} }

// Set keeps the text. It cannot fail, because the figure that determines the meaning may come later in the file.
func (l *Limit) Set(text string) error {
	*l = Limit{Given: true, text: &text}
	return nil
}

// value returns the limit in the unit that goals are judged in: ms for times, ratios for shares.
func (l Limit) value(unit string) (float64, error) {
	switch {
	case l.text == nil:
		return l.number, nil
	case unit == "ms":
		var d Duration
		err := d.Set(*l.text)
		return float64(d) / float64(time.Millisecond), err
	case strings.HasSuffix(*l.text, "%"):
		var r Ratio
		err := r.Set(*l.text)
		return float64(r), err
	}
	return yamlfile.Number(*l.text)
}
