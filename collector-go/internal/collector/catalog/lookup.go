package catalog

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// row is a source with its patterns parsed, ready for matching.
type row struct {
	*source
	metric    *canonical
	name, key pattern
	fixed     []label
	releases  releases // releases of Storm that report it
}

// label is a label that a row implies, or that a placeholder of its patterns matched.
type label struct{ name, value string }

// leavingRow is a leaving with its patterns parsed, ready for matching.
type leavingRow struct {
	*leaving
	name, key pattern
	releases  releases
}

// table is the catalog in the form for lookups. A name is first looked up exactly, which suffices for most names. It is
// then compared with the patterns in the order in which they are written. The first row that matches and holds wins.
type table struct {
	exact    map[string][]*row
	patterns []*row
	maps     []*row // the rows of both that have a key, because they are reported in a map
}

var (
	byName      = indexMetrics()
	fromSampler = newTable(samplerSources)
	fromHook    = newTable(histogramSources)
	fromStorm   = newTable(stormSources)
	leavingRows = newLeavingRows()
	// redundantTo are the names in leaving.beside: Storm's names of maps and numbers, and names of ours.
	redundantTo = besides()
)

func besides() map[string]bool {
	all := map[string]bool{}
	for i := range leftOutSources {
		all[leftOutSources[i].beside] = true
	}
	return all
}

func indexMetrics() map[string]*canonical {
	index := make(map[string]*canonical, len(metrics))
	for i := range metrics {
		index[metrics[i].name] = &metrics[i]
	}
	return index
}

// newTable prepares rows for matching, and fills in what they leave out (see source). It runs when the program starts.
// A row that refers to an unknown metric is a mistake in this package, so it panics.
func newTable(sources []source) *table {
	t := &table{exact: make(map[string][]*row)}
	for i := range sources {
		s := &sources[i]
		r := &row{source: s, metric: byName[s.to], name: parsePattern(s.name), key: keyPattern(s.key),
			fixed: parseFixed(s.with), releases: releasesOf(s.versions)}
		if r.metric == nil {
			panic(fmt.Sprintf("catalog: %q maps to %q, which is not in the table", s.name, s.to))
		}
		s.perUnit = cmp.Or(s.perUnit, one)
		if r.metric.kind == gauge {
			s.temporality = instant
		}
		if len(r.name.labels) == 0 {
			t.exact[s.name] = append(t.exact[s.name], r)
		} else {
			t.patterns = append(t.patterns, r)
		}
		if s.key != "" {
			t.maps = append(t.maps, r)
		}
	}
	return t
}

func newLeavingRows() []leavingRow {
	rows := make([]leavingRow, len(leftOutSources))
	for i := range leftOutSources {
		l := &leftOutSources[i]
		rows[i] = leavingRow{leaving: l, name: parsePattern(l.name), key: keyPattern(l.key),
			releases: releasesOf(l.versions)}
	}
	return rows
}

func keyPattern(key string) pattern { return parsePattern(keySlashes.Replace(key)) }

// keySlashes replaces the separators in keys. A slash separates the keys of nested maps; `\/` is a slash in a key.
var keySlashes = strings.NewReplacer(`\/`, "/", "/", metric.KeySeparator)

func parseFixed(with string) []label {
	var fixed []label
	for _, pair := range strings.Fields(with) {
		name, value, _ := strings.Cut(pair, "=")
		fixed = append(fixed, label{name, value})
	}
	return fixed
}

// find returns the row for a series, and the labels that its name and key contain. It returns nil if the table has no
// row.
func (t *table) find(raw *metric.Raw, how reading) (*row, []label) {
	for _, rows := range [][]*row{t.exact[raw.Name], t.patterns} {
		for _, r := range rows {
			if said, ok := r.match(raw.Name, raw.Key, how); ok && r.holds(raw, how) {
				return r, said
			}
		}
	}
	if raw.Shape != metric.ShapeNumber && raw.Shape != metric.ShapeMap {
		return nil, nil
	}
	for _, r := range t.maps {
		if said, ok := r.matchExpanded(raw, how); ok && r.holds(raw, how) {
			return r, said
		}
	}
	return nil, nil
}

// holds reports whether a row applies to the sender of a series. A metric of a worker must come from Storm's own
// component. A name has the row's meaning only in the row's releases of Storm. If the sender states a temporality, it
// must be the row's.
//
// In all other cases somebody else uses the same name. Treating it as Storm's would mix two different values.
func (r *row) holds(raw *metric.Raw, how reading) bool {
	if raw.Shape == metric.ShapeSampler || raw.Shape == metric.ShapeHistogram {
		return true
	}
	ofWorkers := r.metric.scope == ofWorker || r.metric.scope == ofHost
	said := raw.Temporality
	switch {
	case ofWorkers && !how.system, !r.releases.meets(how.storm), r.key.plain() && raw.Shape == metric.ShapeMap &&
		raw.Name == r.source.name:
		return false
	case said == metric.TemporalityUnknown || r.temporality == asSaid:
		return true
	case r.temporality == byRelease:
		return said != metric.Gauge
	}
	return said == r.temporality
}

