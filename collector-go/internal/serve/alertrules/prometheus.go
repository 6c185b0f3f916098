package alertrules

import (
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

const written = "# Generated from collector-go/internal/serve/alertrules; do not edit. bullet-metrics grafana export writes the same file.\n"

// The oldest versions of Prometheus that accept the rules, with query_offset and without it.
const (
	OffsetSince = "2.53"
	OldestKnown = "2.42" // keep_firing_for
	// Vmalert is the version of VictoriaMetrics' vmalert with which the rules were tested. It loads them without
	// query_offset.
	Vmalert = "1.150"
)

const (
	needsOffset = "# Requires Prometheus " + OffsetSince + " or later, because of query_offset. For older versions and vmalert (tested with " + Vmalert + "): bullet-metrics grafana export --prometheus-version " + OldestKnown + ".\n"
	needsOldest = "# Requires Prometheus " + OldestKnown + " or later, because of keep_firing_for. Without query_offset, rules also read the newest 14 s, which are incomplete.\n"
)

// GroupName is the name of the rule group.
const GroupName = "bullet-metrics"

type ruleGroup struct {
	Name        string `yaml:"name"`
	Interval    string `yaml:"interval"`
	QueryOffset string `yaml:"query_offset,omitempty"`
	Rules       []rule `yaml:"rules"`
}

type rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Keep        string            `yaml:"keep_firing_for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations annotations       `yaml:"annotations,omitempty"`
}

type annotations struct {
	Summary     string `yaml:"summary,omitempty"`
	Description string `yaml:"description,omitempty"`
	RunbookURL  string `yaml:"runbook_url,omitempty"`
}

// PrometheusRules returns the rule file. All rules are in one group, so that an alert sees the series that were
// recorded in the same evaluation. The group is evaluated every interval, for a time that is offset in the past. An
// offset of 0 is omitted, for versions that do not know the field. Alerts link to their runbooks below runbooks, a URL
// that ends with a slash.
func PrometheusRules(interval, offset time.Duration, runbooks string) []byte {
	group := ruleGroup{Name: GroupName, Interval: duration(interval)}
	needs := needsOldest
	if offset > 0 {
		group.QueryOffset, needs = duration(offset), needsOffset
	}
	for _, r := range recordings {
		group.Rules = append(group.Rules, rule{Record: r.Name, Expr: r.Expr})
	}
	for _, a := range alerts {
		r := rule{Alert: a.Name, Expr: a.expr(), For: unlessZero(a.For), Keep: unlessZero(a.Keep),
			Labels: map[string]string{"severity": a.severity(prometheus)}}
		r.Annotations = annotations{a.text(a.Summary, prometheus),
			strings.TrimSpace(a.text(a.Description, prometheus) + a.More),
			a.RunbookURL(runbooks)}
		group.Rules = append(group.Rules, r)
	}
	return marshal(written+needs, map[string]any{"groups": []ruleGroup{group}})
}

func marshal(head string, v any) []byte {
	out, err := yaml.MarshalWithOptions(v, yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(true))
	if err != nil {
		panic(fmt.Sprintf("alert: %v", err)) // cannot happen: YAML can represent all values
	}
	return []byte(head + strings.TrimLeft(string(out), "\n"))
}

// QueryOffsetFor returns the query offset of rules for a version of Prometheus, MAJOR.MINOR. It is 0 if that version
// does not support offsets.
func QueryOffsetFor(prometheus string) (time.Duration, error) {
	version := func(text string) (n int, valid bool) {
		var major, minor, patch int
		fields, _ := fmt.Sscanf(text, "%d.%d.%d", &major, &minor, &patch)
		return 1000*major + minor, fields >= 2 && major >= 0 && minor >= 0 && minor < 1000
	}
	oldest, _ := version(OldestKnown)
	since, _ := version(OffsetSince)
	asked, valid := version(prometheus)
	switch {
	case !valid:
		return 0, fmt.Errorf("%q: use MAJOR.MINOR, for example %s", prometheus, OldestKnown)
	case asked < oldest:
		return 0, fmt.Errorf("%s: the rules need %s or later, because they use keep_firing_for", prometheus, OldestKnown)
	case asked < since:
		return 0, nil
	}
	return QueryOffset, nil
}
