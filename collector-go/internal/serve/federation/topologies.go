package federation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
)

// Queries for topologies of others. They find topologies with a sample in the last day, at a resolution of five
// minutes. For a topology that reports now, the time of its newest slice is exact.
const (
	newest    = `timestamp(%[1]s) or max_over_time(timestamp(%[1]s)[1d:5m])`
	first     = `min_over_time(timestamp(%s)[1d:5m])`
	workers   = `count by (topology) (bullet_worker_info)`
	describes = `bullet_topology_info`
	worksIn   = `bullet_worker_info{topology=%q}`
	runsWhere = `count by (worker, component, task) ({__name__=~"storm_emitted_total|storm_executed_total",topology=%q})`

	// silence is the maximum age of the newest slice of a running topology. Slices arrive up to a minute after their
	// end.
	silence = 3 * time.Minute
	// listedFor is how long a list is reused without querying the engine.
	listedFor = 10 * time.Second
)

// listed has the engine's topologies by name, at one time.
type listed struct {
	at    time.Time
	known map[string]topology
	err   error
}

// topology is a topology as the engine knows it. Several submissions under one name are one topology with several
// runs.
type topology struct {
	registry.Summary
	lastMs int64
	runs   []registry.Run // newest first
}

// Topologies returns all known topologies, sorted by name: the collector's own, and those of other collectors. With an
// error, all own topologies are returned and others are missing.
func (r *Reader) Topologies(ctx context.Context) ([]registry.Summary, error) {
	own := r.own.Topologies()
	if r.engine == nil {
		return own, nil
	}
	known, err := r.list(ctx)
	others := maps.Clone(known)
	for i, s := range own {
		if there, also := others[s.Name]; also && !left(s, there) {
			delete(others, s.Name)
		} else if also {
			own[i] = there.Summary
			delete(others, s.Name)
		}
	}
	for _, there := range others {
		own = append(own, there.Summary)
	}
	slices.SortFunc(own, func(a, b registry.Summary) int { return strings.Compare(a.Name, b.Name) })
	return own, err
}

// left reports whether a topology that reported to this collector now reports to another one.
func left(own registry.Summary, there topology) bool {
	heard, err := time.Parse(time.RFC3339Nano, own.LastSeen)
	return err == nil && !own.Alive && there.lastMs > heard.Add(silence).UnixMilli()
}

// Topology returns the run with Storm's topology id, or the newest run if id is "". The collector's own data have
// precedence over those of the engine.
func (r *Reader) Topology(ctx context.Context, name, id string) (registry.Topology, bool, error) {
	own, found := r.own.Topology(name, id)
	if r.engine == nil {
		return own, found, nil
	}
	known, err := r.list(ctx)
	there, also := known[name]
	if found && (!also || id != "" || !left(own.Summary, there)) {
		return own, true, nil
	}
	if !also || id != "" && id != there.ID {
		return own, found, err
	}
	all, err := r.complete(ctx, there)
	return all, true, err
}

// list returns the engine's topologies. Only one caller at a time queries the engine, so that concurrent callers share
// the result.
func (r *Reader) list(ctx context.Context) (map[string]topology, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if r.listed == nil || now.Sub(r.listed.at) >= listedFor {
		known, err := r.read(ctx, now)
		if err != nil && ctx.Err() != nil {
			return nil, err // only this caller's context ended
		}
		r.listed = &listed{now, known, err}
	}
	return r.listed.known, r.listed.err
}

// read queries all topologies of the engine. It needs three queries, regardless of the number of topologies.
func (r *Reader) read(ctx context.Context, now time.Time) (map[string]topology, error) {
	var answers [3][]Line
	for i, expression := range []string{fmt.Sprintf(newest, describes), fmt.Sprintf(first, describes), workers} {
		var err error
		if answers[i], err = r.ask(ctx, expression, now); err != nil {
			return nil, err
		}
	}
	began := map[string]int64{} // by topology id
	for _, l := range answers[1] {
		began[l.Labels["topology_id"]] = lastMs(l)
	}
	known := map[string]topology{}
	for _, l := range answers[0] {
		t := topologyOf(l, began[l.Labels["topology_id"]], now.UnixMilli())
		before := known[t.Name]
		runs := append(before.runs, t.runs...)
		if before.lastMs > t.lastMs {
			t = before
		}
		t.runs = runs
		known[t.Name] = t
	}
	for _, l := range answers[2] {
		if t, is := known[l.Labels["topology"]]; is && len(l.Values) > 0 {
			t.Workers = int(l.Values[0])
			known[t.Name] = t
		}
	}
	for _, t := range known {
		slices.SortFunc(t.runs, func(a, b registry.Run) int { return strings.Compare(b.LastSeen, a.LastSeen) })
	}
	return known, nil
}