// match compares a name and a key with the row's patterns, and returns the labels of the series. It considers only the
// text. holds decides whether the row applies to the sender.
func (r *row) match(name, key string, how reading) ([]label, bool) {
	inName, ok := r.name.match(name)
	if !ok {
		return nil, false
	}
	inKey, ok := r.key.match(key)
	if !ok {
		return nil, false
	}
	return r.said(inName, inKey, how)
}

// matchExpanded matches an entry of a map if the consumer is registered with expandMapType. Storm then sends each entry
// of a map as a separate data point. Its name is the map's name, a separator and the key.
func (r *row) matchExpanded(raw *metric.Raw, how reading) ([]label, bool) {
	if len(r.key.labels) == 0 {
		name, found := strings.CutSuffix(raw.Name, r.key.literals[0])
		if r.source.key == "" || !found || raw.Key != "" {
			return nil, false
		}
		if base := strings.TrimSuffix(name, "_"); base != name {
			name = base
		} else if name = strings.TrimRight(name, separators); len(name)+len(r.key.literals[0]) == len(raw.Name) {
			return nil, false
		}
		inName, ok := r.name.match(name)
		if !ok {
			return nil, false
		}
		return r.said(inName, nil, how)
	}
	if len(r.name.labels) > 0 {
		return nil, false
	}
	rest, found := strings.CutPrefix(raw.Name, r.source.name)
	key, parted := cutSeparator(rest)
	if !found || !parted || rest[0] == '_' && !r.partsByUnderscore() {
		return nil, false
	}
	if raw.Key != "" {
		key += metric.KeySeparator + raw.Key
	}
	inKey, ok := r.key.match(key)
	if !ok {
		return nil, false
	}
	return r.said(nil, inKey, how)
}

// partsByUnderscore reports whether an underscore may separate the row's name from a key. For other rows the key could
// also be the rest of a longer name that somebody else uses.
func (r *row) partsByUnderscore() bool {
	return strings.HasPrefix(r.source.name, "__") || strings.Join(r.key.literals, "") != ""
}

// said combines the labels of a row with the texts that its placeholders matched. It returns false if a text is not a
// valid value of its label.
func (r *row) said(inName, inKey []string, how reading) ([]label, bool) {
	said := make([]label, 0, len(r.fixed)+len(inName)+len(inKey))
	said = append(said, r.fixed...)
	for i, value := range inName {
		said = append(said, label{r.name.labels[i], value})
	}
	for i, value := range inKey {
		said = append(said, label{r.key.labels[i], value})
	}
	source := -1
	for i, l := range said {
		if l.name == cycles && !metric.IsConcurrentGC(l.value) {
			return nil, false
		}
		if values := closed[l.name]; values != "" && !strings.Contains(values, " "+l.value+" ") && i >= len(r.fixed) {
			return nil, false
		}
		if l.name == "source" {
			source = i
		}
	}
	if source >= 0 && how.source == noSource {
		return nil, false
	}
	if source >= 0 && how.source > 0 {
		partAt(&said[source].value, &said[source+1].value, how.source)
	}
	for i := len(r.fixed); i < len(said); i++ {
		said[i] = tidy(said[i].name, said[i].value)
	}
	return said, true
}

// partAt splits source and stream at another colon than the first, for components whose names contain colons.
func partAt(source, stream *string, colon int) {
	text := *source + ":" + *stream
	at := -1
	for range colon + 1 {
		next := strings.IndexByte(text[at+1:], ':')
		if next < 0 {
			return
		}
		at += next + 1
	}
	*source, *stream = text[:at], text[at+1:]
}

// closed lists the labels that have a fixed set of values in Storm. A name with any other value is a user's own.
var closed = map[string]string{
	"area":  " non-heap total ",
	"state": " new runnable blocked waiting timed_waiting terminated ",
}

// leftOut returns the metrics to which a name yields, or nil if it yields to none.
func leftOut(raw *metric.Raw, how reading) (yields []yield) {
	for i := range leavingRows {
		r := &leavingRows[i]
		inName, ok := r.name.match(raw.Name)
		if !ok || !r.releases.meets(how.storm) || r.system && !how.system {
			continue
		}
		if _, ok := r.key.match(raw.Key); !ok {
			continue
		}
		to := r.beside
		if len(inName) == 1 {
			to = strings.ReplaceAll(to, "{"+r.name.labels[0]+"}", inName[0])
		}
		of := ofTask
		if r.system {
			of = ofWorker
		}
		yields = append(yields, yield{to: to, of: of, reason: r.reason})
	}
	return yields
}

