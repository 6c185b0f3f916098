package busy

import (
	"fmt"
	"math"
)

// Estimate is how long a task spent executing in a span of time, with what that rests on.
type Estimate struct {
	// Tuples is how many it executed in the span, Seconds how long they took together.
	Tuples, Seconds float64
	// Error is that of the seconds at two standard errors, beside that of Storm's sampling.
	Error float64
	// Span is how long the time is, seconds, and SampleRate the share of tuples that Storm samples.
	Span, SampleRate float64
}

// Silent reports why the estimate says nothing at all, "" where it does.
func (e Estimate) Silent() string {
	samples := e.Tuples * e.SampleRate
	switch {
	case !(math.Round(samples) >= LeastSamples):
		return fmt.Sprintf("it executed %.0f tuples, of which Storm sampled about %.0f: at least %d are needed", e.Tuples,
			samples, LeastSamples)
	case math.IsNaN(e.Seconds):
		return "Storm's figures do not tell how long its tuples took"
	}
	return ""
}

// Share is the busy share of the span, or why it is not known.
func (e Estimate) Share() (share float64, why string) {
	if why := e.Silent(); why != "" {
		return math.NaN(), why
	}
	share = e.Seconds / e.Span
	within := e.within()
	switch {
	case !(within <= MostError):
		return math.NaN(), fmt.Sprintf("Storm's figures leave an error of %.0f%% of its time", 100*within)
	case share > 1+within || share < -within:
		return math.NaN(), fmt.Sprintf("Storm's figures come to %.0f%% of its time, which cannot be", 100*share)
	}
	return min(1, max(0, share)), ""
}

// within is the error of the share at two standard errors. A sampled tuple stands for those that were not, and its time
// is in whole milliseconds: with a mean of m ms, a sample scatters by no more than about m ms (as times between random
// events do), and rounding adds a variance of m.
func (e Estimate) within() float64 {
	m := 1000 * max(0, e.Seconds) / e.Tuples
	sampling := math.Sqrt(e.Tuples*((1-e.SampleRate)*m*m+m)/e.SampleRate) / 1000
	return (2*sampling + e.Error) / e.Span
}
