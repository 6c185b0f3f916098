package registry

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// restoreState decodes what snapshot encoded, in any format version up to the current one. Producers and sources are
// not part of it, because the journal defines them again for every reader.
//
// A checkpoint has a checksum, so a state that cannot be decoded was written by a program with a bug. The error makes
// the registry use the checkpoint before it. Nothing is repaired here, because a guessed state would make wrong
// annotations.
func restoreState(data []byte, l Limits, t Times) (*state, error) {
	d, version, err := metric.NewDecoder(data, stateMagic, stateVersion)
	switch {
	case err != nil:
		return nil, err
	case version < 1:
		return nil, fmt.Errorf("unknown format version %d", version)
	}
	s := newState(l, t)
	s.clockMs, s.ageClockMs, s.nextMade = d.Int(), d.Int(), d.Uint()
	for n := d.Count(1); n > 0 && d.Err() == nil; n-- {
		reason := d.String()
		s.dropped[reason] = d.Uint()
	}
	for n := d.Count(1); n > 0 && d.Err() == nil; n-- {
		t := &topology{name: d.String()}
		for m := d.Count(1); m > 0 && d.Err() == nil; m-- {
			t.runs = append(t.runs, decodeRun(d, t.name, version))
		}
		if len(t.runs) == 0 || s.topologies[t.name] != nil {
			d.Fail(errors.New("corrupt checkpoint: a topology has no run or appears twice"))
		}
		s.topologies[t.name] = t
	}
	decodeAnnotations(d, s.set)
	decodeAnnotations(d, s.made)
	if version > 2 {
		decodeClients(d, s)
	}
	if err := d.Done(); err != nil {
		return nil, err
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

// decodeRun is the inverse of encodeRun. It counts each worker's tasks while it decodes the tasks.
func decodeRun(d *metric.Decoder, topology string, version uint64) *run {
	r := newRun(topology, d.String(), 0)
	r.firstMs, r.heardMs, r.hearingSinceMs = d.Int(), d.Int(), d.Int()
	if version > 1 {
		r.stoppedMs = d.Int()
	}
	if d.Bool() {
		r.info = decodeInfo(d)
	}
	r.source = journal.ProducerID(d.Uint32())
	for n := d.Count(1); n > 0 && d.Err() == nil; n-- {
		id := journal.ProducerID(d.Uint32())
		r.senders[id] = &sender{place: decodePlace(d), task: int32(d.Int()), connected: d.Bool(), heardMs: d.Int(),
			digest: d.Uint()}
	}
	var workers []*worker
	for n := d.Count(1); n > 0 && d.Err() == nil; n-- {
		w := decodeWorker(d, version)
		workers = append(workers, w)
		r.workers[w.place] = w
	}
	for n := d.Count(1); n > 0 && d.Err() == nil; n-- {
		decodeTask(d, r, workers)
	}
	if d.Bool() {
		r.placementChange = decodePlacementChange(d)
	}
	if len(r.workers) != len(workers) {
		d.Fail(errors.New("corrupt checkpoint: a worker appears twice"))
	}
	return r
}

// decodeClients decodes the clients, which exist from format version 3 on. It refuses a client that occurs twice,
// because the second one would silently replace the first.
func decodeClients(d *metric.Decoder, s *state) {
	n := d.Count(1)
	for range n {
		if d.Err() != nil {
			return
		}
		s.clients[clientKey{d.String(), decodePlace(d)}] = &client{heardMs: d.Int(), stoppedMs: d.Int()}
	}
	if len(s.clients) != int(n) {
		d.Fail(errors.New("corrupt checkpoint: a client appears twice"))
	}
}

func decodePlace(d *metric.Decoder) place { return place{d.String(), d.Uint32()} }

// decodeWorker is the inverse of encodeWorker. The list of components that moved away exists from format version 2 on.
func decodeWorker(d *metric.Decoder, version uint64) *worker {
	w := &worker{place: decodePlace(d), pid: d.Uint()}
	for _, ms := range []*int64{&w.startMs, &w.sinceMs, &w.firstMs, &w.lastMs, &w.heardMs, &w.reportMs} {
		*ms = d.Int()
	}
	w.restarts, w.present, w.leftMs, w.vacatedBy = d.Uint(), d.Bool(), d.Int(), d.Uint()
	if version > 1 {
		w.moved = decodeStrings(d)
	}
	return w
}

// decodeTask adds a task to its run. The number of its worker must be an index into workers.
func decodeTask(d *metric.Decoder, r *run, workers []*worker) {
	id, component, number := d.Int(), d.String(), d.Uint()
	if d.Err() != nil || number >= uint64(len(workers)) || id < 0 || id > math.MaxInt32 || r.tasks[int32(id)] != nil {
		d.Fail(errors.New("corrupt checkpoint: a task has no worker or appears twice"))
		return
	}
	t := &task{component: component, worker: workers[number], sinceMs: d.Int(), lastMs: d.Int()}
	t.worker.tasks++
	r.tasks[int32(id)] = t
}

// decodePlacementChange is the inverse of encodePlacementChange.
func decodePlacementChange(d *metric.Decoder) *placementChange {
	w := &placementChange{was: map[place]bool{}, before: map[int32]place{}}
	w.atMs, w.beganMs, w.lastMs = d.Int(), d.Int(), d.Int()
	for n := d.Count(1); n > 0 && d.Err() == nil; n-- {
		p := decodePlace(d)
		w.was[p] = d.Bool()
	}
	for n := d.Count(1); n > 0 && d.Err() == nil; n-- {
		id := int32(d.Int())
		w.before[id] = decodePlace(d)
	}
	return w
}

func decodeInfo(d *metric.Decoder) *info {
	in := &info{versions: Versions{d.String(), d.String(), d.String(), d.String()}, settings: map[string]string{}}
	for n := d.Count(1); n > 0 && d.Err() == nil; n-- {
		c := Component{Name: d.String(), Kind: d.String(), Parallelism: int(d.Uint32()), Tasks: []int32{},
			Inputs: []Input{}}
		for m := d.Count(1); m > 0 && d.Err() == nil; m-- {
			c.Tasks = append(c.Tasks, int32(d.Int()))
		}
		c.CPUPercent, c.OnHeapMiB, c.OffHeapMiB = finite(d.Float()), finite(d.Float()), finite(d.Float())
		for m := d.Count(1); m > 0 && d.Err() == nil; m-- {
			c.Inputs = append(c.Inputs, Input{Component: d.String(), Stream: d.String(), Grouping: d.String(),
				Fields: decodeStrings(d)})
		}
		in.components = append(in.components, c)
	}
	for n := d.Count(1); n > 0 && d.Err() == nil; n-- {
		name := d.String()
		in.settings[name] = d.String()
	}
	return in
}

// decodeAnnotations decodes annotations. They must be sorted by time, because all searches rely on that.
func decodeAnnotations(d *metric.Decoder, m *annotations) {
	for n := d.Count(1); n > 0 && d.Err() == nil; n-- {
		a := &Annotation{ID: d.String(), Topology: d.String(), TimeMs: d.Int(), EndMs: d.Int(), Title: d.String(),
			Text: d.String(), Tags: decodeStrings(d)}
		origin := d.Uint()
		if origin < uint64(OfRegistry) || origin > uint64(OfAPI) {
			d.Fail(fmt.Errorf("corrupt checkpoint: an annotation has the unknown origin %d", origin))
			return
		}
		a.Origin = Origin(origin)
		key := annotationKey{a.Topology, a.ID}
		if m.byID[key] != nil {
			d.Fail(errors.New("corrupt checkpoint: an annotation appears twice"))
			return
		}
		m.sorted, m.byID[key] = append(m.sorted, a), a
		m.count(a, 1)
	}
	if !slices.IsSortedFunc(m.sorted, compare) {
		d.Fail(errors.New("corrupt checkpoint: annotations are not sorted"))
	}
}

func decodeStrings(d *metric.Decoder) (all []string) {
	for n := d.Count(1); n > 0 && d.Err() == nil; n-- {
		all = append(all, d.String())
	}
	return all
}
