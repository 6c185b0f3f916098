package busy

import (
	"fmt"
	"math"
)

// Estimate is an estimate of the time that a task spent executing during a span, with the data it is based on.
type Estimate struct {
	// Tuples is the number of tuples that it executed in the span. Seconds is the total time they took.
	Tuples, Seconds float64
	// Error is the error of Seconds at two standard errors, in seconds, without the error of Storm's sampling.
	Error float64
	// Span is the length of the span in seconds. SampleRate is the share of tuples that Storm samples.
	Span, SampleRate float64
}

// Silent returns why there is no usable estimate, or "" if there is one.
func (e Estimate) Silent() string {
	samples := e.Tuples * e.SampleRate
	switch {
	case !(math.Round(samples) >= LeastSamples):
		return fmt.Sprintf("Storm sampled only about %.0f of its %.0f executed tuples; at least %d samples are required", samples,
			e.Tuples, LeastSamples)
	case math.IsNaN(e.Seconds):
		return "Storm reported no execution times"
	}
	return ""
}

// Share returns the busy share of the span. If it is unknown, the result is NaN and the reason.
func (e Estimate) Share() (share float64, why string) {
	if why := e.Silent(); why != "" {
		return math.NaN(), why
	}
	share = e.Seconds / e.Span
	within := e.within()
	switch {
	case !(within <= MostError):
		return math.NaN(), fmt.Sprintf("the error of its busy share is %.0f%%, above the limit of %.0f%%", 100*within, 100*MostError)
	case share > 1+within || share < -within:
		return math.NaN(), fmt.Sprintf("Storm reported an impossible busy share of %.0f%%", 100*share)
	}
	return min(1, max(0, share)), ""
}

// within returns the error of the share at two standard errors. A sampled tuple stands for those that were not
// sampled, and its time is in whole milliseconds. With a mean of m ms, a sample scatters by about m ms at most (like
// times between random events), and rounding adds a variance of m.
func (e Estimate) within() float64 {
	m := 1000 * max(0, e.Seconds) / e.Tuples
	sampling := math.Sqrt(e.Tuples*((1-e.SampleRate)*m*m+m)/e.SampleRate) / 1000
	return (2*sampling + e.Error) / e.Span
}
