package chart

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// Unknown is a value that is not known: it is a gap in a line, and no limit.
var Unknown = math.NaN()

func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Thousands writes 60000 as "60K", as the document does.
func Thousands(v float64) string {
	switch {
	case math.Abs(v) >= 1e6:
		return Plain(v/1e6) + "M"
	case math.Abs(v) >= 1e3:
		return Plain(v/1e3) + "K"
	}
	return Plain(v)
}

// Plain writes a number without the digits that only rounding made; adding 0 makes -0 a plain 0.
func Plain(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6+0, 'f', -1, 64) }

// Clock writes seconds as minutes and seconds: -30 is "-0:30", 90 is "1:30".
func Clock(seconds float64) string {
	sign, s := "", int(math.Round(seconds))
	if s < 0 {
		sign, s = "-", -s
	}
	return fmt.Sprintf("%s%d:%02d", sign, s/60, s%60)
}

// niceStep is the smallest of 1, 2, 2.5, 5 times a power of ten that divides length into at most parts.
func niceStep(length float64, parts int) float64 {
	if !(length > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(length/float64(parts))))
	for _, factor := range []float64{1, 2, 2.5, 5} {
		if length/(factor*power) <= float64(parts)+1e-9 {
			return factor * power
		}
	}
	return 10 * power
}

// niceTime is the smallest usual number of seconds that divides length into at most parts.
func niceTime(length float64, parts int) float64 {
	for _, step := range []float64{5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200} {
		if length/step <= float64(parts) {
			return step
		}
	}
	return niceStep(length, parts)
}

// ticks are labelled at every multiple of step in [low, high].
func ticks(low, high, step float64, label func(float64) string) plot.ConstantTicks {
	var out plot.ConstantTicks
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9; i++ {
		out = append(out, plot.Tick{Value: i * step, Label: label(i * step)})
	}
	return out
}

// decades are labelled at every power of ten in [low, high], with unlabelled ticks between them.
func decades(low, high float64) plot.ConstantTicks {
	var out plot.ConstantTicks
	for power := low; power <= high*1.001; power *= 10 {
		out = append(out, plot.Tick{Value: power, Label: Plain(power)})
		for i := 2.0; i < 10 && i*power <= high; i++ {
			out = append(out, plot.Tick{Value: i * power})
		}
	}
	return out
}

// Nine is the place of a share below 1 on an axis on which each unit is another nine: 1 for 0.9, 2 for 0.99.
func Nine(share float64) float64 { return -math.Log10(1 - share) }

// nines are labelled with the shares that people ask for.
func nines(high float64) (out plot.ConstantTicks) {
	for _, percent := range []float64{50, 90, 99, 99.9, 99.99, 99.999} {
		if at := Nine(percent / 100); at <= high+1e-9 {
			out = append(out, plot.Tick{Value: at, Label: Plain(percent) + "%"})
		}
	}
	return out
}

func unlabelled(labelled plot.ConstantTicks) plot.ConstantTicks {
	out := make(plot.ConstantTicks, len(labelled))
	for i, tick := range labelled {
		out[i] = plot.Tick{Value: tick.Value}
	}
	return out
}

// rowTicks name rows from the top down: the first stands at n, the last at 1.
func rowTicks(names []string) plot.ConstantTicks {
	var out plot.ConstantTicks
	for i, name := range names {
		out = append(out, plot.Tick{Value: float64(len(names) - i), Label: name})
	}
	return out
}
