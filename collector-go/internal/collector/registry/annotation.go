package registry

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// Annotation is a mark on the time axis of a topology.
type Annotation struct {
	// ID is chosen by whoever sets the annotation. The registry's own ids begin with "auto-", and those of other
	// collectors' annotations with SharedPrefix.
	ID       string
	Topology string
	// TimeMs is when the annotation begins and EndMs when it ends, in ms since the Unix epoch. EndMs is 0 for a moment
	// and for a step that is still open.
	TimeMs, EndMs int64
	Title, Text   string
	Tags          []string
	// Origin says who set the annotation.
	Origin Origin
}

// Origin says who set an annotation.
type Origin uint8

const (
	// OfRegistry: the registry made the annotation from a change that it saw.
	OfRegistry Origin = iota + 1
	// OfStream: a producer sent the annotation on its stream.
	OfStream
	// OfAPI: a client set the annotation through Annotate.
	OfAPI
	// OfEngine: another collector made the annotation, and it was read from the engine that both collectors write to. A
	// Registry never holds one.
	OfEngine
)

// String returns the origin's name in the HTTP API.
func (o Origin) String() string {
	return [...]string{OfRegistry: "registry", OfStream: "stream", OfAPI: "api", OfEngine: "engine"}[o]
}

// The limits on one annotation, in bytes, except for MaxTags, which is a number of tags.
const (
	MaxIDBytes    = 128
	MaxTitleBytes = 256
	MaxTextBytes  = 16 << 10
	MaxTags       = 16
	MaxTagBytes   = 64

	autoPrefix = "auto-"
	// SharedPrefix begins the ids of other collectors' annotations.
	SharedPrefix = "shared-"
)

// Step is the first tag of a step of an experiment. A step without an end lasts until now.
const Step = "step"

// Kind returns the first tag, such as "step" or "config", or "other" if there are no tags.
func (a *Annotation) Kind() string {
	if len(a.Tags) == 0 {
		return "other"
	}
	return a.Tags[0]
}

// Open reports whether the annotation is a step that has not ended.
func (a *Annotation) Open() bool { return a.EndMs == 0 && a.Kind() == Step }

// lastMs returns the time until which the annotation lasts, in ms since the Unix epoch. For an open step it is the
// largest int64.
func (a *Annotation) lastMs() int64 {
	if a.Open() {
		return math.MaxInt64
	}
	return max(a.TimeMs, a.EndMs)
}

func (a *Annotation) bytes() int {
	n := len(a.ID) + len(a.Topology) + len(a.Title) + len(a.Text)
	for _, tag := range a.Tags {
		n += len(tag)
	}
	return n
}

// compare orders annotations by time, then by topology, then by id. No two annotations of the registry are equal in all
// three.
func compare(a, b *Annotation) int {
	return cmp.Or(cmp.Compare(a.TimeMs, b.TimeMs), strings.Compare(a.Topology, b.Topology), strings.Compare(a.ID, b.ID))
}

type annotationKey struct{ topology, id string }

// annotations holds annotations, sorted by time, within the limits on their number, size and age.
type annotations struct {
	sorted []*Annotation
	byID   map[annotationKey]*Annotation
	bytes  int
	of     map[string]holding // by topology
	at     *journal.Position  // of the current journal entry
	// changed has the journal entry that last set or changed an annotation. Annotations from a checkpoint are not in
	// it.
	changed map[annotationKey]journal.Position
}

// holding is the number and the size in bytes of one topology's annotations.
type holding struct{ pieces, bytes int }

func newAnnotations(at *journal.Position) *annotations {
	return &annotations{byID: map[annotationKey]*Annotation{}, of: map[string]holding{}, at: at,
		changed: map[annotationKey]journal.Position{}}
}

// count adds an annotation's size, and a number of annotations (1 or -1), to the totals and to those of its topology.
func (m *annotations) count(a *Annotation, pieces int) {
	bytes := pieces * a.bytes()
	m.bytes += bytes
	has := m.of[a.Topology]
	if has.pieces, has.bytes = has.pieces+pieces, has.bytes+bytes; has.pieces == 0 {
		delete(m.of, a.Topology)
		return
	}
	m.of[a.Topology] = has
}

// put adds an annotation, or changes the existing one with the same topology and id. Empty fields leave the existing
// values as they are.
func (m *annotations) put(a Annotation) {
	key := annotationKey{a.Topology, a.ID}
	if old := m.byID[key]; old != nil {
		a = old.changed(a)
		m.take(old)
	}
	kept := &a
	i, _ := slices.BinarySearchFunc(m.sorted, kept, compare)
	m.sorted = slices.Insert(m.sorted, i, kept)
	m.byID[key], m.changed[key] = kept, *m.at
	m.count(kept, 1)
}

