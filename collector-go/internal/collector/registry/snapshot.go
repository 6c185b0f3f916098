package registry

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// The versions of the encoded state. docs/formats/registry.md describes every field in its order. Release 0.1.0 wrote
// the oldest version. No release wrote version 2.
const (
	stateMagic    = "BMREGIST"
	stateVersion  = 3
	oldestVersion = 1
)

// snapshot encodes the state for a checkpoint. Equal states give equal bytes, because maps are written in the order of
// their keys. Tests use these bytes to compare a restored registry with one that never stopped. The caller holds the
// registry's mutex, so nothing here waits or does I/O.
func (s *state) snapshot() []byte {
	c := coder{metric.Writing(stateMagic, stateVersion)}
	c.state(s)
	return c.Finish()
}

// restoreState decodes what snapshot encoded, in this release or in 0.1.0. Producers and sources are not part of it,
// because the journal defines them again for every reader.
//
// A checkpoint has a checksum, so a state that cannot be decoded was written by a program with a bug. The error makes
// the registry use the checkpoint before it. Nothing is repaired here, because a guessed state would make wrong
// annotations.
func restoreState(data []byte, l Limits, t Times) (*state, error) {
	read, err := metric.Reading(data, stateMagic, oldestVersion, stateVersion)
	if err != nil {
		return nil, err
	}
	s := newState(l, t)
	coder{read}.state(s)
	if err := read.Done(); err != nil {
		return nil, fmt.Errorf("corrupt checkpoint: %w", err)
	}
	return s, nil
}

// CheckVersion returns a disk.ErrNewer if a newer program wrote the state of a checkpoint. A program calls it before
// it changes anything in its data directory, so that a downgrade destroys nothing.
func CheckVersion(state io.ReaderAt) error {
	var b [32]byte
	n, _ := state.ReadAt(b[:], 0)
	return metric.CheckVersion(b[:n], stateMagic, stateVersion)
}

// coder codes the types of this package.
type coder struct{ *metric.Coder }

// state codes everything. The oldest version had no clients.
func (c coder) state(s *state) {
	c.Int(&s.clockMs, &s.ageClockMs)
	c.Uint(&s.nextMade)
	metric.Map(c.Coder, s.dropped, strings.Compare, c.string, func(_ *string, n *uint64) { c.Uint(n) })
	metric.Map(c.Coder, s.topologies, strings.Compare, c.string, func(name *string, t **topology) {
		if c.Reads() {
			*t = &topology{name: *name}
		}
		metric.List(c.Coder, &(*t).runs, func(r **run) { c.run(*name, r) })
		c.Demand(len((*t).runs) > 0, "a topology has no run")
	})
	c.annotations(s.set)
	c.annotations(s.made)
	if c.Version == oldestVersion {
		return
	}
	metric.Map(c.Coder, s.clients, compareClients, func(k *clientKey) { c.String(&k.topology); c.place(&k.place) },
		func(_ *clientKey, known **client) {
			x := metric.New(c.Coder, known)
			c.Int(&x.heardMs, &x.stoppedMs)
		})
}

func (c coder) string(s *string) { c.String(s) }

// place codes the host and port that identify a worker, a sender or a client.
func (c coder) place(p *place) {
	c.String(&p.host)
	c.Uint32(&p.port)
}

// run codes one submission of a topology. Workers come before tasks, because a task refers to its worker by the index
// in that list. The leavers are not coded, because they are collected again when room is needed.
func (c coder) run(topology string, all **run) {
	if c.Reads() {
		*all = newRun(topology, "", 0)
	}
	r := *all
	c.String(&r.id)
	r.submittedMs = submittedMs(r.id)
	c.Int(&r.firstMs, &r.heardMs, &r.hearingSinceMs)
	if c.Version > oldestVersion {
		c.Int(&r.stoppedMs)
	}
	metric.Optional(c.Coder, &r.info, c.info)
	c.Uint32((*uint32)(&r.source))
	metric.Map(c.Coder, r.senders, cmp.Compare, func(id *journal.ProducerID) { c.Uint32((*uint32)(id)) },
		func(_ *journal.ProducerID, known **sender) {
			s := metric.New(c.Coder, known)
			c.place(&s.place)
			c.Int32(&s.task)
			c.Bool(&s.connected)
			c.Int(&s.heardMs)
			c.Uint(&s.digest)
		})
	places := r.places()
	metric.Map(c.Coder, r.workers, comparePlaces, c.place, func(p *place, w **worker) {
		if c.Reads() {
			*w, places = &worker{place: *p}, append(places, *p)
		}
		c.worker(*w)
	})
	metric.Map(c.Coder, r.tasks, cmp.Compare, c.Int32, func(id *int32, t **task) { c.task(r, places, *id, t) })
	metric.Optional(c.Coder, &r.placementChange, c.placementChange)
}

