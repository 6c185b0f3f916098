package registry

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// state is the registry without its files: it applies journal entries, and view.go reads it. It has no clock and does
// no I/O. Normal operation, catching up and recovery are therefore the same code and make the same annotations with the
// same ids. Every map in it has a limit in Limits, because senders choose the names.
type state struct {
	limits Limits
	times  Times

	clockMs int64 // the collector's clock, from the journal
	// ageClockMs is the same clock, but no tick advances it by more than longestTick. A step of the clock into the
	// future therefore deletes no annotations.
	ageClockMs int64
	topologies map[string]*topology
	position   journal.Position // of the current entry
	set        *annotations     // annotations of producers and clients
	made       *annotations     // the registry's own
	nextMade   uint64
	dropped    map[string]uint64 // number of dropped items by reason, since the beginning of the journal

	// The journal defines producers and sources again for every reader.
	producers map[journal.ProducerID]*producer
	sources   *sources

	clients map[clientKey]*client
	clocks  map[string]*clock // by host
}

// topology holds all runs that were submitted under one name. It has at least one run.
type topology struct {
	name string
	runs []*run // ordered by submission; the last is the current one
}

// producer is a producer of the journal, with the results of its last lookups. run and sender are caches. When a run or
// a sender is deleted, its forgotten flag is set, and the cache is looked up again.
type producer struct {
	journal.ProducerDefined
	run  *run
	self source // the task as which it reports that it is alive

	// sender is the record of the producer in the run senderOf.
	sender   *sender
	senderOf *run
}

// external reports whether the producer is a client that measures a topology from outside, such as the canary. Such
// clients send from port 0, where no worker listens. They count neither as a worker nor as a submission.
func (p *producer) external() bool { return p.Port == 0 }

func newState(l Limits, t Times) *state {
	s := &state{
		limits: l, times: t, topologies: map[string]*topology{}, dropped: map[string]uint64{},
		producers: map[journal.ProducerID]*producer{}, sources: newSources(), clients: map[clientKey]*client{},
		clocks: map[string]*clock{},
	}
	s.set, s.made = newAnnotations(&s.position), newAnnotations(&s.position)
	return s
}

func (s *state) drop(reason string, n int) { s.dropped[reason] += uint64(n) }

// apply changes the state by one entry of the journal. It ignores entries whose producer is unknown because a part of
// the journal is damaged. Assigning them to the wrong topology would be worse than losing them.
func (s *state) apply(entry journal.Entry) {
	switch e := entry.(type) {
	case *journal.SeriesDefined:
		s.sources.define(e)
	case *journal.LayoutDefined:
		s.sources.layOut(e)
	case *journal.Forgotten:
		s.sources.forget(e)
		for _, id := range e.Producers {
			delete(s.producers, id)
		}
	case *journal.ProducerDefined:
		s.producers[e.ID] = &producer{ProducerDefined: *e, self: source{place: place{e.Host, e.Port}, task: e.Task}}
	case *journal.Connected:
		s.clockMs = e.TimeMs
		s.connected(e)
	case *journal.Disconnected:
		s.clockMs = e.TimeMs
		s.disconnected(e)
	case *journal.Started:
		s.clockMs = e.TimeMs
		s.started()
	case *journal.Batch:
		s.clockMs = e.ReceivedMs
		s.batch(e)
	case *journal.Tick:
		s.clockMs = e.TimeMs
		s.ageClockMs = min(s.clockMs, cmp.Or(s.ageClockMs, s.clockMs)+longestTick)
		s.tick()
	}
}

// longestTick is the most by which one tick advances ageClockMs, in ms. That clock decides how old annotations are. A
// step of the collector's clock into the future must not delete all annotations. The clock therefore lags by the time
// for which the collector was down.
const longestTick = 5_000

// connected records an open stream. If no producer of the run was connected, the run counts as heard from now on, and
// earlier silence does not count against its workers.
func (s *state) connected(e *journal.Connected) {
	if p := s.producers[e.Producer]; p != nil && p.Topology != "" && !p.external() {
		r := s.runOf(p)
		if !r.anyConnected() {
			r.hearingSinceMs = e.TimeMs
		}
		if sender := r.sender(p, s); sender != nil {
			sender.connected = true
		}
	}
}

