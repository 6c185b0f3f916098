package runstore

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"

// Usage is what the workers used in a span: a figure for each worker that reported its CPU in it. Times are in seconds
// per second, so that CPU is in cores. The measurement of a step, the reports and the predictions all use it.
type Usage struct {
	CPU, User, System, GC, HeapBytes []tuning.Figure
	// Slices are the CPU slices of the worker that has the fewest.
	Slices int
}

// Usage returns what the workers used in a span. A worker without a CPU rate did not run in it and is left out.
func (f *Figures) Usage(p Span) (u Usage) {
	for _, w := range f.Workers {
		cpu := p.Rate(w.CPUSeconds)
		if !cpu.Known() {
			continue
		}
		low, high := p.Within(w.CPUSeconds)
		if n := max(1, high-low); u.Slices == 0 || n < u.Slices {
			u.Slices = n
		}
		u.CPU, u.GC = append(u.CPU, cpu), append(u.GC, p.Rate(w.GCSeconds))
		u.User, u.System = append(u.User, p.Rate(w.CPUUserSeconds)), append(u.System, p.Rate(w.CPUSystemSeconds))
		u.HeapBytes = append(u.HeapBytes, p.Mean(w.HeapUsedBytes))
	}
	return u
}

// FilterLatencyMs returns the mean of each filter task over a span, in ms. Bullet reports one mean for each task and
// interval, so these are means of means, and each task has the same weight. Percentiles come from the histogram of the
// latency hook.
func (f *Figures) FilterLatencyMs(p Span) []tuning.Figure {
	means := make([]tuning.Figure, len(f.FilterLatencySeconds))
	for i, task := range f.FilterLatencySeconds {
		means[i] = 1000 * p.Mean(task)
	}
	return means
}

// Total returns the sum of figures. It is unknown if there are none or if any of them is unknown, because a sum with a
// missing part would be too small.
func Total(figures []tuning.Figure) tuning.Figure {
	if len(figures) == 0 {
		return tuning.Unknown
	}
	sum := tuning.Figure(0)
	for _, f := range figures {
		sum += f
	}
	return sum
}
