package ingest

import (
	"fmt"
	"iter"
	"time"
	"unique"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// table maps the ids of one stream to the journal's ids. A sender numbers its series itself, so that it sends the name
// of a series only once. The table is dropped with the stream. It is not safe for concurrent use.
type table struct {
	server *Server // assigns the journal's ids, within the limits of all streams
	limits tableLimits

	slots   slots
	names   names
	layouts layouts
	// examples explain what is wrong with the first bad definitions. Further ones are only counted.
	examples []string
	// limited is the number of series that have no id because of a limit. whyLimited names the limit. retry is when to
	// ask for their ids again.
	limited    int
	whyLimited string
	retry      time.Time

	unresolved unresolved
}

// unresolved holds the series of a message that have no journal id yet. They are defined together, so that the
// journal's lock is taken once per message and not once per series.
type unresolved struct {
	ids      []uint32 // the stream's ids
	nameRows []int    // indexes of rows in names
	series   []metric.Raw
	named    []journal.SeriesID // reused memory
}

// maxUnresolved bounds the series that are defined together, because others may be waiting for the journal meanwhile.
const maxUnresolved = 4096

// tableLimits bounds what one stream may define.
type tableLimits struct {
	series        int
	layouts       int
	layoutColumns int // the total number of series in layouts, counted as often as they are listed
}

// maxExamples bounds the stored examples of bad definitions.
const maxExamples = 64

func newTable(topology string, limits tableLimits, s *Server) *table {
	return &table{server: s, limits: limits, names: names{topology: topology}}
}

// slot is the meaning of one id. It has eight bytes, so that a lookup for each sample stays in the processor's cache.
type slot struct {
	id  journal.SeriesID
	row uint32 // index in names times kinds, plus the kind
}

// kind is how samples of an id are handled.
type kind uint32

const (
	undefined kind = iota
	number
	histogram
	limited // valid, but a limit of series is reached
	bad
	kinds
)

func newSlot(id journal.SeriesID, row int, k kind) slot {
	return slot{id: id, row: uint32(row)*uint32(kinds) + uint32(k)}
}

func (s slot) kind() kind { return kind(s.row % uint32(kinds)) }
func (s slot) place() int { return int(s.row / uint32(kinds)) }

// slots maps ids to their meaning. It is an array while ids are dense, as for a sender that counts from 1, and a map
// otherwise. A sender therefore cannot make it allocate memory by choosing a large id.
type slots struct {
	dense  []slot
	sparse map[uint32]slot
	known  int
}

const sparseSlack = 256

func (s *slots) get(id uint32) slot {
	if int(id) < len(s.dense) && s.dense[id].row != 0 {
		return s.dense[id]
	}
	if s.sparse == nil {
		return slot{}
	}
	return s.sparse[id]
}

// put sets the meaning of an id. The array grows to at most twice the number of known ids, whichever ids a sender
// chooses.
func (s *slots) put(id uint32, to slot) {
	if s.get(id).row == 0 {
		s.known++
	}
	if _, isSparse := s.sparse[id]; isSparse || int64(id) >= int64(2*(s.known+sparseSlack)) {
		if s.sparse == nil {
			s.sparse = map[uint32]slot{}
		}
		s.sparse[id] = to
		return
	}
	for int(id) >= len(s.dense) {
		s.dense = append(s.dense, slot{})
	}
	s.dense[id] = to
}

// of returns the ids of a kind.
func (s *slots) of(k kind) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for id, at := range s.dense {
			if at.kind() == k && !yield(uint32(id)) {
				return
			}
		}
		for id, at := range s.sparse {
			if at.kind() == k && !yield(id) {
				return
			}
		}
	}
}

// add adds the definitions of series. An error ends the stream. An invalid definition does not end it: the id is marked
// as bad, and its samples are rejected with an example.
func (t *table) add(definitions []*pb.SeriesDefinition) error {
	defer t.resolveAll() // also those before an invalid definition
	for _, d := range definitions {
		if err := t.addOne(d); err != nil {
			return err
		}
		if len(t.unresolved.ids) >= maxUnresolved {
			t.resolveAll()
		}
	}
	return nil
}