// worker codes a worker without its number of tasks, which follows from the tasks. The oldest version did not record
// which components moved away.
func (c coder) worker(w *worker) {
	c.Uint(&w.pid)
	c.Int(&w.startMs, &w.sinceMs, &w.firstMs, &w.lastMs, &w.heardMs, &w.reportMs)
	c.Uint(&w.restarts)
	c.Bool(&w.present)
	c.Int(&w.leftMs)
	c.Uint(&w.vacatedBy)
	if c.Version > oldestVersion {
		c.Strings(&w.moved)
	}
}

// task codes a task. Its worker is an index into the places.
func (c coder) task(r *run, places []place, id int32, known **task) {
	t, number := metric.New(c.Coder, known), uint64(0)
	if t.worker != nil {
		at, _ := slices.BinarySearchFunc(places, t.worker.place, comparePlaces)
		number = uint64(at)
	}
	c.String(&t.component)
	c.Uint(&number)
	c.Int(&t.sinceMs, &t.lastMs)
	if c.Demand(number < uint64(len(places)) && id >= 0, "a task has no worker") && c.Reads() {
		t.worker = r.workers[places[number]]
		t.worker.tasks++
	}
}

// placementChange codes the current placement change. Without it, a restart during a rebalance would split the
// rebalance into two annotations.
func (c coder) placementChange(w *placementChange) {
	if c.Reads() {
		w.was, w.before = map[place]bool{}, map[int32]place{}
	}
	c.Int(&w.atMs, &w.beganMs, &w.lastMs)
	metric.Map(c.Coder, w.was, comparePlaces, c.place, func(_ *place, was *bool) { c.Bool(was) })
	metric.Map(c.Coder, w.before, cmp.Compare, c.Int32, func(_ *int32, p *place) { c.place(p) })
}

// info codes the description of a topology. Descriptions of past runs are kept too, because the first description of a
// new run is compared with them.
func (c coder) info(in *info) {
	c.String(&in.versions.Storm, &in.versions.Bullet, &in.versions.Java, &in.versions.Plugin)
	metric.List(c.Coder, &in.components, func(x *Component) {
		c.String(&x.Name, &x.Kind)
		parallelism := uint32(x.Parallelism)
		c.Uint32(&parallelism)
		if c.Reads() {
			x.Parallelism, x.Tasks, x.Inputs = int(parallelism), []int32{}, []Input{}
		}
		metric.List(c.Coder, &x.Tasks, c.Int32)
		c.Float(&x.CPUPercent, &x.OnHeapMiB, &x.OffHeapMiB)
		for _, amount := range []*float64{&x.CPUPercent, &x.OnHeapMiB, &x.OffHeapMiB} {
			*amount = finite(*amount)
		}
		metric.List(c.Coder, &x.Inputs, func(input *Input) {
			c.String(&input.Component, &input.Stream, &input.Grouping)
			c.Strings(&input.Fields)
		})
	})
	if c.Reads() {
		in.settings = map[string]string{}
	}
	metric.Map(c.Coder, in.settings, strings.Compare, c.string, func(_, value *string) { c.String(value) })
}

// annotations codes annotations. They must be sorted by time, because all searches rely on that.
func (c coder) annotations(m *annotations) {
	metric.List(c.Coder, &m.sorted, func(known **Annotation) {
		a := metric.New(c.Coder, known)
		origin := uint64(a.Origin)
		c.String(&a.ID, &a.Topology)
		c.Int(&a.TimeMs, &a.EndMs)
		c.String(&a.Title, &a.Text)
		c.Strings(&a.Tags)
		c.Uint(&origin)
		key := annotationKey{a.Topology, a.ID}
		if c.Demand(origin >= uint64(OfRegistry) && origin <= uint64(OfAPI), "an annotation has an unknown origin") &&
			c.Demand(m.byID[key] == nil, "an annotation appears twice") && c.Reads() {
			a.Origin, m.byID[key] = Origin(origin), a
			m.count(a, 1)
		}
	})
	c.Demand(slices.IsSortedFunc(m.sorted, compare), "annotations are not sorted")
}
