package registry

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Summary is a topology in the list of all topologies. It is part of the HTTP API, so its JSON keys never change. Times
// are RFC 3339 in UTC, to the millisecond. An empty time means never.
type Summary struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	// Submitted is the time of submission, from Storm's id.
	Submitted string `json:"submitted,omitempty"`
	// FirstSeen and LastSeen are by the collector's clock.
	FirstSeen string `json:"first_seen"`
	LastSeen  string `json:"last_seen"`
	// Alive reports whether the topology was heard lately.
	Alive bool `json:"alive"`
	// Condition says whether the topology runs, or how it ended if that is known.
	Condition Condition `json:"condition"`
	// ClockAhead is the certain error of the worst clock of its workers, in seconds ahead of the collector's clock. It
	// is below 0 if that clock is behind.
	ClockAhead float64  `json:"clock_ahead_seconds,omitempty"`
	Versions   Versions `json:"versions"`
	// Federated states that another collector receives the topology's samples. Everything here was then read from the
	// engine that both collectors write to (package federation), and the other collector knows more. A Registry never
	// sets it.
	Federated bool `json:"elsewhere,omitempty"`
	// Components is the number of components, including Storm's own. Workers counts the workers that run, and Tasks the
	// tasks whose worker is known.
	Components int `json:"component_count"`
	Workers    int `json:"worker_count"`
	Tasks      int `json:"task_count"`
	// Lost are workers that stopped reporting although the topology runs, and whose tasks no other worker reports.
	Lost []LostWorker `json:"lost_workers,omitempty"`
}

// LostWorker is a worker that stopped reporting, with the time at which it was last heard, by the collector's clock.
type LostWorker struct {
	Worker   string `json:"worker"`
	LastSeen string `json:"last_seen"`
}

// Topology describes one run of a topology. It is a copy, so the registry may change while a client reads it. Like
// Summary it is part of the HTTP API.
type Topology struct {
	Summary
	Components []Component `json:"components"`
	Resources  Resources   `json:"resources"`
	Workers    []Worker    `json:"workers"`
	Hosts      []Host      `json:"hosts"`
	// Unplaced are the tasks that have not reported yet, by component.
	Unplaced  []ComponentTasks  `json:"unplaced"`
	Producers []Producer        `json:"producers"`
	Settings  map[string]string `json:"settings"`
	// Runs are all submissions that are kept, newest first.
	Runs []Run `json:"runs"`
}

// Resources are the components' resource requests to the resource-aware scheduler. A total is the parallelism times the
// request of one executor.
type Resources struct {
	Rows   []ResourceRow  `json:"rows"`
	Totals ResourceTotals `json:"totals"`
}

// ResourceRow is one component. Its JSON keys are those of the resource table that `tune analyze resources` reads. CPU
// is the component's total in cores. OnHeapMiB and OffHeapMiB are per executor, and TotalMemoryMiB is the sum over all
// executors.
type ResourceRow struct {
	Component      string  `json:"component"`
	Parallelism    int     `json:"parallelism"`
	CPUCoresTotal  float64 `json:"cpu_cores_total"`
	OnHeapMiB      float64 `json:"on_heap_mib"`
	OffHeapMiB     float64 `json:"off_heap_mib"`
	TotalMemoryMiB float64 `json:"total_memory_mib"`
}

// ResourceTotals are the sums of the rows.
type ResourceTotals struct {
	Parallelism    int     `json:"parallelism"`
	CPUCores       float64 `json:"cpu_cores"`
	TotalMemoryMiB float64 `json:"total_memory_mib"`
}

