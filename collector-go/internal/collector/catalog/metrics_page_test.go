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

This page is generated from the table in collector-go/internal/collector/catalog (` + "`go test ./internal/collector/catalog -run MetricsPage -update`" + `). A test
keeps it up to date.

The collector stores each metric under one name, whichever version of Storm or Bullet reports it. This page lists the names and their sources.

| kind | stored as |
|---|---|
| gauge | the mean of the samples in a slice; if a slice can hold several samples, also their minimum and maximum, under the names in brackets |
| counter | a total that never falls, even when the worker restarts |
| histogram | a cumulative native histogram; negative observations are counted separately, under the name in brackets |
| (sampled) | an estimate: Storm counts or times only a sample of the tuples (` + "`topology.stats.sample.rate`" + `, 0.05 by default) and scales up; exact if the rate is 1.0 |

## Metrics

In the column *source*, ` + "`→`" + ` separates a metric's name from the key in its map. An asterisk marks sources that are not stored if the worker's sampler
reports. The brackets contain the sender's releases, which are Storm's unless another program is named. *ms* means that the source counts in milliseconds.
`

const documentRules = `
## Other metrics of a topology

All other numeric metrics are stored as the topology's own. The name is the prefix ` + "`storm_`" + ` and the original name, in which an underscore replaces
each character that PromQL does not allow. A counter's name ends in ` + "`_total`" + `. The prefix is ` + "`storm_own_`" + ` if this page has a metric of the same name.
The labels are topology, worker, component and task. The label ` + "`key`" + ` is the path in a map. The label ` + "`name`" + ` is the original name, if PromQL cannot
read its letters.

- **Two metrics with the same resulting name**: the one whose name did not change is stored.
- **A metric with a derived name**: the metric is stored, and no series is derived under that name. Derived names end in ` + "`_min`" + `, ` + "`_max`" + ` and
  ` + "`_negative_total`" + `, and in stores without native histograms also in ` + "`_bucket`" + `, ` + "`_count`" + ` and ` + "`_sum`" + `.

The web page, ` + "`/api/v1/collection`" + ` and ` + "`bullet-metrics doctor`" + ` list the metrics that are not stored.

## Impossible values

The collector refuses values that are impossible for their metric and counts them under the reason ` + "`nonsense`" + `:

- a negative value where none is possible, for example a rate of -5
- a size of more than 2^60 bytes
- a count of more than 2^53, above which a float cannot count in steps of one

A limit below zero or above 2^60 bytes means that there is no limit; a JVM and a cgroup report -1. Storm also computes values from such limits, for
example a usage of -5.3e7. Neither is stored. They are counted as left out, with the reason ` + "`unlimited`" + `. The same applies to a count of -1 from a
garbage collector, which means that the JVM does not count its collections.

## Senders and releases

- **Workers and hosts**: metrics of a worker or its host come only from Storm's component ` + "`__system`" + `.
- **Releases**: a name has the meaning above only in the releases that the column *source* lists. The plugin reports the topology's release. If it is
  unknown, for example in a capture, the collector infers it from the reported metrics.
- **Maps**: if the metrics consumer is registered with ` + "`expandMapType`" + `, a number in a map is named by the map's name, a separator and the key. The
  separator (` + "`metricNameSeparator`" + `) is an underscore or one of ` + "`.-:/|;,#~+=@ >`" + `.
`

const updatesHead = `
## Updates of Storm's gauges

This table is from the source code of Storm 1.0.0 to 2.8.8. A *held* gauge keeps its value until Storm sets it again, however long that takes. A
*sampled* gauge is set only by sampled tuples (` + "`topology.stats.sample.rate`" + `).

| gauge | value | period | held | sampled |
|---|---|---|---|---|
`

const leftOutHead = `
## Redundant metrics

The collector does not store a metric that repeats another one:

- metrics that the worker's sampler reports too (marked * above)
- the one with the longer interval, if a metric is reported at two intervals
- the metrics of the following table

A metric is left out only while the metric that makes it redundant is stored for the same task. For Storm's ` + "`__system`" + `, the same worker is enough.
Otherwise it is stored under its own name. The column *reason* is the label ` + "`reason`" + ` of ` + "`bullet_metrics_feed_samples{fate=\"left_out\"}`" + `.

| source | Storm | redundant with | reason | explanation |
|---|---|---|---|---|
`

// metricsDocument returns the content of proto/METRICS.md.
func metricsDocument() string {
	var b strings.Builder
	b.WriteString(documentHead)
	from := sourcesByMetric()
	b.WriteString("\n| metric | unit | kind | labels | meaning | source |\n|---|---|---|---|---|---|\n")
	for i := range metrics {
		m := &metrics[i]
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", namesOf(m), m.unit(), kindOf(m),
			strings.Join(m.allLabels(), ", "), m.description(), strings.Join(from[m.name], "<br>"))
	}
	b.WriteString(documentRules)
	writeUpdates(&b)
	b.WriteString(leftOutHead)
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
			from[m.name] = []string{"the plugin, with its samples"}
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
		about = append(about, "increase since the last report")
	case byRelease:
		about = append(about, "until 2.2: increase since the last report")
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
	b.WriteString(updatesHead)
	for i := range metrics {
		if u, known := updates[metrics[i].name]; known {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", metrics[i].name, u.Set, cmp.Or(u.Over, "instant"),
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
