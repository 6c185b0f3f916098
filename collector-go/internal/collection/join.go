package collection

import "slices"

// Join adds what came later: counts are summed, the longest interval is that of both, and anything else is the later
// one's.
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

func (w Worker) join(later Worker) Worker {
	w.Restarts += later.Restarts
	w.Samples += later.Samples
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
		counts := Counts{}
		counts.add(&before.Counts)
		counts.add(&m.Counts)
		m.Counts = counts
		if m.SeenMaxSeconds == nil || before.SeenMaxSeconds != nil && *before.SeenMaxSeconds > *m.SeenMaxSeconds {
			m.SeenMaxSeconds = before.SeenMaxSeconds
		}
		w.Metrics[i] = m
	}
	return w
}