// addOne adds one definition. A sender may repeat a definition, for example after a Full. An id must never change its
// meaning, because samples in flight could then be stored under another series.
func (t *table) addOne(d *pb.SeriesDefinition) error {
	if d.GetId() == 0 {
		return fmt.Errorf("batch.series.id is 0 for %.40q: ids start at 1", d.GetName())
	}
	before := t.slots.get(d.GetId())
	if before.kind() == undefined && t.slots.known >= t.limits.series {
		t.server.stats.surplus.Inc() // dropped; its samples are rejected because of the limit (see refusal)
		return nil
	}
	raw, err := rawSeries(t.names.topology, d)
	if err != nil {
		if before.kind() != undefined && before.kind() != bad {
			return t.redefined(d)
		}
		if before.kind() == undefined {
			t.slots.put(d.GetId(), newSlot(0, t.keepExample(err), bad))
		}
		return nil
	}
	switch before.kind() {
	case undefined:
		t.await(d.GetId(), raw, t.names.add(raw))
	case bad:
		return t.redefined(d)
	default:
		if t.names.get(before.place()) != raw {
			return t.redefined(d)
		}
		if before.kind() == limited {
			t.await(d.GetId(), raw, before.place())
		}
	}
	return nil
}

// redefined returns the error for an id that is defined again with another meaning. It ends the stream.
func (t *table) redefined(d *pb.SeriesDefinition) error {
	return fmt.Errorf("batch.series.id %d is already defined and cannot be redefined as %.40q", d.GetId(), d.GetName())
}

// keepExample stores what is wrong with a definition, and returns the index of the example. Examples are bounded,
// because a sender can define any number of bad series.
func (t *table) keepExample(err error) int {
	if len(t.examples) >= maxExamples {
		return maxExamples
	}
	t.examples = append(t.examples, err.Error())
	return len(t.examples) - 1
}

// await queues a series to be resolved together with others. Until then the series counts as limited.
func (t *table) await(id uint32, raw metric.Raw, place int) {
	if t.slots.get(id).kind() != limited {
		t.limited++
		t.slots.put(id, newSlot(0, place, limited))
	}
	u := &t.unresolved
	u.ids, u.nameRows, u.series = append(u.ids, id), append(u.nameRows, place), append(u.series, raw)
}

// resolveAll asks the journal for the ids of the unresolved series. full is true if a limit left a series without an
// id.
func (t *table) resolveAll() (full bool) {
	u := &t.unresolved
	if len(u.ids) == 0 {
		return false
	}
	var err error
	if u.named, err = t.server.define(u.named[:0], u.series); err != nil {
		t.whyLimited = err.Error()
	}
	for i, name := range u.named {
		if name == 0 || t.slots.get(u.ids[i]).kind() != limited {
			continue // a limit leaves it without an id, or it was defined twice
		}
		t.limited--
		k := number
		if u.series[i].Shape == metric.ShapeHistogram {
			k = histogram
		}
		t.slots.put(u.ids[i], newSlot(name, u.nameRows[i], k))
	}
	clear(u.series)
	u.ids, u.nameRows, u.series = u.ids[:0], u.nameRows[:0], u.series[:0]
	return err != nil
}

// renew queues a series to be defined again. The journal may assign another id.
func (t *table) renew(id uint32) {
	s := t.slots.get(id)
	if k := s.kind(); k == number || k == histogram {
		t.limited++
		t.slots.put(id, newSlot(0, s.place(), limited))
	} else if k != limited {
		return
	}
	t.await(id, t.names.get(s.place()), s.place())
}

// retryEvery is how often a stream asks again for the ids of series that exceeded a limit.
const retryEvery = 10 * time.Second

// retryLimited asks again for the ids of series that exceeded the topology's limit. Other series may have been
// forgotten since, so a stream recovers without a reconnect.
func (t *table) retryLimited(now time.Time) {
	if t.limited == 0 || now.Before(t.retry) {
		return
	}
	t.retry = now.Add(retryEvery)
	for id := range t.slots.of(limited) {
		t.renew(id)
		if len(t.unresolved.ids) >= maxUnresolved && t.resolveAll() {
			return
		}
	}
	t.resolveAll()
}

