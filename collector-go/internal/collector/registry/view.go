package registry

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Summary is a topology in the list of all topologies. It is part of the HTTP API, so its JSON keys never change.
// Times are RFC 3339 in UTC, to the millisecond; "" stands for never.
type Summary struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	// Submitted is when, as Storm's id has it.
	Submitted string `json:"submitted,omitempty"`
	// FirstSeen and LastSeen are by the collector's clock.
	FirstSeen string `json:"first_seen"`
	LastSeen  string `json:"last_seen"`
	// Alive is whether it was heard of late.
	Alive bool `json:"alive"`
	// Condition is whether it runs, or how it ended, as far as anybody knows.
	Condition Condition `json:"condition"`
	// ClockAhead is how many seconds the clock of its workers that is off the most is ahead of the collector's beyond
	// doubt; below 0 where it is behind.
	ClockAhead float64  `json:"clock_ahead_seconds,omitempty"`
	Versions   Versions `json:"versions"`
	// Federated states that another collector receives its samples. Everything here was then read from the engine that
	// both collectors write to (package federation), and the other collector knows more. A Registry never sets it.
	Federated bool `json:"elsewhere,omitempty"`
	// Numbers of Components (Storm's own included), of workers that run, and of tasks with a place.
	Components int `json:"component_count"`
	Workers    int `json:"worker_count"`
	Tasks      int `json:"task_count"`
	// Lost are the workers that stopped reporting although the topology runs, and whose tasks no other worker reports.
	Lost []LostWorker `json:"lost_workers,omitempty"`
}

// LostWorker is a worker that stopped reporting, with the time at which it was heard last, by the collector's clock.
type LostWorker struct {
	Worker   string `json:"worker"`
	LastSeen string `json:"last_seen"`
}

// Topology is everything that is known of one run of a topology. It is a copy: the registry goes on while a client
// reads it. Like Summary it is part of the HTTP API.
type Topology struct {
	Summary
	Components []Component `json:"components"`
	Resources  Resources   `json:"resources"`
	Workers    []Worker    `json:"workers"`
	Hosts      []Host      `json:"hosts"`
	// Unplaced are tasks of which no report came yet, by component.
	Unplaced  []ComponentTasks  `json:"unplaced"`
	Producers []Producer        `json:"producers"`
	Settings  map[string]string `json:"settings"`
	// Runs are all submissions that are remembered, the newest first.
	Runs []Run `json:"runs"`
}

// Resources are what the resource-aware scheduler gives the components: parallelism x the amounts of one executor.
type Resources struct {
	Rows   []ResourceRow  `json:"rows"`
	Totals ResourceTotals `json:"totals"`
}

// ResourceRow is a component's line, under the names of the resource table that `tune analyze resources` reads. CPU is
// the component's total, in cores; memory is that of one executor, and its total that of all.
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
	// Started is when the process did, KnownSince when the collector learnt of it.
	Started    string `json:"started,omitempty"`
	KnownSince string `json:"known_since,omitempty"`
	FirstSeen  string `json:"first_seen"`
	LastSeen   string `json:"last_seen"`
	Alive      bool   `json:"alive"`
	// Clock is nil where nothing is known of it.
	Clock *ClockBounds `json:"clock,omitempty"`
	// Restarts that were seen at this place.
	Restarts   uint64           `json:"restarts"`
	Tasks      int              `json:"task_count"`
	Components []ComponentTasks `json:"components"`
}

// ComponentTasks are the tasks of a component in one worker, or those without a worker. They are sorted.
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

// Producer is a task of the metrics consumer, which sends the samples of many workers. When it is not connected, the
// samples of all of them are missing.
type Producer struct {
	Worker    string `json:"worker"`
	Task      int32  `json:"task"`
	Connected bool   `json:"connected"`
	LastSeen  string `json:"last_seen,omitempty"`
}

// Run is a submission of the topology. Storm gives each of them another id, which ends in the time of submission.
type Run struct {
	ID        string `json:"id"`
	Submitted string `json:"submitted,omitempty"`
	FirstSeen string `json:"first_seen"`
	LastSeen  string `json:"last_seen"`
}

// Topologies lists what is known, by name.
func (r *Registry) Topologies() []Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Summary, 0, len(r.state.topologies))
	for _, name := range sortedNames(r.state.topologies) {
		all = append(all, r.view(r.state.topologies[name].current()).summary())
	}
	return all
}

// Topology is the run with Storm's id, or the newest where id is "".
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
		out.Runs = append(out.Runs, Run{run.id, timeOrNone(run.submittedMs), timeText(run.firstMs),
			timeText(run.heardMs)})
	}
	return out, true
}

// view is a run at a moment. It exists while the registry's mutex is held. Who is alive depends on the reader's clock
// and not on the journal's, so that a collector that receives nothing does not go on showing topologies as running.
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
	return timeText(ms)
}