// lastMs returns the newest value of a series whose values are times in seconds, in ms. It returns 0 if there is none.
func lastMs(l Line) int64 {
	if all := moments(l); len(all) > 0 {
		return all[len(all)-1]
	}
	return 0
}

// topologyOf returns a topology with one run, made from the series that describes the run. The age of the newest slice
// decides whether it is alive: only the other collector knows why a topology is silent.
func topologyOf(l Line, firstMs, nowMs int64) topology {
	lastMs := lastMs(l)
	firstMs = min(cmp.Or(firstMs, lastMs), lastMs)
	of := l.Labels
	t := topology{lastMs: lastMs, Summary: registry.Summary{
		Name: of["topology"], ID: of["topology_id"], FirstSeen: registry.TimeText(firstMs), LastSeen: registry.TimeText(lastMs),
		Alive: lastMs > nowMs-silence.Milliseconds(), Federated: true,
		Versions: registry.Versions{Storm: of["storm_version"], Bullet: of["bullet_version"], Java: of["java_version"],
			Plugin: of["plugin_version"]},
		Condition: registry.Condition{State: registry.Silent, Since: registry.TimeText(lastMs), By: "engine"},
	}}
	if t.Alive {
		t.Condition.State, t.Condition.Since = registry.Running, t.FirstSeen
	}
	t.runs = []registry.Run{{ID: t.ID, FirstSeen: t.FirstSeen, LastSeen: t.LastSeen}}
	return t
}

// complete returns all that the engine knows about a topology: its workers and the tasks that run in them. Settings,
// resources and producers are known only to the other collector. With an error, the part that was read so far is
// returned.
func (r *Reader) complete(ctx context.Context, t topology) (registry.Topology, error) {
	all := registry.Topology{Summary: t.Summary, Components: []registry.Component{}, Workers: []registry.Worker{},
		Resources: registry.Resources{Rows: []registry.ResourceRow{}}, Unplaced: []registry.ComponentTasks{},
		Producers: []registry.Producer{}, Settings: map[string]string{}, Runs: t.runs}
	now := r.now()
	seen, err := r.ask(ctx, fmt.Sprintf("timestamp("+worksIn+")", t.Name), now)
	if err != nil {
		return all, err
	}
	since, err := r.ask(ctx, fmt.Sprintf(first, fmt.Sprintf(worksIn, t.Name)), now)
	if err != nil {
		return all, err
	}
	began := map[string]int64{} // by worker and pid
	for _, l := range since {
		began[l.Labels["worker"]+" "+l.Labels["pid"]] = lastMs(l)
	}
	tasks, err := r.ask(ctx, fmt.Sprintf(runsWhere, t.Name), now)
	if err != nil {
		return all, err
	}
	placed := map[string]map[string][]int32{}
	for _, l := range tasks {
		id, err := strconv.ParseInt(l.Labels["task"], 10, 32)
		if err != nil {
			continue
		}
		here := placed[l.Labels["worker"]]
		if here == nil {
			here = map[string][]int32{}
			placed[l.Labels["worker"]] = here
		}
		here[l.Labels["component"]] = append(here[l.Labels["component"]], int32(id))
	}
	components := map[string]bool{}
	for _, l := range seen {
		w := workerOf(l, placed[l.Labels["worker"]], began[l.Labels["worker"]+" "+l.Labels["pid"]], now.UnixMilli())
		for _, c := range w.Components {
			components[c.Component] = true
		}
		all.Tasks += w.Tasks
		all.Workers = append(all.Workers, w)
	}
	slices.SortFunc(all.Workers, func(a, b registry.Worker) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
	all.Summary.Workers, all.Summary.Components = len(all.Workers), len(components)
	all.Hosts = registry.HostsOf(all.Workers)
	return all, nil
}

// workerOf makes a worker from the series that describes it. Its times are those of its samples.
func workerOf(l Line, tasks map[string][]int32, firstMs, nowMs int64) registry.Worker {
	lastMs := lastMs(l)
	w := registry.Worker{Worker: l.Labels["worker"], Host: l.Labels["host"],
		FirstSeen: registry.TimeText(min(cmp.Or(firstMs, lastMs), lastMs)), LastSeen: registry.TimeText(lastMs),
		Alive: lastMs > nowMs-silence.Milliseconds(), Components: []registry.ComponentTasks{}}
	if port, err := strconv.ParseUint(w.Worker[strings.LastIndexByte(w.Worker, ':')+1:], 10, 16); err == nil {
		w.Port = uint32(port)
	}
	w.Pid, _ = strconv.ParseUint(l.Labels["pid"], 10, 64) // 0 if it is unknown
	for _, component := range slices.Sorted(maps.Keys(tasks)) {
		slices.Sort(tasks[component])
		w.Tasks += len(tasks[component])
		w.Components = append(w.Components, registry.ComponentTasks{Component: component, Tasks: tasks[component]})
	}
	return w
}