// disconnected records that a producer's last stream ended, in every run that knows the producer.
func (s *state) disconnected(e *journal.Disconnected) {
	p := s.producers[e.Producer]
	if p == nil || s.topologies[p.Topology] == nil {
		return
	}
	for _, r := range s.topologies[p.Topology].runs {
		if sender := r.senders[e.Producer]; sender != nil {
			sender.connected = false
		}
	}
}

// started records that the collector started, which means that every stream had ended.
func (s *state) started() {
	for _, t := range s.topologies {
		for _, r := range t.runs {
			for _, sender := range r.senders {
				sender.connected = false
			}
		}
	}
}

// batch applies a batch of a producer. Samples come first, since they show which workers report, and the notes describe
// those workers.
func (s *state) batch(b *journal.Batch) {
	p := s.producers[b.Producer]
	if p == nil {
		return
	}
	if p.Topology == "" { // written by Annotate
		s.annotations(b.Notes.GetAnnotations(), "", OfAPI)
		return
	}
	s.clocksOf(b, p.Host)
	if p.external() {
		s.hearClient(p, b.Notes.GetClosing())
		s.annotations(b.Notes.GetAnnotations(), p.Topology, OfStream)
		return
	}
	r := s.runOf(p)
	r.hear(b, p, s)
	for _, seen := range s.sources.seenIn(b) {
		r.saw(seen, b.ReceivedMs, s)
	}
	for _, worker := range b.Notes.GetWorkers() {
		r.describeWorker(worker, b.ReceivedMs, s)
	}
	if topology := b.Notes.GetTopology(); topology != nil {
		s.describe(p, newInfo(topology, s.limits, s.drop))
	}
	s.annotations(b.Notes.GetAnnotations(), p.Topology, OfStream)
}

// annotations adds annotations that producers or clients set. If topology is not "", it replaces the topology in them.
func (s *state) annotations(all []*bulletmetricsv1.Annotation, topology string, origin Origin) {
	for _, one := range all {
		a := Annotation{ID: one.GetId(), Topology: cmp.Or(topology, one.GetTopology()), TimeMs: one.GetTimeMs(),
			EndMs: one.GetEndTimeMs(),
			Title: one.GetTitle(), Text: one.GetText(), Tags: one.GetTags(), Origin: origin}.within(s.limits.TextBytes)
		if a.ID == "" || strings.HasPrefix(a.ID, autoPrefix) {
			a.ID = fmt.Sprintf("%s%d", autoPrefix, s.nextMade)
			s.nextMade++
		}
		s.set.put(a)
	}
	if len(all) > 0 {
		s.bound()
	}
}

// annotate adds an annotation that the registry makes itself. Its id comes from a counter that the checkpoint contains,
// so a replay assigns the same id.
func (s *state) annotate(topology string, timeMs int64, c change) {
	text := strings.Join(c.lines, "\n")
	s.made.put(Annotation{ID: fmt.Sprintf("%s%d", autoPrefix, s.nextMade), Topology: topology, TimeMs: timeMs,
		Title: c.title, Text: text, Tags: c.tags, Origin: OfRegistry}.within(s.limits.TextBytes))
	s.nextMade++
	s.bound()
}

// bound applies the limits to the annotations that somebody set and, separately, to the registry's own. Neither kind
// can displace the other.
func (s *state) bound() {
	before := s.ageClockMs - s.limits.AnnotationAge.Milliseconds()
	s.set.bound(before, s.limits, s.drop)
	s.made.bound(before, s.limits, s.drop)
}

// tick marks silent workers as gone, and writes the annotations of placement changes that have ended.
func (s *state) tick() {
	for _, name := range sortedNames(s.topologies) {
		r := s.topologies[name].current()
		r.leaveSilent(s)
		r.settle(s)
	}
	maps.DeleteFunc(s.clocks, func(_ string, c *clock) bool { return s.clockMs-c.heardMs > clockKnownMs })
	s.bound()
}

func (t *topology) current() *run { return t.runs[len(t.runs)-1] }

// runOf returns the run that a producer belongs to, and begins one if it is new. A new run gets an annotation.
func (s *state) runOf(p *producer) *run {
	if p.run != nil && !p.run.forgotten {
		return p.run
	}
	t := s.topology(p.Topology)
	i := slices.IndexFunc(t.runs, func(r *run) bool { return r.id == p.TopologyID })
	if i < 0 {
		i = s.begin(t, newRun(p.Topology, p.TopologyID, s.clockMs))
	}
	p.run = t.runs[i]
	return p.run
}

