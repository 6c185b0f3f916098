package catalog

import (
	"fmt"
	"slices"
	"strings"
)

const documentHead = `# Canonical metrics

Generated from the table in collector-go/internal/catalog (` + "`go test ./internal/catalog -run MetricsPage -update`" + `); a test holds it current.

A sample reaches the store under the name below, whichever version of Storm or Bullet it came from. A gauge's slice is stored as
its mean and, where a slice can hold more than one sample, also as its least and greatest sample under the names in brackets. A
counter is a total that never falls, over restarts of the worker too. A distribution is a native histogram, cumulative; its
negative observations are counted apart under the name in brackets. What is marked (sampled) Storm counts or times on a sample of
the tuples alone (topology.stats.sample.rate, one in twenty unless set) and scales up: it is an estimate unless the rate is 1.0.

A value that makes no sense for its metric is refused and counted under the reason nonsense: whatever is below zero where nothing
can be (a usage of -5.3e7), a size in bytes of more than 2^60, and a count of more than 2^53, beyond which a float does not count by ones.
A limit of -1, or of more than 2^60 bytes, says that there is none: it is not stored, and left out under the reason unlimited.

Anything else numeric keeps its name, sanitised, under ` + "`storm_`" + `, with the labels topology, worker, component and task, and ` + "`key`" + ` for
the path in a map.
`

// metricsDocument is proto/METRICS.md.
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
	b.WriteString("\n## Left out\n\nBeside what the worker's sampler overrules (marked * above) and the longer of two intervals:\n\n")
	b.WriteString("| source | reason | why |\n|---|---|---|\n")
	for _, l := range leftOutSources {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", sourceName(l.name, l.key), l.reason, l.why)
	}
	return b.String()
}

// kindOf marks what Storm estimates.
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
	text := sourceName(s.name, s.key)
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

func sourceName(name, key string) string {
	if key != "" {
		name += " → " + strings.ReplaceAll(key, `\/`, "/")
	}
	return "`" + strings.ReplaceAll(name, "|", `\|`) + "`"
}
