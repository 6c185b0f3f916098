package report

// comparedFigures are what is compared in each step. Each tells the figure's values in the order of time.
var comparedFigures = []struct {
	name, unit, worse string
	of                func(stepOf) []Figure
}{
	{"CPU of all workers", "ms/min", "up", func(s stepOf) []Figure {
		return s.slices(func(w Worker) Slices { return w.CPUSeconds }, totalOrUnknown)
	}},
	{"CPU, mean of a worker", "ms/min", "", func(s stepOf) []Figure { return s.slices(func(w Worker) Slices { return w.CPUSeconds }, average) }},
	{"workers", "", "", func(s stepOf) []Figure { return []Figure{Figure(s.workers())} }},
	{"GC of all workers", "ms/min", "up", func(s stepOf) []Figure { return s.slices(func(w Worker) Slices { return w.GCSeconds }, totalOrUnknown) }},
	{"GC, mean of a worker", "ms/min", "", func(s stepOf) []Figure { return s.slices(func(w Worker) Slices { return w.GCSeconds }, average) }},
	{"GC's share of CPU", "%", "up", stepOf.gcShare},
	{"heap used, all workers", "MiB", "", func(s stepOf) []Figure { return s.heap(totalOrUnknown) }},
	{"heap used, mean of a worker", "MiB", "", func(s stepOf) []Figure { return s.heap(average) }},
	{"filter latency, mean", "ms", "up", stepOf.filterLatency},
	{"result size", "records", "down", stepOf.resultSizes},
	{"time to result", "ms", "up", stepOf.queryLatencies},
	{"queries running", "queries", "", stepOf.queriesRunning},
	{"records", "records/s", "", func(s stepOf) []Figure { return []Figure{s.step.RecordsPerSecond} }},
	{"host idle", "%", "down", func(s stepOf) []Figure { return []Figure{100 * s.step.HostIdle} }},
}

// ends are the ends of the stored slices that lie in the step's measured time.
func (s stepOf) ends() (all []int64) {
	width := s.run.StoredSliceMs
	if width <= 0 {
		return nil
	}
	for t := s.step.MeasuredFromMs + width; t <= s.step.EndMs; t += width {
		all = append(all, t)
	}
	return all
}

// slices are what totals of the workers rose by in each slice, ms a minute, put together over the workers.
func (s stepOf) slices(total func(Worker) Slices, together func([]Figure) Figure) (out []Figure) {
	width := s.run.StoredSliceMs
	for _, t := range s.ends() {
		var all []Figure
		for _, w := range s.run.Workers {
			if series := total(w); len(series.TimesMs) > 0 {
				all = append(all, series.increase(t, width)*1000*Figure(minuteMs)/Figure(width))
			}
		}
		out = append(out, together(all))
	}
	return out
}

// workers are those that reported in the step.
func (s stepOf) workers() (n int) {
	for _, w := range s.run.Workers {
		if w.CPUSeconds.rate(s.step.MeasuredFromMs, s.step.EndMs).Known() {
			n++
		}
	}
	return n
}

func (s stepOf) gcShare() (out []Figure) {
	gc := s.slices(func(w Worker) Slices { return w.GCSeconds }, totalOrUnknown)
	cpu := s.slices(func(w Worker) Slices { return w.CPUSeconds }, totalOrUnknown)
	for i := range gc {
		share := Unknown
		if cpu[i] > 0 {
			share = 100 * gc[i] / cpu[i]
		}
		out = append(out, share)
	}
	return out
}

// heap is what the workers' heaps held in each slice, MiB, put together over the workers.
func (s stepOf) heap(together func([]Figure) Figure) (out []Figure) {
	for _, t := range s.ends() {
		var all []Figure
		for _, w := range s.run.Workers {
			if w.HeapUsedBytes.mean(s.step.MeasuredFromMs, s.step.EndMs).Known() {
				all = append(all, w.HeapUsedBytes.at(t)/(1<<20))
			}
		}
		out = append(out, together(all))
	}
	return out
}

func (s stepOf) filterLatency() (out []Figure) {
	for _, t := range s.ends() {
		out = append(out, average(s.run.filterLatencyMs(t-s.run.StoredSliceMs, t)))
	}
	return out
}

func (s stepOf) queriesRunning() (out []Figure) {
	for _, t := range s.ends() {
		out = append(out, s.run.QueriesRunning.at(t))
	}
	return out
}

// resultSizes are those of the queries one by one; where these were not kept, the step's average.
func (s stepOf) resultSizes() (out []Figure) {
	for _, o := range s.ended(s.step, "returned") {
		out = append(out, Figure(o.Records))
	}
	if len(out) == 0 {
		return []Figure{s.size}
	}
	return out
}

// queryLatencies are those of the queries that returned, and of those that gave no answer how long they took at least (load.Latencies).
func (s stepOf) queryLatencies() (out []Figure) {
	for _, o := range s.ended(s.step, "returned", "timed out", "unfinished", "not submitted") {
		out = append(out, o.latencyMs())
	}
	return out
}