func (a *Annotation) changed(by Annotation) Annotation {
	now := *a
	now.TimeMs, now.EndMs = cmp.Or(by.TimeMs, a.TimeMs), cmp.Or(by.EndMs, a.EndMs)
	now.Title, now.Text, now.Origin = cmp.Or(by.Title, a.Title), cmp.Or(by.Text, a.Text), by.Origin
	if len(by.Tags) > 0 {
		now.Tags = by.Tags
	}
	return now
}

func (m *annotations) take(a *Annotation) {
	i, found := slices.BinarySearchFunc(m.sorted, a, compare)
	if !found {
		panic("registry: an annotation is not where its time is")
	}
	m.sorted = slices.Delete(m.sorted, i, i+1)
	delete(m.byID, annotationKey{a.Topology, a.ID})
	delete(m.changed, annotationKey{a.Topology, a.ID})
	m.count(a, -1)
}

// bound deletes annotations that ended before a time. If the number or the size in bytes is still over the limit, it
// deletes the oldest annotation of the topology that has most. A topology that sets many annotations thereby loses its
// own and not those of others.
func (m *annotations) bound(before int64, l Limits, dropped func(reason string, n int)) {
	for len(m.sorted) > 0 {
		oldest := m.sorted[0]
		switch {
		case max(oldest.TimeMs, oldest.EndMs) < before:
			dropped("annotation_age", 1)
		case len(m.sorted) > l.Annotations:
			oldest = m.oldestOfMost(func(h holding) int { return h.pieces })
			dropped("annotation_count", 1)
		case m.bytes > l.AnnotationBytes:
			oldest = m.oldestOfMost(func(h holding) int { return h.bytes })
			dropped("annotation_bytes", 1)
		default:
			return
		}
		m.take(oldest)
	}
}

// oldestOfMost returns the oldest annotation of the topology that has most by the given measure. If several have most,
// it takes the first by name.
func (m *annotations) oldestOfMost(by func(holding) int) *Annotation {
	most, held := "", -1
	for topology, has := range m.of {
		if n := by(has); n > held || n == held && topology < most {
			most, held = topology, n
		}
	}
	return m.sorted[slices.IndexFunc(m.sorted, func(a *Annotation) bool { return a.Topology == most })]
}

// within cuts the texts of a producer's annotation to their limits and drops excess tags. The result does not share its
// tags.
func (a Annotation) within(topologyBytes int) Annotation {
	a.ID, a.Topology, a.Title, a.Text = clip(a.ID, MaxIDBytes), clip(a.Topology, topologyBytes),
		clip(a.Title, MaxTitleBytes), clip(a.Text, MaxTextBytes)
	a.Tags = slices.Clone(a.Tags[:min(len(a.Tags), MaxTags)])
	for i, tag := range a.Tags {
		a.Tags[i] = clip(tag, MaxTagBytes)
	}
	return a
}

// problem returns what is wrong with an annotation that a client sets, or "" if it is valid.
func (a Annotation) problem(topologyBytes int) string {
	for _, f := range []struct {
		name, value string
		most        int
	}{{"id", a.ID, MaxIDBytes}, {"topology", a.Topology, topologyBytes}, {"title", a.Title, MaxTitleBytes},
		{"text", a.Text, MaxTextBytes}, {"tags", longest(a.Tags), MaxTagBytes}} {
		switch {
		case len(f.value) > f.most:
			return f.name + " is too long: " + number(float64(len(f.value))) + " bytes, at most " +
				number(float64(f.most))
		case !utf8.ValidString(f.value):
			return f.name + " is not UTF-8"
		}
	}
	switch {
	case a.Topology == "":
		return "topology is missing: name the topology that the annotation belongs to"
	case strings.HasPrefix(a.ID, autoPrefix):
		return "id begins with \"" + autoPrefix + "\", which is reserved for the collector: choose another id"
	case strings.HasPrefix(a.ID, SharedPrefix):
		return "id begins with \"" + SharedPrefix +
			"\": another collector owns that annotation; change it there, with the id that it has there"
	case len(a.Tags) > MaxTags:
		return "there are too many tags; the maximum is " + number(MaxTags)
	case a.EndMs != 0 && a.TimeMs != 0 && a.EndMs < a.TimeMs:
		return "end_time is before time"
	}
	return ""
}

func longest(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return slices.MaxFunc(tags, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
}