// Worker is a process that runs tasks of the topology. FirstSeen and LastSeen are event times of its reports.
type Worker struct {
	Worker string `json:"worker"`
	Host   string `json:"host"`
	Port   uint32 `json:"port"`
	Pid    uint64 `json:"pid,omitempty"`
	// Started is when the process started, and KnownSince when the collector learned of it.
	Started    string `json:"started,omitempty"`
	KnownSince string `json:"known_since,omitempty"`
	FirstSeen  string `json:"first_seen"`
	LastSeen   string `json:"last_seen"`
	Alive      bool   `json:"alive"`
	// Clock is nil if nothing is known of the worker's clock.
	Clock *ClockBounds `json:"clock,omitempty"`
	// Restarts is the number of restarts that the collector saw at this host and port.
	Restarts   uint64           `json:"restarts"`
	Tasks      int              `json:"task_count"`
	Components []ComponentTasks `json:"components"`
}

// ComponentTasks are a component's tasks in one worker, or its tasks without a worker. The tasks are sorted.
type ComponentTasks struct {
	Component string  `json:"component"`
	Tasks     []int32 `json:"tasks"`
}

// Host is a machine with workers of the topology. Workers on one host share its CPU, so the page shows them together.
type Host struct {
	Host       string   `json:"host"`
	Workers    []string `json:"workers"`
	Tasks      int      `json:"task_count"`
	Components []string `json:"components"`
}

// Producer is a task of the metrics consumer, which sends the samples of many workers. While it is not connected, the
// samples of all of them are missing.
type Producer struct {
	Worker    string `json:"worker"`
	Task      int32  `json:"task"`
	Connected bool   `json:"connected"`
	LastSeen  string `json:"last_seen,omitempty"`
}

// Run is a submission of the topology. Each submission has its own Storm id, which ends in the time of submission.
type Run struct {
	ID        string `json:"id"`
	Submitted string `json:"submitted,omitempty"`
	FirstSeen string `json:"first_seen"`
	LastSeen  string `json:"last_seen"`
}

// Topologies returns all known topologies, sorted by name.
func (r *Registry) Topologies() []Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Summary, 0, len(r.state.topologies))
	for _, name := range sortedNames(r.state.topologies) {
		all = append(all, r.view(r.state.topologies[name].current()).summary())
	}
	return all
}

// Topology returns the run of a topology with Storm's id, or the newest run if id is "". The result is false if there
// is none.
func (r *Registry) Topology(name, id string) (Topology, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.state.topologies[name]
	if t == nil {
		return Topology{}, false
	}
	i := len(t.runs) - 1
	if id != "" {
		i = slices.IndexFunc(t.runs, func(r *run) bool { return r.id == id })
	}
	if i < 0 {
		return Topology{}, false
	}
	out := r.view(t.runs[i]).complete()
	for _, run := range slices.Backward(t.runs) {
		out.Runs = append(out.Runs, Run{run.id, timeOrNone(run.submittedMs), TimeText(run.firstMs),
			TimeText(run.heardMs)})
	}
	return out, true
}

// view is a run at a point in time. It may only be used while the registry's mutex is held. It uses the reader's clock
// and not the journal's to decide what is alive. Otherwise a collector that receives nothing would keep showing
// topologies as running.
type view struct {
	*run
	state *state
	times Times
	nowMs int64
}

func (r *Registry) view(of *run) view {
	return view{of, r.state, r.options.Times, r.options.Now().UnixMilli()}
}

func timeOrNone(ms int64) string {
	if ms == 0 {
		return ""
	}
	return TimeText(ms)
}

// alive reports whether a worker was heard within its allowed silence. The run itself is checked with the zero worker.
func (v view) alive(w *worker, heardMs int64) bool { return v.nowMs-heardMs <= w.silenceMs(v.times) }

// summary counts what runs. A run that is over has no lost workers, because all of them ended with it.
func (v view) summary() Summary {
	s := Summary{Name: v.topology, ID: v.id, Submitted: timeOrNone(v.submittedMs), FirstSeen: TimeText(v.firstMs),
		LastSeen: TimeText(v.heardMs), Tasks: len(v.tasks)}
	slowest := &worker{}
	for _, p := range v.places() {
		w := v.workers[p]
		if !w.present && w.tasks > 0 {
			s.Lost = append(s.Lost, LostWorker{p.String(), TimeText(w.heardMs)})
		}
		if w.present {
			s.Workers++
			slowest.reportMs = max(slowest.reportMs, w.reportMs)
		}
	}
	s.Alive = v.alive(slowest, v.heardMs)
	s.ClockAhead = v.clockAhead()
	s.Condition = v.state.condition(v.run, v.nowMs, v.times, s.Alive)
	if s.Condition.State != Running {
		s.Lost = nil // all workers ended or are silent
	}
	if v.info != nil {
		s.Versions, s.Components = v.info.versions, len(v.info.components)
	}
	return s
}

