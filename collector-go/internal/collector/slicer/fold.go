package slicer

import (
	"math"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// column holds the samples that one series has in a slice, in order of time. Times and values are apart, because the
// series of one tick share their times.
type column struct {
	timesMs   []int64
	made      []made
	samples   []float64
	longestMs int64 // longest time between two of them; 0 if there is only one
}

func (c *column) firstMs() int64 { return c.timesMs[0] }
func (c *column) lastMs() int64  { return c.timesMs[len(c.timesMs)-1] }

func (c *column) begin() { c.timesMs, c.made = c.timesMs[:0], c.made[:0] }

// add adds the time and origin of a sample. Its value is added separately.
func (c *column) add(o *origin) {
	c.timesMs, c.made = append(c.timesMs, o.timeMs), append(c.made, o.made())
}

// measure computes longestMs from the times.
func (c *column) measure() {
	c.longestMs = 0
	for i := 1; i < len(c.timesMs); i++ {
		c.longestMs = max(c.longestMs, c.timesMs[i]-c.timesMs[i-1])
	}
}

// take reads the samples of a slot. The times of the rows must already be set.
func (c *column) take(rows []strip, at int) {
	c.samples = c.samples[:0]
	for _, p := range rows {
		c.samples = append(c.samples, p.values[at])
	}
}

// read reads the samples of a slot and their times. It reports whether there are any.
func (c *column) read(b *bucket, rows []strip, at int) bool {
	c.begin()
	c.samples = c.samples[:0]
	for i := range rows {
		if p := &rows[i]; p.taken>>at&1 != 0 {
			c.add(&b.origins[b.originOf(p, uint32(at))-1])
			c.samples = append(c.samples, p.values[at])
		}
	}
	c.measure()
	return len(c.samples) > 0
}

// folding is how the samples of a series become a slice. It depends only on the rule, so it is stored in the input
// instead of being decided for each slice.
type folding uint8

const (
	foldGauge folding = iota
	foldDeltas
	foldTotals
	foldStart
)

func foldingOf(rule *metric.Rule) folding {
	switch {
	case rule.RestartsName != "":
		return foldStart
	case rule.Series.Kind != metric.KindCounter:
		return foldGauge
	case rule.Temporality == metric.Delta:
		return foldDeltas
	}
	return foldTotals
}

// fold writes one slice of a series from its samples, and may change the samples. If the series already has a slice at
// that time or a newer one, the samples count as late.
func (s *Slicer) fold(in *input, c *column, endMs int64) {
	o := in.out
	if !s.begin(o, in.state, endMs) {
		s.late(in, len(c.samples))
		return
	}
	s.cameTogether(in, endMs, c)
	s.counts.InSlices += uint64(len(c.samples))
	if in.perUnit != 1 {
		for i := range c.samples {
			c.samples[i] /= in.perUnit
		}
	}
	switch in.folding {
	case foldStart:
		s.foldStart(in, c, endMs)
	case foldDeltas:
		o.counter.addAll(in, c.samples)
		s.write(o.ref, endMs, o.counter.total)
	case foldTotals:
		s.write(o.ref, endMs, o.counter.fold(in, c, endMs, s.folding(in.state, endMs)))
	default:
		s.foldGauge(o, c.samples, endMs)
	}
}

// cameTogether does what came does, but uses the precomputed longest time between samples. If no sample can be missing,
// it does not look at the samples.
func (s *Slicer) cameTogether(in *input, endMs int64, c *column) {
	h, o := in.health, in.out
	if h == nil {
		return
	}
	longestMs := c.longestMs
	if last := o.heardMs; last > in.sinceMs && last > 0 {
		longestMs = max(longestMs, c.firstMs()-last)
	}
	if c.firstMs() <= in.sinceMs || in.steady && 2*longestMs >= 3*in.everyMs {
		s.came(in, endMs, len(c.samples), func(i int) int64 { return c.timesMs[i] })
		return
	}
	o.heardMs, o.missed = c.lastMs(), 0
	h.longestMs = max(h.longestMs, longestMs)
	h.samples += uint64(len(c.samples))
	h.lastEnd = max(h.lastEnd, endMs)
}

// foldGauge writes the mean and, if the output needs them, the least and the greatest value. Rounding may put the
// computed mean just outside that range, and the sum may overflow. The mean is therefore clamped to the range.
func (s *Slicer) foldGauge(o *output, samples []float64, endMs int64) {
	least, greatest, sum := math.Inf(1), math.Inf(-1), 0.0
	for _, v := range samples {
		least, greatest, sum = min(least, v), max(greatest, v), sum+v
	}
	mean := min(max(sum/float64(len(samples)), least), greatest)
	s.write(o.ref, endMs, mean)
	if o.spread {
		s.write(o.ref+1, endMs, least)
		s.write(o.ref+2, endMs, greatest)
	}
}

// foldStart writes the start time of a process at the end of the slice, and how often it changed. Storm truncates start
// times to whole seconds and the sampler does not, so a small difference is no restart. A process that was reported
// before is no restart either.
func (s *Slicer) foldStart(in *input, c *column, endMs int64) {
	o := in.out
	for i, start := range c.samples {
		ms := int64(start * 1000)
		if o.counter.begun && !sameStart(ms, int64(o.counter.last*1000)) &&
			!in.state.source.starts.before(ms, c.timesMs[i]) {
			o.restarts++
		}
		o.counter.begun, o.counter.last = true, start
	}
	s.write(o.ref, endMs, o.counter.last)
	s.write(o.ref+1, endMs, o.restarts)
}

// counterState is the state that a counter keeps from one slice to the next, in canonical units.
type counterState struct {
	begun  bool
	from   *input  // the input whose samples were counted last
	total  float64 // as last written
	offset float64 // sum of what the source's earlier processes counted
	last   float64 // the source's last value
	lastMs int64   // its event time
	history
	// recent holds the values before last. The process of the value that precedes them is known to have continued.
	recent []counted
}

// counted is a value of a counter and its event time.
type counted struct {
	timeMs int64
	value  float64
}

// maxRecent bounds counterState.recent. At one sample per second and with slices, packs and intervals of 10 s, fewer
// values are undecided at a time. If there are more, the oldest are assumed to belong to one process.
const maxRecent = 64

// addAll adds deltas, each counted since the sample before it.
func (c *counterState) addAll(in *input, samples []float64) {
	for _, v := range samples {
		c.total += v
	}
	c.begun, c.from = true, in
}

// fold takes the samples of a slice and returns the total at its end. The total never falls.
func (c *counterState) fold(in *input, x *column, endMs int64, w fold) float64 {
	if c.goesOn(in, x, endMs) {
		return c.total
	}
	for i, v := range x.samples {
		if c.precedes(v, x.timesMs[i], x.made[i], w.openMs) {
			continue
		}
		c.total = max(c.total, c.cumulative(in, v, x.timesMs[i], x.made[i], w))
		c.begun, c.from = true, in
	}
	return c.total
}

// goesOn handles a slice in which one process continued to count, which is the case for nearly every slice. The result
// equals that of cumulative, sample by sample. It returns false and changes nothing if a value falls, or if a start is
// newer than the oldest undecided value.
func (c *counterState) goesOn(in *input, x *column, endMs int64) bool {
	starts, n := &in.state.source.starts, len(x.samples)
	oldestMs := c.lastMs
	if len(c.recent) > 0 {
		oldestMs = c.recent[0].timeMs
	}
	if !c.begun || c.from != in || c.fell != nil || c.past != nil || starts.newest() > oldestMs {
		return false
	}
	last := c.last
	for _, v := range x.samples {
		if v < last {
			return false
		}
		last = v
	}
	if starts.packMs+starts.intervalMs == 0 {
		c.recent = c.recent[:0]
	} else {
		c.rememberAll(x, starts.knownUntil(endMs+in.state.packMs))
	}
	c.last, c.lastMs, c.made = last, x.timesMs[n-1], x.made[n-1]
	c.total = max(c.total, c.offset+last)
	return true
}

// rememberAll does for all samples of a slice what remember does for one. It keeps the values before the last one that
// are still undecided, and always the newest of them.
func (c *counterState) rememberAll(x *column, knownMs int64) {
	known := 0
	for known < len(c.recent) && c.after(known) <= knownMs {
		known++
	}
	c.recent = append(c.recent[:0], c.recent[known:]...)
	n := len(x.samples)
	if n == 1 || x.timesMs[0] > knownMs {
		c.recent = append(c.recent, counted{c.lastMs, c.last})
	}
	for i := range n - 1 {
		if i == n-2 || x.timesMs[i+1] > knownMs {
			c.recent = append(c.recent, counted{x.timesMs[i], x.samples[i]})
		}
	}
	if over := len(c.recent) - maxRecent; over > 0 {
		c.recent = append(c.recent[:0], c.recent[over:]...)
	}
}

// cumulative returns the total after a new value of the source. If the process restarted since the last value, it
// counts from 0 again. If the value fell, restarts.go decides whether the process restarted.
//
// If another input took over the output, the counter continues from the total. Both inputs count the same events, but
// not to the same digit, since Storm truncates to seconds. A fall from one input to the other therefore means nothing.
func (c *counterState) cumulative(in *input, v float64, timeMs int64, by made, w fold) float64 {
	starts, byMs := &in.state.source.starts, w.byMs
	c.review(in, byMs)
	restarted := c.begun && starts.between(c.lastMs, timeMs, byMs) &&
		(v < c.last || in.mayRegrow(c.lastMs, timeMs))
	switch {
	case restarted:
		c.fell, c.past = nil, &fallen{c.last, c.lastMs, timeMs, by}
	case c.begun && c.from == in:
		restarted = c.fall(starts, v, timeMs, by, w)
	default:
		c.fell, c.past = nil, nil
	}
	switch {
	case !c.begun:
		c.offset = 0
	case restarted:
		c.offset = c.total
	case c.from != in && v < c.last:
		c.offset = c.total - v
	}
	c.remember(starts, restarted || c.from != in, byMs)
	c.last, c.lastMs, c.made = v, timeMs, by
	return c.offset + v
}

// fall reports whether a value shows that the process restarted. It considers the value and those since the first fall.
func (c *counterState) fall(starts *starts, v float64, timeMs int64, by made, w fold) bool {
	switch {
	case c.fell == nil && v >= c.last:
		return false
	case c.fell == nil:
		c.fell = &fallen{c.last, c.lastMs, timeMs, c.made}
	case v >= c.fell.value:
		c.fell = nil
		return false
	}
	restarted, _ := c.restarted(starts, timeMs, by, w)
	return restarted
}

// review adds the counts that were lost in a restart that was reported after its slice had closed. By then the counter
// had grown beyond its old value, so that the values alone did not show the restart.
func (c *counterState) review(in *input, byMs int64) {
	starts := &in.state.source.starts
	for i := 0; i < len(c.recent); i++ {
		if starts.between(c.recent[i].timeMs, c.after(i), byMs) &&
			(c.fellAfter(i) || in.mayRegrow(c.recent[i].timeMs, c.after(i))) {
			if c.fell != nil && c.fell.timeMs == c.recent[i].timeMs {
				c.fell = nil
			}
			c.offset += c.recent[i].value
			c.recent, i = append(c.recent[:0], c.recent[i+1:]...), -1
		}
	}
}

// leastDownMs is the least time between the end of a process and the start of the next one.
const leastDownMs = 1000

// mayRegrow reports whether a restart fits between two values. A process first reports after it has run for an
// interval. If two values are closer together and the later one is not lower, a start between them results from a clock
// change. If a clock is known to have been set back between them, the start times prove nothing.
func (in *input) mayRegrow(afterMs, untilMs int64) bool {
	return untilMs-afterMs >= in.state.intervalMs+leastDownMs && !in.state.source.again.holds(afterMs, untilMs)
}

// fellAfter reports whether the value that follows recent[i] is below it.
func (c *counterState) fellAfter(i int) bool {
	if i+1 < len(c.recent) {
		return c.recent[i+1].value < c.recent[i].value
	}
	return c.last < c.recent[i].value
}

// after returns the time of the value that follows recent[i].
func (c *counterState) after(i int) int64 {
	if i+1 < len(c.recent) {
		return c.recent[i+1].timeMs
	}
	return c.lastMs
}

// remember keeps the last value until it is known whether the next one belongs to the same process. It drops the values
// that are decided.
func (c *counterState) remember(starts *starts, restarted bool, byMs int64) {
	if restarted || !c.begun || starts.packMs+starts.intervalMs == 0 {
		c.recent = c.recent[:0]
		return
	}
	known := 0
	for known < len(c.recent) && c.after(known) <= starts.knownUntil(byMs) {
		known++
	}
	known = max(known, len(c.recent)+1-maxRecent)
	c.recent = append(c.recent[:0], c.recent[known:]...)
	c.recent = append(c.recent, counted{c.lastMs, c.last})
}
