// Package dashboardtest judges dashboards: the rules of Grafana's dashboard-linter that make sense here, and our own.
// It reads the JSON as Grafana does, so that it judges files that somebody edited as well as those that this program
// writes.
package dashboardtest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a dashboard.
type Problem struct {
	File, Panel, Field, Message string
}

// String is "latency.json: panel "p99 now": fieldConfig.defaults.unit: is missing".
func (p Problem) String() string {
	if p.Panel == "" {
		return fmt.Sprintf("%s: %s: %s", p.File, p.Field, p.Message)
	}
	return fmt.Sprintf("%s: panel %q: %s: %s", p.File, p.Panel, p.Field, p.Message)
}

// Metric is what is known of a metric that an expression may name.
type Metric struct {
	Type   string // gauge, counter or histogram
	Unit   string // the end of its name, "" for a plain number
	Labels []string
}

// Lint judges a dashboard's file against the metrics that there are.
func Lint(file string, content []byte, metrics map[string]Metric) []Problem {
	l := &linter{file: filepath.Base(file), metrics: metrics}
	var d Dashboard
	if err := json.Unmarshal(content, &d); err != nil {
		l.problem("", "json", "is not a dashboard: %v", err)
		return l.problems
	}
	l.head(content, d)
	l.variables(d)
	l.annotations(d)
	l.panels(d)
	return l.problems
}

type linter struct {
	file     string
	metrics  map[string]Metric
	problems []Problem
}

func (l *linter) problem(panel, field, message string, args ...any) {
	l.problems = append(l.problems, Problem{l.file, panel, field, fmt.Sprintf(message, args...)})
}

// want notes a problem unless something holds.
func (l *linter) want(holds bool, panel, field, message string, args ...any) {
	if !holds {
		l.problem(panel, field, message, args...)
	}
}

// oldestSchema is that of Grafana 11.
const oldestSchema = 39

func (l *linter) head(content []byte, d Dashboard) {
	var raw map[string]json.RawMessage
	_ = json.Unmarshal(content, &raw) // it was read before
	for _, exported := range []string{"__inputs", "__elements", "__requires"} {
		l.want(raw[exported] == nil, "", exported,
			"is what an export for sharing has; take the dashboard's own JSON model")
	}
	l.want(raw["elements"] == nil && raw["spec"] == nil, "", "elements",
		"is schema v2; keep schema v1, which Grafana 11 reads too")
	l.want(!strings.Contains(string(content), "DS_PROMETHEUS"), "", "datasource",
		"names DS_PROMETHEUS; use ${datasource}")
	id, has := raw["id"]
	l.want(has && string(id) == "null", "", "id", "must be null: the uid is the dashboard's name")
	want := "bullet-" + strings.TrimSuffix(l.file, ".json")
	l.want(d.UID == want, "", "uid", "is %q; of this file it is %q", d.UID, want)
	l.want(d.Title != "", "", "title", "is missing")
	l.want(d.Description != "", "", "description", "is missing")
	l.want(d.SchemaVersion >= oldestSchema, "", "schemaVersion", "is %d; %d and newer need no migration",
		d.SchemaVersion, oldestSchema)
	l.want(!d.Editable, "", "editable", "must be false: a provisioned dashboard's file is what is edited")
	l.want(d.GraphTooltip == 1, "", "graphTooltip", "is %d; 1 is the shared crosshair", d.GraphTooltip)
	l.want(slices.Contains(d.Tags, "bullet-metrics"), "", "tags",
		"have no bullet-metrics: the links at the head go by it")
	l.want(d.Refresh != "", "", "refresh", "is missing: a live page renews itself")
}

func (l *linter) variables(d Dashboard) {
	found := map[string]bool{}
	for _, v := range d.Templating.List {
		found[v.Name] = true
		field := "templating." + v.Name
		l.want(v.Label != "" && v.Description != "", "", field, "has no label or no description")
		switch v.Type {
		case "datasource":
			l.want(v.Query.Text == "prometheus", "", field, "is not of type prometheus")
		case "query":
			l.want(v.Datasource.UID == "${datasource}", "", field, "asks %q; use ${datasource}", v.Datasource.UID)
			l.want(v.Refresh == 2, "", field,
				"is not renewed when the time range changes (refresh 2): what left would be offered, and what came would not")
			l.want(v.Current == nil || v.IncludeAll, "", field, "has a choice of somebody's own in current")
			l.labelValues(field, v.Query.Text)
		}
	}
	l.want(found["datasource"], "", "templating", "has no variable datasource of type datasource")
}

var labelValues = regexp.MustCompile(`^label_values\((.+), ([a-z_]+)\)$`)

func (l *linter) labelValues(field, query string) {
	m := labelValues.FindStringSubmatch(query)
	if m == nil {
		l.problem("", field, "is %q; it must be label_values(SELECTOR, LABEL)", query)
		return
	}
	l.expression("", field, m[1], options{})
}

// Every dashboard shows steps and changes.
func (l *linter) annotations(d Dashboard) {
	var steps, changes bool
	for _, a := range d.Annotations.List {
		if a.BuiltIn == 1 {
			continue
		}
		field := "annotations." + a.Name
		l.want(a.Datasource.UID == "${datasource}", "", field, "asks %q; use ${datasource}", a.Datasource.UID)
		l.want(a.Expr == a.Target.Expr, "", field,
			"asks one thing in target and another in expr, by which Grafana before 12 goes")
		l.expression("", field, a.Expr, options{})
		steps = steps || strings.Contains(a.Expr, "bullet_annotation_active")
		changes = changes || strings.Contains(a.Expr, "bullet_annotation_start_seconds")
	}
	l.want(steps, "", "annotations", "do not show experiment steps (bullet_annotation_active)")
	l.want(changes, "", "annotations", "do not show configuration changes (bullet_annotation_start_seconds)")
}