// complete returns everything about a run except the other runs, which Registry.Topology adds. Lists are empty instead
// of nil, because the HTTP API promises lists.
func (v view) complete() Topology {
	t := Topology{Summary: v.summary(), Components: []Component{}, Settings: map[string]string{},
		Unplaced: v.unplaced(), Workers: v.workersShown(),
		Producers: v.producersShown(), Resources: Resources{Rows: []ResourceRow{}}}
	if v.info != nil {
		t.Components, t.Resources = append(t.Components, v.info.components...), v.info.resources()
		maps.Copy(t.Settings, v.info.settings)
	}
	t.Hosts = HostsOf(t.Workers)
	return t
}

// resources returns the components' resource requests. It leaves out Storm's system bolt, which runs in every worker
// and requests nothing.
func (in *info) resources() Resources {
	out := Resources{Rows: []ResourceRow{}}
	for _, c := range in.components {
		if c.Name == systemComponent {
			continue
		}
		n := float64(c.Parallelism)
		row := ResourceRow{Component: c.Name, Parallelism: c.Parallelism, CPUCoresTotal: n * c.CPUPercent / 100,
			OnHeapMiB: c.OnHeapMiB, OffHeapMiB: c.OffHeapMiB, TotalMemoryMiB: n * (c.OnHeapMiB + c.OffHeapMiB)}
		out.Rows = append(out.Rows, row)
		out.Totals.Parallelism += row.Parallelism
		out.Totals.CPUCores += row.CPUCoresTotal
		out.Totals.TotalMemoryMiB += row.TotalMemoryMiB
	}
	return out
}

// workersShown returns the workers that run, sorted by host and port.
func (v view) workersShown() []Worker {
	tasks := v.tasksByPlace()
	all := []Worker{}
	for _, p := range v.places() {
		w := v.workers[p]
		if !w.present {
			continue
		}
		all = append(all, Worker{Worker: p.String(), Host: p.host, Port: p.port, Pid: w.pid,
			Started: timeOrNone(w.startMs), KnownSince: timeOrNone(w.sinceMs), FirstSeen: TimeText(w.firstMs),
			LastSeen: TimeText(w.lastMs), Alive: v.alive(w, w.heardMs), Clock: v.state.clockShown(w.host),
			Restarts: w.restarts, Tasks: w.tasks, Components: grouped(tasks[p])})
	}
	return all
}

// tasksByPlace returns the tasks of each worker, grouped by component.
func (v view) tasksByPlace() map[place]map[string][]int32 {
	names := v.componentsOfTasks()
	all := map[place]map[string][]int32{}
	for _, id := range slices.Sorted(maps.Keys(v.tasks)) {
		t := v.tasks[id]
		here := all[t.worker.place]
		if here == nil {
			here = map[string][]int32{}
			all[t.worker.place] = here
		}
		component := cmp.Or(t.component, names[id])
		here[component] = append(here[component], id)
	}
	return all
}

// grouped sorts tasks by component. It never returns nil.
func grouped(tasks map[string][]int32) []ComponentTasks {
	all := []ComponentTasks{}
	for _, component := range slices.Sorted(maps.Keys(tasks)) {
		all = append(all, ComponentTasks{component, tasks[component]})
	}
	return all
}

