package collection

import (
	"maps"
	"slices"
)

// Join combines the answers for two time ranges. Counts are summed, and the longest interval is the longer of the two.
// Everything else is taken from the later one. Either may be nil, and neither is changed.
func (c *Collection) Join(later *Collection) *Collection {
	if c == nil || later == nil {
		if c == nil {
			return later
		}
		return c
	}
	out := *later
	out.Start, out.Counts, out.StormDropped = c.Start, Counts{}, c.StormDropped+later.StormDropped
	out.Dropped = map[string]uint64{}
	for _, part := range []*Collection{c, later} {
		for reason, n := range part.Dropped {
			out.Dropped[reason] += n
		}
	}
	out.IntervalSeconds = map[string]float64{}
	maps.Copy(out.IntervalSeconds, c.IntervalSeconds)
	maps.Copy(out.IntervalSeconds, later.IntervalSeconds)
	out.Workers = slices.Clone(c.Workers)
	for _, w := range later.Workers {
		i := slices.IndexFunc(out.Workers, func(before Worker) bool { return before.Worker == w.Worker })
		if i < 0 {
			out.Workers = append(out.Workers, w)
			continue
		}
		out.Workers[i] = out.Workers[i].join(w)
	}
	out.finish()
	return &out
}

// join combines two answers about one worker. A metric that occurs in only one of them is kept as it is.
func (w Worker) join(later Worker) Worker {
	w.Restarts += later.Restarts
	w.Counts = sum(&w.Counts, &later.Counts)
	w.IntervalSeenRatio = greater(w.IntervalSeenRatio, later.IntervalSeenRatio)
	if later.SkewSeconds != nil {
		w.SkewSeconds = later.SkewSeconds
	}
	w.Metrics = slices.Clone(w.Metrics)
	for _, m := range later.Metrics {
		i := slices.IndexFunc(w.Metrics, func(before Metric) bool { return before.Metric == m.Metric })
		if i < 0 {
			w.Metrics = append(w.Metrics, m)
			continue
		}
		before := w.Metrics[i]
		m.Counts = sum(&before.Counts, &m.Counts)
		m.SeenMaxSeconds = greater(before.SeenMaxSeconds, m.SeenMaxSeconds)
		w.Metrics[i] = m
	}
	return w
}

func sum(a, b *Counts) (both Counts) {
	both.add(a)
	both.add(b)
	return both
}

// greater returns the greater of two numbers. nil stands for unknown; if one is nil, it returns the other.
func greater(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
