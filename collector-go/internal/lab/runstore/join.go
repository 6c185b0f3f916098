package runstore

import "slices"

// Join puts the series of an earlier launch of the same trial before the run's own. Totals continue from their earlier
// value, so that none falls; between the launches there is a gap.
func (f *Figures) Join(earlier *Figures) {
	f.SubmittedMs = earlier.SubmittedMs
	f.QueriesRunning = joined(earlier.QueriesRunning, f.QueriesRunning)
	f.FilterLatencySeconds = append(slices.Clone(earlier.FilterLatencySeconds), f.FilterLatencySeconds...)
	workers := slices.Clone(earlier.Workers)
	for _, w := range f.Workers {
		i := slices.IndexFunc(workers, func(before Worker) bool { return before.Name == w.Name })
		if i < 0 {
			workers = append(workers, w)
			continue
		}
		workers[i] = workers[i].joined(w)
	}
	f.Health = earlier.Health.Join(f.Health)
	f.Annotations = append(slices.Clone(earlier.Annotations), f.Annotations...)
	f.Workers, f.Notes = workers, append(slices.Clone(earlier.Notes), f.Notes...)
}

func (w Worker) joined(later Worker) Worker {
	w.Pids = append(slices.Clone(w.Pids), later.Pids...)
	w.StartsMs = append(slices.Clone(w.StartsMs), later.StartsMs...)
	w.CPUSeconds, w.GCSeconds = continued(w.CPUSeconds, later.CPUSeconds), continued(w.GCSeconds, later.GCSeconds)
	w.CPUUserSeconds = continued(w.CPUUserSeconds, later.CPUUserSeconds)
	w.CPUSystemSeconds = continued(w.CPUSystemSeconds, later.CPUSystemSeconds)
	w.HeapUsedBytes = joined(w.HeapUsedBytes, later.HeapUsedBytes)
	collectors := slices.Clone(w.Collectors)
	for _, c := range later.Collectors {
		i := slices.IndexFunc(collectors, func(before Collector) bool { return before.Name == c.Name })
		if i < 0 {
			collectors = append(collectors, c)
			continue
		}
		collectors[i].Seconds = continued(collectors[i].Seconds, c.Seconds)
		collectors[i].Collections = continued(collectors[i].Collections, c.Collections)
	}
	w.Collectors = collectors
	return w
}