// topology returns the topology with a name, and adds it if it is new. At the limit it forgets another one.
func (s *state) topology(name string) *topology {
	if t := s.topologies[name]; t != nil {
		return t
	}
	if len(s.topologies) == s.limits.Topologies {
		s.dropTopology(s.leastMissed())
	}
	t := &topology{name: name}
	s.topologies[name] = t
	return t
}

// leastMissed returns the name of the topology to forget at the limit. It is the one that was heard longest ago of
// those without a connected producer. If all are connected, it is the newest one, so that somebody who invents names
// cannot displace existing topologies.
func (s *state) leastMissed() string {
	return slices.MinFunc(sortedNames(s.topologies), func(a, b string) int {
		one, other := s.topologies[a].current(), s.topologies[b].current()
		switch {
		case one.anyConnected() && other.anyConnected():
			return cmp.Compare(other.hearingSinceMs, one.hearingSinceMs)
		case one.anyConnected():
			return 1
		case other.anyConnected():
			return -1
		}
		return cmp.Compare(one.heardMs, other.heardMs)
	})
}

// dropTopology forgets a topology. Producers whose caches refer to its runs see the forgotten flag and look again.
func (s *state) dropTopology(name string) {
	for _, r := range s.topologies[name].runs {
		r.forgotten = true
	}
	delete(s.topologies, name)
	s.drop("topologies", 1)
}

// begin inserts a run in the order of submission, and returns its index. It forgets the oldest other run if there are
// too many.
func (s *state) begin(t *topology, r *run) int {
	i := len(t.runs)
	for i > 0 && t.runs[i-1].beganMs() > r.beganMs() {
		i--
	}
	if i == len(t.runs) {
		s.annotateSubmission(t, r)
	}
	t.runs = slices.Insert(t.runs, i, r)
	if len(t.runs) > s.limits.Runs {
		// A producer that outlived Limits.Runs submissions keeps its own run. The next oldest is forgotten instead.
		drop := 0
		if i == 0 {
			drop = 1
		}
		t.runs[drop].forgotten = true
		t.runs = slices.Delete(t.runs, drop, drop+1)
		s.drop("runs", 1)
		i = slices.Index(t.runs, r)
	}
	return i
}

// annotateSubmission adds an annotation for a submission. It discards the placement change of the run before, which no
// longer matters.
func (s *state) annotateSubmission(t *topology, r *run) {
	c := change{title: fmt.Sprintf("Topology %s submitted", t.name), tags: []string{"submitted"},
		lines: []string{"+ id " + r.id}}
	if len(t.runs) > 0 {
		before := t.current()
		before.placementChange = nil
		c.title, c.lines = c.title+" again", []string{"- id " + before.id, "+ id " + r.id}
	}
	s.annotate(t.name, r.beganMs(), c)
}

// describe applies a producer's description of its topology. Producers on different machines may see different versions
// of Java. A description is therefore ignored if it equals the producer's previous one, so these differences do not
// look like changes.
func (s *state) describe(p *producer, in *info) {
	r := s.runOf(p)
	sender := r.sender(p, s)
	digest := in.digest()
	if sender == nil || sender.digest == digest {
		return
	}
	sender.digest = digest
	switch {
	case r.info == nil:
		if before := s.infoBefore(r); before != nil {
			s.annotateAll(r.topology, r.beganMs(), diff(before, in))
		}
	case r.info.digest() == digest || r.disputed(p.ID):
		return
	default:
		s.annotateAll(r.topology, s.clockMs, diff(r.info, in))
	}
	r.info, r.source = in, p.ID
}

func (s *state) annotateAll(topology string, timeMs int64, changes []change) {
	for _, c := range changes {
		s.annotate(topology, timeMs, c)
	}
}

// infoBefore returns the newest description of the runs before r. It returns nil if there is none or if r is not the
// newest run; r's first description is then not compared with anything.
func (s *state) infoBefore(r *run) *info {
	runs := s.topologies[r.topology].runs
	if runs[len(runs)-1] != r {
		return nil
	}
	for i := len(runs) - 2; i >= 0; i-- {
		if runs[i].info != nil {
			return runs[i].info
		}
	}
	return nil
}
