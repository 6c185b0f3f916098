package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

const documentHead = `# Canonical metrics

Generated from the table in collector-go/internal/collector/catalog (` + "`go test ./internal/collector/catalog -run MetricsPage -update`" + `); a test holds it current.

A sample reaches the store under the name below, whichever version of Storm or Bullet it came from. A gauge's slice is stored as
its mean and, where a slice can hold more than one sample, also as its least and greatest sample under the names in brackets. A
counter is a total that never falls, over restarts of the worker too. A distribution is a native histogram, cumulative; its
negative observations are counted apart under the name in brackets. What is marked (sampled) Storm counts or times on a sample of
the tuples alone (topology.stats.sample.rate, one in twenty unless set) and scales up: it is an estimate unless the rate is 1.0.

A value that makes no sense for its metric is refused and counted under the reason nonsense: whatever is below zero where nothing
can be (a rate of -5), a size in bytes of more than 2^60, and a count of more than 2^53, beyond which a float does not count by ones.
A limit below zero, or of more than 2^60 bytes, says that there is none (a JVM and a cgroup say -1), and so does what Storm computes from such
a limit (a usage of -5.3e7): it is not stored, and left out under the reason unlimited. So is a count of a JVM's collector of -1, which is undefined.

Who sends a metric decides what it is. The figures of a worker or its host are those of Storm's component ` + "`__system`" + ` alone, a name means what is said
below in the releases of Storm that stand behind it alone, and a topology's release is the one that its plugin states; where none is stated, as in a capture,
it is guessed from what is reported. Where the consumer is registered with expandMapType, a map's numbers are known under its name, a separator
(metricNameSeparator: an underscore, or any of ` + "`.-:/|;,#~+=@ >`" + `) and the key.

Anything else numeric is the topology's own. It keeps its name, sanitised, under ` + "`storm_`" + `, or under ` + "`storm_own_`" + ` where that is a name below, with the labels
topology, worker, component and task, ` + "`key`" + ` for the path in a map, and ` + "`name`" + ` where the name has letters that PromQL does not read. Where two such names become one, the
one that is the same here is stored. Where one is a name that is made from another (` + "`_min`" + `, ` + "`_max`" + `, ` + "`_negative_total`" + `, and the ` + "`_bucket`" + `, ` + "`_count`" + ` and ` + "`_sum`" + ` of stores without
native histograms), it is stored, and nothing is made under that name. What is not stored is listed by name: on the page, in ` + "`/api/v1/collection`" + ` and by doctor.
`

// metricsDocument returns the content of proto/METRICS.md.
func metricsDocument() string {
	var b strings.Builder
	b.WriteString(documentHead)
	from := sourcesByMetric()
	b.WriteString("\n| metric | unit | kind | labels | what it is | source |\n|---|---|---|---|---|---|\n")
	for i := range metrics {
		m := &metrics[i]
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", namesOf(m), m.unit(), kindOf(m),
			strings.Join(m.allLabels(), ", "), m.description(), strings.Join(from[m.name], "<br>"))
	}
	writeUpdates(&b)
	b.WriteString("\n## Left out\n\nBeside what the worker's sampler overrules (marked * above) and the longer of two intervals, each only where what makes it redundant is stored, of the same task (of the same worker for Storm's `__system`); alone, it is stored under its own name:\n\n")
	b.WriteString("| source | of Storm | beside | reason | why |\n|---|---|---|---|---|\n")
	for _, l := range leftOutSources {
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s | %s |\n", nameInTable(l.name, l.key), l.versions, l.beside, l.reason, l.why)
	}
	return b.String()
}

// kindOf returns the kind of a metric, and marks Storm's estimates.
func kindOf(m *canonical) string {
	if m.is(sampled) {
		return m.kind.String() + " (sampled)"
	}
	return m.kind.String()
}

func namesOf(m *canonical) string {
	names := "`" + m.name + "`"
	if least, greatest := m.spread(); least != "" {
		names += fmt.Sprintf("<br>(`%s`, `%s`)", least, greatest)
	}
	if negative := m.negative(); negative != "" {
		names += fmt.Sprintf("<br>(`%s`)", negative)
	}
	return names
}

func sourcesByMetric() map[string][]string {
	from := make(map[string][]string, len(metrics))
	for i := range metrics {
		switch m := &metrics[i]; {
		case m.is(byPlugin):
			from[m.name] = []string{"the plugin, beside its samples"}
		case m.is(bySlicer):
			from[m.name] = []string{"the collector's slicer"}
		}
	}
	for _, s := range slices.Concat(samplerSources, histogramSources, stormSources) {
		from[s.to] = append(from[s.to], describeSource(&s))
	}
	return from
}

func describeSource(s *source) string {
	text := nameInTable(s.name, s.key)
	if s.when == unlessSampler {
		text += "*"
	}
	about := []string{s.versions}
	switch s.temporality {
	case delta:
		about = append(about, "added since the last report")
	case byRelease:
		about = append(about, "until 2.2 added since the last report")
	}
	if s.perUnit == ms {
		about = append(about, "ms")
	}
	return fmt.Sprintf("%s (%s)", text, strings.Join(about, "; "))
}

func nameInTable(name, key string) string {
	if key != "" {
		name += " → " + strings.ReplaceAll(key, `\/`, "/")
	}
	return "`" + strings.ReplaceAll(name, "|", `\|`) + "`"
}

// writeUpdates writes how each of Storm's gauges gets its value.
func writeUpdates(b *strings.Builder) {
	b.WriteString("\n## How Storm updates its gauges\n\nRead from the source of Storm 1.0.0 to 2.8.8. A gauge that is held keeps its value until it is set again, " +
		"however long that takes: it says nothing of what came after that. One that is sampled is set by sampled tuples alone (topology.stats.sample.rate).\n\n")
	b.WriteString("| gauge | set | over | held | sampled |\n|---|---|---|---|---|\n")
	for i := range metrics {
		if u, known := updates[metrics[i].name]; known {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", metrics[i].name, u.Set, cmp.Or(u.Over, "the moment"),
				yes(u.Held), yes(u.Sampled))
		}
	}
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// TestEachOfStormsGaugesSaysHowItIsUpdated checks that exactly Storm's gauges describe how they are updated.
func TestEachOfStormsGaugesSaysHowItIsUpdated(t *testing.T) {
	for i := range metrics {
		m := &metrics[i]
		foreign := m.kind == metric.KindGauge && strings.HasPrefix(m.name, "storm_") ||
			m.name == "bullet_source_partition_lag_records"
		u, known := updates[m.name]
		assert.Equal(t, foreign, known, m.name)
		assert.Equal(t, m.is(sampled) && foreign, u.Sampled, m.name)
	}
	for name := range updates {
		assert.NotNil(t, byName[name], name)
	}
}
