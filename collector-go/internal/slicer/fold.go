package slicer

import (
	"math"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

// fold makes one slice of a series out of its samples, which are in order of time.
func (s *Slicer) fold(in *input, samples []sample, endMs int64) {
	o := in.out
	if !s.begin(o, in.track, endMs) {
		s.late(in, len(samples))
		return
	}
	s.came(in, endMs, len(samples), func(i int) int64 { return samples[i].timeMs })
	s.counts.InSlices += uint64(len(samples))
	switch {
	case in.rule.RestartsName != "":
		s.foldStart(in, samples, endMs)
	case in.kind == metric.KindCounter:
		s.write(o.ref, endMs, o.counter.fold(in, samples, endMs))
	default:
		s.foldGauge(in, samples, endMs)
	}
}

// foldGauge writes the mean, and the least and greatest. The mean of floats may come out beside them by a bit, or overflow:
// then it is the nearer of the two.
func (s *Slicer) foldGauge(in *input, samples []sample, endMs int64) {
	least, greatest, sum := math.Inf(1), math.Inf(-1), 0.0
	for i := range samples {
		v := samples[i].value / in.rule.PerUnit
		least, greatest, sum = min(least, v), max(greatest, v), sum+v
	}
	mean := min(max(sum/float64(len(samples)), least), greatest)
	ref := in.out.ref
	s.write(ref, endMs, mean)
	if in.out.spread {
		s.write(ref+1, endMs, least)
		s.write(ref+2, endMs, greatest)
	}
}

// foldStart writes a process' start time as it was at the end of the slice, and how often it has changed. Storm cuts it to
// whole seconds, the sampler does not: that is no restart.
func (s *Slicer) foldStart(in *input, samples []sample, endMs int64) {
	o := in.out
	for i := range samples {
		start := samples[i].value / in.rule.PerUnit
		if o.counter.begun && math.Abs(start-o.counter.last) >= sameStartSeconds {
			o.restarts++
		}
		o.counter.begun, o.counter.last = true, start
	}
	s.write(o.ref, endMs, o.counter.last)
	s.write(o.ref+1, endMs, o.restarts)
}

const sameStartSeconds = 2

// counterState is what a counter needs from one slice to the next, in canonical units.
type counterState struct {
	begun  bool
	from   *input  // whose samples they were
	total  float64 // as last written
	offset float64 // what the source's earlier lives counted
	last   float64 // the source's last value
	lastMs int64   // its event time
	// recent are the values before last, each at least the one before it, from the last of which it is known that its process went on.
	recent []counted
}

// counted is a value of a counter and its event time.
type counted struct {
	timeMs int64
	value  float64
}

// maxRecent is more than come, at one a second, in what a slice, a pack's span and an interval of what tells of starts take together
// where all are 10 s; of more, the oldest are taken to be of one process.
const maxRecent = 64

// fold takes the samples of a slice and returns the total at its end. The total never falls.
func (c *counterState) fold(in *input, samples []sample, endMs int64) float64 {
	for i := range samples {
		v := samples[i].value / in.rule.PerUnit
		if in.rule.Temporality == metric.Delta {
			c.total += v
		} else {
			c.total = max(c.total, c.cumulative(in, v, samples[i].timeMs, endMs))
		}
		c.begun, c.from = true, in
	}
	return c.total
}

// cumulative is the total with a source's new value. A source that fell, or whose process started since its last value, began
// anew from 0. One that took over from another (see output) goes on from the total: both count the same, but not to the same
// digit (Storm cuts to seconds), so that a fall between the two says nothing.
func (c *counterState) cumulative(in *input, v float64, timeMs, endMs int64) float64 {
	starts, byMs := &in.track.source.starts, endMs+in.track.packMs
	c.review(starts, byMs)
	restarted := c.begun && starts.between(c.lastMs, timeMs, byMs)
	switch {
	case !c.begun:
		c.offset = 0
	case restarted:
		c.offset = c.total
	case c.from != in && v < c.last:
		c.offset = c.total - v
	case v < c.last:
		c.offset = c.total
	}
	c.remember(starts, restarted || c.from != in || v < c.last, byMs)
	c.last, c.lastMs = v, timeMs
	return c.offset + v
}

// review adds what a start took away of which was told too late for the slice that it lay in: the counter had grown beyond its old
// value by then, so that nothing showed.
func (c *counterState) review(starts *starts, byMs int64) {
	for i := 0; i < len(c.recent); i++ {
		if starts.between(c.recent[i].timeMs, c.after(i), byMs) {
			c.offset += c.recent[i].value
			c.recent, i = append(c.recent[:0], c.recent[i+1:]...), -1
		}
	}
}

// after is the time of the value that follows recent[i].
func (c *counterState) after(i int) int64 {
	if i+1 < len(c.recent) {
		return c.recent[i+1].timeMs
	}
	return c.lastMs
}

// remember keeps the last value while it is open whether the next one is of the same process; what is judged already goes.
func (c *counterState) remember(starts *starts, anew bool, byMs int64) {
	if anew || !c.begun || starts.packMs+starts.intervalMs == 0 {
		c.recent = c.recent[:0]
		return
	}
	judged := 0
	for judged < len(c.recent) && c.after(judged) <= starts.judged(byMs) {
		judged++
	}
	judged = max(judged, len(c.recent)+1-maxRecent)
	c.recent = append(c.recent[:0], c.recent[judged:]...)
	c.recent = append(c.recent, counted{c.lastMs, c.last})
}
