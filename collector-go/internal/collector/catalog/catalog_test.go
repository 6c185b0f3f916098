package catalog

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// TestNames compares the table with testdata/names.txt, which has one line for each name:
//
//	name [> key]... (shape, component, task, interval s)  =>  series  kind, temporality, source units in one
func TestNames(t *testing.T) {
	const file = "testdata/names.txt"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		said, _, _ := strings.Cut(line, "  =>  ")
		if strings.HasPrefix(said, "#") || said == "" {
			lines = append(lines, line)
			continue
		}
		lines = append(lines, said+"  =>  "+explain(t, said))
	}
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	require.Equal(t, string(text), got)
}

var worker = metric.Worker{Topology: "bullet", Host: "h", Port: 6700}

// parseRaw parses a text such as "GC.G1-Young-Generation.time (number, __system, -1, 60)".
func parseRaw(t *testing.T, text string) metric.Raw {
	at := strings.LastIndex(text, " (")
	require.Positive(t, at, "%q has no (shape, component, task, interval)", text)
	path := strings.Split(text[:at], " > ")
	raw := metric.Raw{Worker: worker, Name: path[0], Key: strings.Join(path[1:], metric.KeySeparator)}
	var shape string
	about := strings.ReplaceAll(strings.Trim(text[at+2:], ")"), ",", "")
	_, err := fmt.Sscan(about, &shape, &raw.Component, &raw.Task, &raw.IntervalMs)
	require.NoError(t, err, text)
	raw.IntervalMs *= 1000
	shape, said, _ := strings.Cut(shape, ":")
	raw.Shape = map[string]metric.Shape{"number": metric.ShapeNumber, "map": metric.ShapeMap,
		"sampler": metric.ShapeSampler, "histogram": metric.ShapeHistogram}[shape]
	raw.Temporality = map[string]metric.Temporality{"": 0, "gauge": metric.Gauge, "delta": metric.Delta,
		"cumulative": metric.Cumulative}[said]
	require.NotZero(t, raw.Shape, text)
	return raw
}

// explain returns what the table gives for the name in a line, in a topology of the line's release.
func explain(t *testing.T, said string) string {
	said, storm, _ := strings.Cut(said, " on Storm ")
	raw := parseRaw(t, said)
	k := newKnown()
	k.storm = storm
	how := reading{storm: k.releases(), system: raw.Component == systemComponent, source: k.source(&raw)}
	m := look(&raw, how)
	s := newTemplates()
	r := m.ruleFor(&raw, s.labelsOf(m, &raw))
	text := fmt.Sprintf("%s  %s, %s", shortSeries(r.Series.Labels), r.Series.Kind,
		[]string{"?", "gauge", "delta", "cumulative"}[r.Temporality])
	if r.PerUnit != 1 {
		text += fmt.Sprintf(", /%v", r.PerUnit)
	}
	if m.unknown {
		text += ", unknown"
	}
	for _, y := range m.yields {
		text += fmt.Sprintf(", %s beside %s", y.reason, y.to)
	}
	return text
}

// shortSeries returns a series without its topology, and without its worker if that is the test's.
func shortSeries(ls labels.Labels) string {
	var parts []string
	ls.Range(func(l labels.Label) {
		if l.Name == model.MetricNameLabel || l.Name == "topology" || l.Name == "worker" && l.Value == worker.String() {
			return
		}
		parts = append(parts, l.Name+"="+l.Value)
	})
	return ls.Get(model.MetricNameLabel) + "{" + strings.Join(parts, ",") + "}"
}

// TestTableIsSound checks that every row refers to a metric with the labels of the row, and that every metric has a
// source.
func TestTableIsSound(t *testing.T) {
	from := sourcesByMetric()
	names := make(map[string]bool)
	for i := range metrics {
		m := &metrics[i]
		assert.False(t, names[m.name], "%s is there twice", m.name)
		names[m.name] = true
		assert.NotEmpty(t, from[m.name], "%s comes from nowhere", m.name)
		assert.False(t, strings.HasSuffix(m.help, "."), "%s: the full stop is added", m.name)
		assert.Equal(t, m.kind == metric.KindCounter, strings.HasSuffix(m.name, "_total"),
			"%s: counters end in _total, others do not", m.name)
	}
	for _, tab := range []*table{fromSampler, fromHook, fromStorm} {
		for _, r := range tab.rows() {
			for _, name := range slices.Concat(r.name.labels, r.key.labels, labelNames(r.fixed)) {
				assert.Contains(t, r.metric.allLabels(), tidy(name, "").name, "%s: label of %s", r.source.name, r.metric.name)
			}
			assert.Positive(t, r.perUnit, r.source.name)
			if r.temporality != metric.TemporalityUnknown {
				assert.Equal(t, r.metric.kind == metric.KindGauge, r.temporality == metric.Gauge,
					"%s: only gauges stand for themselves", r.source.name)
			}
		}
	}
}

func (t *table) rows() (all []*row) {
	for _, rows := range t.exact {
		all = append(all, rows...)
	}
	return append(all, t.patterns...)
}

func labelNames(all []label) (names []string) {
	for _, l := range all {
		names = append(names, l.name)
	}
	return names
}

// TestSampledMetricsAreMarked checks that the help of an estimate says that it is one, wherever the help is shown.
func TestSampledMetricsAreMarked(t *testing.T) {
	all := Metadata()
	for _, name := range []string{"storm_emitted_total", "storm_execute_latency_seconds", "storm_capacity_ratio"} {
		assert.Contains(t, all[name].Help, "[sampled: ", name)
	}
	assert.NotContains(t, all["bullet_created_queries_total"].Help, "sampled")
}

func TestMetadata(t *testing.T) {
	all := Metadata()
	for name, d := range all {
		assert.NotEmpty(t, d.Help, name)
		assert.True(t, strings.HasSuffix(d.Help, "."), name)
	}
	assert.Equal(t, Description{Type: "gauge", Unit: "bytes", Help: "Heap in use.",
		Labels: []string{"topology", "worker"}}, all["bullet_worker_heap_used_bytes"])
	assert.Equal(t, "bytes", all["bullet_worker_heap_used_max_bytes"].Unit)
	assert.Equal(t, "seconds", all["bullet_worker_gc_seconds_total"].Unit)
	assert.Equal(t, "histogram", all["bullet_filter_latency_seconds"].Type)
	assert.Equal(t, []string{"topology", "worker", "component", "task", "class"},
		all["bullet_query_latency_seconds"].Labels)
	assert.Equal(t, "counter", all["bullet_filter_latency_negative_total"].Type)
	assert.Equal(t, "", all["bullet_active_queries"].Unit)
}
