package registry

import (
	"maps"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// The versions of the encoded state. docs/formats/registry.md describes every field in its order.
const (
	stateMagic   = "BMREGIST"
	stateVersion = 3
)

// snapshot encodes the state for a checkpoint. Equal states give equal bytes, because maps are written in the order of
// their keys. Tests use these bytes to compare a restored registry with one that never stopped. The caller holds the
// registry's mutex, so nothing here waits or does I/O.
func (s *state) snapshot() []byte {
	e := metric.NewEncoder(stateMagic, stateVersion)
	e.Int(s.clockMs)
	e.Int(s.ageClockMs)
	e.Uint(s.nextMade)
	e.Uint(uint64(len(s.dropped)))
	for _, reason := range slices.Sorted(maps.Keys(s.dropped)) {
		e.String(reason)
		e.Uint(s.dropped[reason])
	}
	e.Uint(uint64(len(s.topologies)))
	for _, name := range sortedNames(s.topologies) {
		e.String(name)
		e.Uint(uint64(len(s.topologies[name].runs)))
		for _, r := range s.topologies[name].runs {
			encodeRun(e, r)
		}
	}
	encodeAnnotations(e, s.set)
	encodeAnnotations(e, s.made)
	e.Uint(uint64(len(s.clients)))
	for _, key := range s.clientKeys() {
		e.String(key.topology)
		encodePlace(e, key.place)
		e.Int(s.clients[key].heardMs)
		e.Int(s.clients[key].stoppedMs)
	}
	return e.Finish()
}

// encodeRun encodes one submission of a topology. Workers come before tasks, because a task refers to its worker by the
// index in that list. The leavers are not encoded, because they are collected again when room is needed.
func encodeRun(e *metric.Encoder, r *run) {
	e.String(r.id)
	for _, ms := range []int64{r.firstMs, r.heardMs, r.hearingSinceMs, r.stoppedMs} {
		e.Int(ms)
	}
	e.Bool(r.info != nil)
	if r.info != nil {
		encodeInfo(e, r.info)
	}
	e.Uint(uint64(r.source))
	e.Uint(uint64(len(r.senders)))
	for _, id := range slices.Sorted(maps.Keys(r.senders)) {
		known := r.senders[id]
		e.Uint(uint64(id))
		encodePlace(e, known.place)
		e.Int(int64(known.task))
		e.Bool(known.connected)
		e.Int(known.heardMs)
		e.Uint(known.digest)
	}
	numbers := map[*worker]uint64{}
	e.Uint(uint64(len(r.workers)))
	for i, p := range r.places() {
		numbers[r.workers[p]] = uint64(i)
		encodeWorker(e, r.workers[p])
	}
	e.Uint(uint64(len(r.tasks)))
	for _, id := range slices.Sorted(maps.Keys(r.tasks)) {
		t := r.tasks[id]
		e.Int(int64(id))
		e.String(t.component)
		e.Uint(numbers[t.worker])
		e.Int(t.sinceMs)
		e.Int(t.lastMs)
	}
	e.Bool(r.placementChange != nil)
	if r.placementChange != nil {
		encodePlacementChange(e, r.placementChange)
	}
}

// encodePlace encodes the host and port that identify a worker, a sender or a client.
func encodePlace(e *metric.Encoder, p place) {
	e.String(p.host)
	e.Uint(uint64(p.port))
}

// encodeWorker encodes a worker without its number of tasks, which follows from the tasks.
func encodeWorker(e *metric.Encoder, w *worker) {
	encodePlace(e, w.place)
	e.Uint(w.pid)
	for _, ms := range []int64{w.startMs, w.sinceMs, w.firstMs, w.lastMs, w.heardMs, w.reportMs} {
		e.Int(ms)
	}
	e.Uint(w.restarts)
	e.Bool(w.present)
	e.Int(w.leftMs)
	e.Uint(w.vacatedBy)
	encodeStrings(e, w.moved)
}

// encodePlacementChange encodes the current placement change. Without it, a restart during a rebalance would split the
// rebalance into two annotations.
func encodePlacementChange(e *metric.Encoder, w *placementChange) {
	for _, ms := range []int64{w.atMs, w.beganMs, w.lastMs} {
		e.Int(ms)
	}
	e.Uint(uint64(len(w.was)))
	for _, p := range slices.SortedFunc(maps.Keys(w.was), comparePlaces) {
		encodePlace(e, p)
		e.Bool(w.was[p])
	}
	e.Uint(uint64(len(w.before)))
	for _, id := range slices.Sorted(maps.Keys(w.before)) {
		e.Int(int64(id))
		encodePlace(e, w.before[id])
	}
}

// encodeInfo encodes the description of a topology. Descriptions of past runs are kept too, because the first
// description of a new run is compared with them.
func encodeInfo(e *metric.Encoder, in *info) {
	for _, version := range []string{in.versions.Storm, in.versions.Bullet, in.versions.Java, in.versions.Plugin} {
		e.String(version)
	}
	e.Uint(uint64(len(in.components)))
	for _, c := range in.components {
		e.String(c.Name)
		e.String(c.Kind)
		e.Uint(uint64(c.Parallelism))
		e.Uint(uint64(len(c.Tasks)))
		for _, id := range c.Tasks {
			e.Int(int64(id))
		}
		for _, amount := range []float64{c.CPUPercent, c.OnHeapMiB, c.OffHeapMiB} {
			e.Float(amount)
		}
		e.Uint(uint64(len(c.Inputs)))
		for _, input := range c.Inputs {
			e.String(input.Component)
			e.String(input.Stream)
			e.String(input.Grouping)
			encodeStrings(e, input.Fields)
		}
	}
	e.Uint(uint64(len(in.settings)))
	for _, name := range slices.Sorted(maps.Keys(in.settings)) {
		e.String(name)
		e.String(in.settings[name])
	}
}

// encodeAnnotations encodes annotations, sorted by time.
func encodeAnnotations(e *metric.Encoder, m *annotations) {
	e.Uint(uint64(len(m.sorted)))
	for _, a := range m.sorted {
		e.String(a.ID)
		e.String(a.Topology)
		e.Int(a.TimeMs)
		e.Int(a.EndMs)
		e.String(a.Title)
		e.String(a.Text)
		encodeStrings(e, a.Tags)
		e.Uint(uint64(a.Origin))
	}
}

func encodeStrings(e *metric.Encoder, all []string) {
	e.Uint(uint64(len(all)))
	for _, s := range all {
		e.String(s)
	}
}
