package catalog

import (
	"fmt"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

// row is a source, ready for matching.
type row struct {
	*source
	metric    *canonical
	name, key pattern
	fixed     []label
}

type label struct{ name, value string }

// leavingRow is a leaving, ready for matching.
type leavingRow struct {
	*leaving
	name, key pattern
}

// table is the catalogue in the form in which it is asked: rows by their exact name, or else by pattern in the order
// written.
type table struct {
	exact    map[string][]*row
	patterns []*row
}

var (
	byName      = indexMetrics()
	fromSampler = newTable(samplerSources)
	fromHook    = newTable(histogramSources)
	fromStorm   = newTable(stormSources)
	leavingRows = newLeavingRows()
)

func indexMetrics() map[string]*canonical {
	index := make(map[string]*canonical, len(metrics))
	for i := range metrics {
		index[metrics[i].name] = &metrics[i]
	}
	return index
}

func newTable(sources []source) *table {
	t := &table{exact: make(map[string][]*row)}
	for i := range sources {
		s := &sources[i]
		r := &row{source: s, metric: byName[s.to], name: parsePattern(s.name), key: keyPattern(s.key),
			fixed: parseFixed(s.with)}
		if r.metric == nil {
			panic(fmt.Sprintf("catalog: %q goes to %q, which is no metric of the table", s.name, s.to))
		}
		if len(r.name.labels) == 0 {
			t.exact[s.name] = append(t.exact[s.name], r)
		} else {
			t.patterns = append(t.patterns, r)
		}
	}
	return t
}

func newLeavingRows() []leavingRow {
	rows := make([]leavingRow, len(leftOutSources))
	for i := range leftOutSources {
		l := &leftOutSources[i]
		rows[i] = leavingRow{leaving: l, name: parsePattern(l.name), key: keyPattern(l.key)}
	}
	return rows
}

func keyPattern(key string) pattern { return parsePattern(keySlashes.Replace(key)) }

// keySlashes: a slash parts the keys of maps within maps; with a backslash before it, it is part of a key.
var keySlashes = strings.NewReplacer(`\/`, "/", "/", metric.KeySeparator)

func parseFixed(with string) []label {
	var fixed []label
	for _, pair := range strings.Fields(with) {
		name, value, _ := strings.Cut(pair, "=")
		fixed = append(fixed, label{name, value})
	}
	return fixed
}

// find returns the row that a name and key go by, and the labels that they say.
func (t *table) find(name, key string) (*row, []label) {
	for _, r := range t.exact[name] {
		if said, ok := r.match(name, key); ok {
			return r, said
		}
	}
	for _, r := range t.patterns {
		if said, ok := r.match(name, key); ok {
			return r, said
		}
	}
	return nil, nil
}

func (r *row) match(name, key string) ([]label, bool) {
	inName, ok := r.name.match(name)
	if !ok {
		return nil, false
	}
	inKey, ok := r.key.match(key)
	if !ok {
		return nil, false
	}
	said := make([]label, 0, len(r.fixed)+len(inName)+len(inKey))
	said = append(said, r.fixed...)
	for i, value := range inName {
		said = append(said, tidy(r.name.labels[i], value))
	}
	for i, value := range inKey {
		said = append(said, tidy(r.key.labels[i], value))
	}
	return said, true
}

// leftOut states why a name is left out whatever else is there; "" where it is not.
func leftOut(name, key string) string {
	for _, r := range leavingRows {
		if _, ok := r.name.match(name); !ok {
			continue
		}
		if _, ok := r.key.match(key); ok {
			return r.reason
		}
	}
	return ""
}

// tidy gives a label's value the form that it has whichever version said it.
func tidy(name, value string) label {
	switch name {
	case "collector":
		value = collectorName(value)
	case "peer":
		value = peerName(value)
	}
	return label{name, strings.ReplaceAll(value, metric.KeySeparator, "/")}
}

// peerName is "host:port": java.net.InetSocketAddress prints one without a host name as "/127.0.0.1:6700". Storm until
// 2.2 names the other end of a connection by its supervisor, as "NodeInfo(node:ID, port:[6700])": that is "ID:6700".
func peerName(value string) string {
	value = strings.TrimPrefix(value, "/")
	if found, ok := nodeInfo.match(value); ok {
		return found[0] + ":" + found[1]
	}
	return value
}

var nodeInfo = parsePattern("NodeInfo(node:{node}, port:[{port}])")

// squeezed are the JVM's collectors whose names Storm 1.0 to 2.1 robs of their spaces.
var squeezed = map[string]string{
	"G1YoungGeneration": "G1 Young Generation",
	"G1OldGeneration":   "G1 Old Generation",
	"G1ConcurrentGC":    "G1 Concurrent GC",
	"PSScavenge":        "PS Scavenge",
	"PSMarkSweep":       "PS MarkSweep",
	"ZGCCycles":         "ZGC Cycles",
	"ZGCPauses":         "ZGC Pauses",
	"ShenandoahCycles":  "Shenandoah Cycles",
	"ShenandoahPauses":  "Shenandoah Pauses",
}

// collectorName is the JVM's own name of a collector: Storm from 2.2 on writes its spaces as hyphens.
func collectorName(name string) string {
	if whole, ok := squeezed[name]; ok {
		return whole
	}
	return strings.ReplaceAll(name, "-", " ")
}