// renewAll renews every series and layout that a batch uses, because the journal has forgotten some of them. It does
// not find out which ones, because this is rare.
func (t *table) renewAll(b *pb.Batch) {
	for _, id := range b.GetSamples().GetSeriesIds() {
		t.renew(id)
	}
	for _, h := range b.GetHistograms() {
		t.renew(h.GetSeriesId())
	}
	for _, of := range b.GetBlocks() {
		if l := t.layouts.get(of.GetLayoutId()); l != nil {
			t.layouts.columns = l.unpack(t.layouts.columns[:0])
			for _, id := range t.layouts.columns {
				t.renew(id)
			}
			l.forget()
		}
	}
	t.resolveAll()
}

// refusal returns the reason for which samples of an id are rejected. If the stream has used all its ids, an undefined
// id counts as a limit, because its definition was dropped here (see surplus).
func (t *table) refusal(s slot) pb.RejectionReason {
	switch {
	case s.kind() == bad:
		return pb.RejectionReason_REJECTION_REASON_BAD_SERIES
	case s.kind() == limited, t.slots.known >= t.limits.series:
		return pb.RejectionReason_REJECTION_REASON_SERIES_LIMIT
	}
	return pb.RejectionReason_REJECTION_REASON_UNKNOWN_SERIES
}

// refusalExample explains a refusal to the sender's operator. It names the series and the limit.
func (t *table) refusalExample(id uint32, s slot) string {
	switch {
	case s.kind() == limited:
		raw := t.names.get(s.place())
		return fmt.Sprintf("%.40q of %v: %s", raw.Name, raw.Worker, t.whyLimited)
	case s.kind() == bad && s.place() < len(t.examples):
		return t.examples[s.place()]
	case s.kind() == bad:
		return fmt.Sprintf("id %d has an invalid definition", id)
	case t.slots.known >= t.limits.series:
		return fmt.Sprintf("id %d exceeds the limit of %d series per stream", id, t.limits.series)
	}
	return fmt.Sprintf("id %d was not defined on this stream", id)
}

// name returns the name of a series, for examples.
func (t *table) name(s slot) string { return t.names.get(s.place()).Name }

// names holds the series that a stream defined, so that they can be defined again if the journal has forgotten them.
// Their strings are shared with those of the journal, which keeps a row small.
type names struct {
	topology string
	rows     []nameRow
	newest   metric.Raw // most texts of a series equal those of the one before
}

// nameRow is the most compact form of a series from which its name can be restored. A collector has one for each series
// of each stream.
type nameRow struct {
	host, component, name, key unique.Handle[string]
	port                       uint32
	task                       int32
	intervalMs, packSpanMs     uint32
	shape, temporality         uint8
}

// add stores a series and returns the index of its row.
func (n *names) add(r metric.Raw) (place int) {
	row := nameRow{port: r.Port, task: r.Task, intervalMs: uint32(r.IntervalMs), packSpanMs: uint32(r.PackSpanMs),
		shape: uint8(r.Shape), temporality: uint8(r.Temporality)}
	var before nameRow
	if len(n.rows) > 0 {
		before = n.rows[len(n.rows)-1]
	}
	row.host = shared(r.Host, n.newest.Host, before.host)
	row.component = shared(r.Component, n.newest.Component, before.component)
	row.name = shared(r.Name, n.newest.Name, before.name)
	row.key = shared(r.Key, n.newest.Key, before.key)
	n.rows, n.newest = append(n.rows, row), r
	return len(n.rows) - 1
}

// shared returns the handle of a text. If the text equals newest, it reuses the handle before, which avoids a lookup.
func shared(text, newest string, before unique.Handle[string]) unique.Handle[string] {
	if text == newest && before != (unique.Handle[string]{}) {
		return before
	}
	return unique.Make(text)
}

// get returns the series of a row.
func (n *names) get(place int) metric.Raw {
	r := &n.rows[place]
	return metric.Raw{Worker: metric.Worker{Topology: n.topology, Host: r.host.Value(), Port: r.port},
		Component: r.component.Value(), Task: r.task, Name: r.name.Value(), Key: r.key.Value(),
		Shape: metric.Shape(r.shape), Temporality: metric.Temporality(r.temporality), IntervalMs: int64(r.intervalMs),
		PackSpanMs: int64(r.packSpanMs)}
}