// unplaced returns the topology's tasks that have not reported yet. Tasks below 0 are Storm's own and are left out.
func (v view) unplaced() []ComponentTasks {
	missing := map[string][]int32{}
	if v.info != nil {
		for _, c := range v.info.components {
			for _, id := range c.Tasks {
				if v.tasks[id] == nil && id >= 0 {
					missing[c.Name] = append(missing[c.Name], id)
				}
			}
		}
	}
	return grouped(missing)
}

// producersShown returns the senders of the run in a fixed order, so that equal states give equal answers.
func (v view) producersShown() []Producer {
	all := []Producer{}
	for _, s := range v.senders {
		all = append(all, Producer{s.place.String(), s.task, s.connected, timeOrNone(s.heardMs)})
	}
	slices.SortFunc(all, func(a, b Producer) int {
		return cmp.Or(strings.Compare(a.Worker, b.Worker), cmp.Compare(a.Task, b.Task))
	})
	return all
}

// HostsOf groups workers by host. The workers must be sorted by host.
func HostsOf(workers []Worker) []Host {
	all := []Host{}
	for _, w := range workers { // sorted by host
		if len(all) == 0 || all[len(all)-1].Host != w.Host {
			all = append(all, Host{Host: w.Host, Components: []string{}})
		}
		h := &all[len(all)-1]
		h.Workers, h.Tasks = append(h.Workers, w.Worker), h.Tasks+w.Tasks
		for _, c := range w.Components {
			if !slices.Contains(h.Components, c.Component) {
				h.Components = append(h.Components, c.Component)
			}
		}
	}
	for i := range all {
		slices.Sort(all[i].Components)
	}
	return all
}

// Filter selects annotations.
type Filter struct {
	// Topology is the topology's name, or "" for all.
	Topology string
	// FromMs and ToMs select annotations that end at FromMs or later and begin at ToMs or earlier.
	FromMs, ToMs int64
	// Open makes steps that have not ended last until now. Otherwise they count as moments.
	Open bool
	// Tags are the tags that an annotation must have, all of them.
	Tags []string
	// Limit is the largest number of annotations to return. The newest are kept. 0 means no limit.
	Limit int
}

// Annotations returns copies of the annotations that a filter selects, sorted by time.
func (r *Registry) Annotations(f Filter) []Annotation {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := []Annotation{}
	for _, m := range []*annotations{r.state.set, r.state.made} {
		for _, a := range m.sorted {
			if f.Selects(a) {
				all = append(all, *a)
			}
		}
	}
	return f.Newest(all)
}

// Newest sorts annotations by time, in place, and returns the newest Limit of them.
func (f Filter) Newest(all []Annotation) []Annotation {
	slices.SortFunc(all, func(a, b Annotation) int { return compare(&a, &b) })
	if f.Limit > 0 && len(all) > f.Limit {
		all = all[len(all)-f.Limit:]
	}
	return all
}

// AnnotationsSince returns the annotations that journal entries after a position set or changed, and the position up to
// which the answer holds. A checkpoint does not record which entry changed an annotation, so a restored annotation
// counts as changed by the checkpoint's last entry. Package federation uses this to write each annotation to the engine
// once.
func (r *Registry) AnnotationsSince(after uint64) (changed []Annotation, upTo uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range []*annotations{r.state.set, r.state.made} {
		for _, a := range m.sorted {
			at, known := m.changed[annotationKey{a.Topology, a.ID}]
			if !known {
				at = r.restored
			}
			if uint64(at) > after {
				changed = append(changed, *a)
			}
		}
	}
	return Filter{}.Newest(changed), uint64(r.state.position)
}

// Selects reports whether the filter selects an annotation. It ignores Limit.
func (f Filter) Selects(a *Annotation) bool {
	last := max(a.TimeMs, a.EndMs)
	if f.Open {
		last = a.lastMs()
	}
	if (f.Topology != "" && a.Topology != f.Topology) || last < f.FromMs || a.TimeMs > f.ToMs {
		return false
	}
	return !slices.ContainsFunc(f.Tags, func(tag string) bool { return !slices.Contains(a.Tags, tag) })
}