// tidy normalises a label value, so that a series keeps its labels when Storm is upgraded.
func tidy(name, value string) label {
	switch name {
	case "collector", cycles:
		name, value = "collector", collectorName(value)
	case "peer":
		value = peerName(value)
	}
	return label{name, strings.ReplaceAll(value, metric.KeySeparator, "/")}
}

// peerName returns the other end of a connection as "host:port", whatever format a release prints.
// java.net.InetSocketAddress prints "host/address:port", or "/address:port" without a host name. Storm until 2.2 prints
// "NodeInfo(node:ID, port:[6700])" and Storm 1.x ["ID" 6700], where ID is that of the supervisor.
func peerName(value string) string {
	for _, form := range supervisors {
		if found, ok := form.match(value); ok {
			return found[0] + ":" + found[1]
		}
	}
	host, address, both := strings.Cut(value, "/")
	if !both {
		return value
	}
	port := strings.LastIndexByte(address, ':')
	if host == "" || port < 0 {
		return address
	}
	return host + address[port:]
}

var supervisors = []pattern{parsePattern("NodeInfo(node:{node}, port:[{port}])"), parsePattern(`["{node}" {port}]`)}

// squeezed maps names of the JVM's collectors without spaces, as Storm 1.0 to 2.1 reports them, to the full names.
var squeezed = squeeze("G1 Young Generation", "G1 Old Generation", "G1 Concurrent GC", "PS Scavenge", "PS MarkSweep",
	"Copy", "MarkSweepCompact", "ParNew", "ConcurrentMarkSweep", "ZGC", "ZGC Cycles", "ZGC Pauses",
	"ZGC Minor Cycles", "ZGC Minor Pauses", "ZGC Major Cycles", "ZGC Major Pauses", "Shenandoah Cycles",
	"Shenandoah Pauses", "Epsilon Heap", "GPGC New", "GPGC Old", "GPGC Pauses", "partial gc", "global garbage collect")

func squeeze(names ...string) map[string]string {
	by := map[string]string{}
	for _, name := range names {
		by[strings.ReplaceAll(name, " ", "")] = name
	}
	return by
}

// families are prefixes of collector names in which each further word begins with a capital letter.
var families = []string{"ZGC", "G1", "Shenandoah", "GPGC", "Epsilon"}

// collectorName returns the JVM's own name of a collector. Storm until 2.1 removes its spaces, and from 2.2 on replaces
// them by hyphens.
func collectorName(name string) string {
	if full, ok := squeezed[name]; ok {
		return full
	}
	for _, family := range families {
		if rest, found := strings.CutPrefix(name, family); found && rest != "" && !strings.ContainsAny(rest, " -") {
			return family + words(rest)
		}
	}
	return strings.ReplaceAll(name, "-", " ")
}

// words inserts a space before each word. A word begins at a capital letter next to a small one.
func words(text string) string {
	var b strings.Builder
	for i := range len(text) {
		small := func(at int) bool { return at >= 0 && at < len(text) && text[at] >= 'a' && text[at] <= 'z' }
		if capital := text[i] >= 'A' && text[i] <= 'Z'; i == 0 || capital && (small(i-1) || small(i+1)) {
			b.WriteByte(' ')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// cycles is the placeholder for a collector that reports the time of concurrent cycles.
const cycles = "cycles"

// pattern is a name with placeholders: "{label}" matches any text that is not empty. A placeholder matches the shortest
// text that lets the rest match; the last one matches all that is left. It is simpler than a regular expression and
// much faster. That matters because every new name is compared with all patterns.
type pattern struct {
	literals []string // one more than labels
	labels   []string
}

func parsePattern(text string) pattern {
	var p pattern
	for {
		before, rest, found := strings.Cut(text, "{")
		p.literals = append(p.literals, before)
		if !found {
			return p
		}
		label, after, _ := strings.Cut(rest, "}")
		p.labels = append(p.labels, label)
		text = after
	}
}

// match returns the texts that the placeholders matched, in the order of the pattern. It returns false if the text does
// not match. The results are substrings of the text, not copies.
func (p pattern) match(text string) ([]string, bool) {
	if len(p.labels) == 0 {
		return nil, text == p.literals[0]
	}
	text, ok := strings.CutPrefix(text, p.literals[0])
	if !ok {
		return nil, false
	}
	last := len(p.labels) - 1
	text, ok = strings.CutSuffix(text, p.literals[last+1])
	if !ok {
		return nil, false
	}
	values := make([]string, 0, len(p.labels))
	for _, literal := range p.literals[1 : last+1] {
		at := strings.Index(text, literal)
		if at <= 0 {
			return nil, false
		}
		values = append(values, text[:at])
		text = text[at+len(literal):]
	}
	return append(values, text), text != ""
}

// plain reports whether a pattern matches only the empty text. A row with a plain key is for a number, not for a map.
func (p pattern) plain() bool { return len(p.labels) == 0 && p.literals[0] == "" }
