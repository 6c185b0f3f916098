package runstore

import (
	"path/filepath"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Figures is run.json: all series of a trial that were read from the collector after its end. The trial's steps are in
// files of their own.
type Figures struct {
	Topology string `json:"topology"`
	// SubmittedMs is when the topology was submitted; CollectedMs is when the last figures were read.
	SubmittedMs int64 `json:"submitted_ms"`
	CollectedMs int64 `json:"collected_ms"`
	// StoredSliceMs is the collector's slice width; SliceMs is that of the report.
	StoredSliceMs int64              `json:"stored_slice_ms"`
	SliceMs       int64              `json:"slice_ms"`
	Query         string             `json:"query"`
	Settings      []Entry            `json:"settings"`
	Calibration   tuning.Calibration `json:"calibration"`
	// Steps are read from the trial's step files. Before version 2, run.json contained parts of them.
	Steps   []Step   `json:"steps,omitempty"`
	Workers []Worker `json:"workers"`
	// QueriesRunning is the sum of bullet_active_queries over the JoinBolt's tasks. FilterLatencySeconds is the mean
	// of bullet_filter_latency for each filter task.
	QueriesRunning       Slices   `json:"queries_running"`
	FilterLatencySeconds []Slices `json:"filter_latency_seconds"`
	// Requested is the topology's resource request; nil if it reported none.
	Requested *ResourceRequest `json:"asked,omitempty"`
	// Placement is where the tasks ran when the figures were read; nil if unknown.
	Placement *Placement `json:"placement,omitempty"`
	// Annotations are the collector's annotations of the topology, sorted by time; nil if the collector reported none.
	Annotations       []Annotation `json:"marks,omitzero"`
	CollectorRestarts int          `json:"collector_restarts"`
	// Health is how completely the samples arrived; nil if the collector did not report it.
	Health *collection.Collection `json:"health,omitempty"`
	// Notes are remarks of the run for the reader of its report.
	Notes []string `json:"notes"`
}

// SaveFigures writes a trial's figures and replaces those of an earlier launch.
func (w *Writer) SaveFigures(t PlannedTrial, f Figures) error {
	f.Steps = nil
	return w.save(filepath.Join(TrialsDir, t.Name(), FiguresFile), f)
}

// Figures returns the trial's figures with its steps; nil if no figures were saved.
func (t Trial) Figures() (*Figures, error) {
	f, err := readIfThere[Figures](filepath.Join(t.Dir, FiguresFile))
	if f == nil || err != nil {
		return nil, err
	}
	f.Steps = append([]Step{}, t.Steps...)
	return f, nil
}

// HasPercentiles reports whether the latency hook reported percentiles for any step.
func (f *Figures) HasPercentiles() bool {
	return slices.ContainsFunc(f.Steps, func(s Step) bool { return s.FilterLatency != nil })
}

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
	return tuning.Each(f.FilterLatencySeconds, func(task Slices) tuning.Figure { return 1000 * p.Mean(task) })
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

// Worker holds the series of one worker, which is named "host:port".
type Worker struct {
	Name string `json:"worker"`
	// Pids are the processes that ran in the worker's slot, in their order; several after a restart.
	Pids []int `json:"pids"`
	// CPUSeconds and GCSeconds are totals (CPU: user and system; GC: all collectors); HeapUsedBytes is a gauge.
	CPUSeconds Slices `json:"cpu_seconds"`
	// CPUUserSeconds and CPUSystemSeconds are the parts of CPUSeconds; empty if the worker's system does not separate
	// them.
	CPUUserSeconds   Slices `json:"cpu_user_seconds,omitzero"`
	CPUSystemSeconds Slices `json:"cpu_system_seconds,omitzero"`

	GCSeconds     Slices `json:"gc_seconds"`
	HeapUsedBytes Slices `json:"heap_used_bytes"`
	// Collectors are the worker's garbage collectors, sorted by name.
	Collectors []Collector `json:"collectors,omitempty"`
	// StartsMs are the start times of the processes in the slot, in ms since the Unix epoch, ascending.
	StartsMs []int64 `json:"starts_ms,omitempty"`
}

// Collector is one of a worker's garbage collectors. Both series are totals.
type Collector struct {
	Name        string `json:"collector"`
	Seconds     Slices `json:"seconds"`
	Collections Slices `json:"collections"`
}

// RestartsMs returns all starts in (from, to] except the worker's first start.
func (w Worker) RestartsMs(from, to int64) (all []int64) {
	for i, ms := range w.StartsMs {
		if i > 0 && ms > from && ms <= to {
			all = append(all, ms)
		}
	}
	return all
}

// Collector returns the worker's garbage collector with a name. It is empty if the worker has none of that name.
func (w Worker) Collector(name string) Collector {
	c, _ := tuning.First(w.Collectors, func(c Collector) bool { return c.Name == name })
	return c
}