// alive reports whether a worker was heard within the silence that it may keep. The zero worker stands for the run.
func (v view) alive(w *worker, heardMs int64) bool { return v.nowMs-heardMs <= w.silenceMs(v.times) }

// summary counts what runs. A run that is over has no lost workers: all of them ended with it.
func (v view) summary() Summary {
	s := Summary{Name: v.topology, ID: v.id, Submitted: timeOrNone(v.submittedMs), FirstSeen: timeText(v.firstMs),
		LastSeen: timeText(v.heardMs),
		Tasks:    len(v.tasks)}
	slowest := &worker{}
	for _, p := range v.places() {
		w := v.workers[p]
		if !w.present && w.tasks > 0 {
			s.Lost = append(s.Lost, LostWorker{p.String(), timeText(w.heardMs)})
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
		s.Lost = nil // then all of it ended, or is silent
	}
	if v.info != nil {
		s.Versions, s.Components = v.info.versions, len(v.info.components)
	}
	return s
}

// complete returns everything about a run except its siblings, which Registry.Topology adds. Lists are empty rather
// than nil, since the HTTP API promises lists.
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

// resources leaves out Storm's system bolt, which is in every worker and is given nothing.
func (in *info) resources() Resources {
	out := Resources{Rows: []ResourceRow{}}
	for _, c := range in.components {
		if c.Name == systemComponent {
			continue
		}
		n := float64(c.Parallelism)
		row := ResourceRow{Component: c.Name, Parallelism: c.Parallelism, CPUCoresTotal: n * c.CPUPercent / 100,
			OnHeapMiB: c.OnHeapMiB, OffHeapMiB: c.OffHeapMiB,
			TotalMemoryMiB: n * (c.OnHeapMiB + c.OffHeapMiB)}
		out.Rows = append(out.Rows, row)
		out.Totals.Parallelism += row.Parallelism
		out.Totals.CPUCores += row.CPUCoresTotal
		out.Totals.TotalMemoryMiB += row.TotalMemoryMiB
	}
	return out
}

// workersShown are those that run, by host and port.
func (v view) workersShown() []Worker {
	tasks := v.tasksByPlace()
	all := []Worker{}
	for _, p := range v.places() {
		w := v.workers[p]
		if !w.present {
			continue
		}
		all = append(all, Worker{Worker: p.String(), Host: p.host, Port: p.port, Pid: w.pid,
			Started: timeOrNone(w.startMs), KnownSince: timeOrNone(w.sinceMs),
			FirstSeen: timeText(w.firstMs), LastSeen: timeText(w.lastMs), Alive: v.alive(w, w.heardMs),
			Clock:    v.state.clockShown(w.host),
			Restarts: w.restarts, Tasks: w.tasks,
			Components: grouped(tasks[p])})
	}
	return all
}

// tasksByPlace are the tasks of each worker, by component.
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

// unplaced returns the tasks that the topology has, but of which no report came yet. Tasks below 0 are Storm's own.
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

// HostsOf are the machines of workers, which are by host.
func HostsOf(workers []Worker) []Host {
	all := []Host{}
	for _, w := range workers { // by host
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
	// Topology, or "" for all.
	Topology string
	// FromMs and ToMs: what ends at FromMs or later and begins at ToMs or earlier.
	FromMs, ToMs int64
	// Open has steps that have not ended last until now; else they are moments.
	Open bool
	// Tags that it must have, all of them.
	Tags []string
	// Limit keeps the newest so many; 0 for all.
	Limit int
}

// Annotations are those that a filter selects, by time.
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

// Newest sorts annotations by time, and keeps as many as the filter does.
func (f Filter) Newest(all []Annotation) []Annotation {
	slices.SortFunc(all, func(a, b Annotation) int { return compare(&a, &b) })
	if f.Limit > 0 && len(all) > f.Limit {
		all = all[len(all)-f.Limit:]
	}
	return all
}

// AnnotationsSince returns the annotations that journal entries after a position set or changed, and the position up
// to which the answer holds. A checkpoint does not record which entry changed an annotation, so a restored annotation
// counts as changed by the checkpoint's last entry. package federation uses this to write each of them to the engine
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

// Selects reports whether the filter selects an annotation; Limit apart.
func (f Filter) Selects(a *Annotation) bool {
	last := max(a.TimeMs, a.EndMs)
	if f.Open {
		last = a.lastMs()
	}
	if (f.Topology != "" && a.Topology != f.Topology) || last < f.FromMs || a.TimeMs > f.ToMs {
		return false
	}
	for _, tag := range f.Tags {
		if !slices.Contains(a.Tags, tag) {
			return false
		}
	}
	return true
}
