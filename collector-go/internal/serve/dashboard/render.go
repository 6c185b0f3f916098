package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// schemaVersion is the newest version of Grafana's dashboard schema v1.
const schemaVersion = 42

// tag marks all our dashboards. The links at the top of each dashboard list every dashboard with this tag.
const tag = "bullet-metrics"

// JSON returns the dashboard in the form that Grafana imports.
func (b Board) JSON() []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(b.document()); err != nil {
		panic(fmt.Sprintf("dashboard %s: %v", b.Name, err)) // cannot happen: JSON can represent all values
	}
	return out.Bytes()
}

// document returns the complete dashboard, with the variables, links and annotations that all boards have.
func (b Board) document() document {
	d := document{
		UID: b.UID(), Title: b.Title, Description: b.Description, Tags: []string{tag}, SchemaVersion: schemaVersion,
		GraphTooltip: 1,
		Refresh:      "30s", Time: map[string]string{"from": "now-1h", "to": "now"}, Timezone: "browser",
		Annotations: list[annotation]{allAnnotations()},
		Links: []link{{Title: "Bullet", Type: "dashboards", Tags: []string{tag}, AsDropdown: true, IncludeVars: true,
			KeepTime: true, Icon: "external link", Tooltip: "Other dashboards for the same topology and time range"}},
	}
	d.Templating.List = append(d.Templating.List, variableModel{Name: "datasource", Label: "Data source",
		Type: "datasource", Query: "prometheus", Options: []option{}, Refresh: 1,
		Description: "The collector, or a Prometheus that it writes to."})
	for _, v := range b.Variables {
		d.Templating.List = append(d.Templating.List, v.model())
	}
	d.Panels = b.layOut()
	return d
}

// layOut places the rows one below the other, and the panels of a row from left to right.
func (b Board) layOut() (all []panelModel) {
	y, open, none := 0, false, []panelModel{}
	for _, row := range b.Rows {
		all = append(all, panelModel{ID: len(all) + 1, Type: "row", Title: row.Question, Collapsed: &open,
			Panels: &none, GridPos: position{H: 1, W: 24, Y: y}})
		y++
		x, tallest := 0, 0
		for _, p := range row.Panels {
			m := p.model()
			m.ID = len(all) + 1
			if x+m.GridPos.W > 24 {
				x, y, tallest = 0, y+tallest, 0
			}
			m.GridPos.X, m.GridPos.Y = x, y
			x, tallest = x+m.GridPos.W, max(tallest, m.GridPos.H)
			all = append(all, m)
		}
		y += tallest
	}
	return all
}

// model returns a variable in Grafana's form: a query for its values, or a list of them.
func (v Variable) model() variableModel {
	m := variableModel{Name: v.Name, Label: v.Label, Description: v.Description, Multi: v.Many, IncludeAll: v.Many,
		Options: []option{}}
	if v.Many {
		m.AllValue = ".+"
		m.Current = &option{Selected: true, Text: []string{"All"}, Value: []string{"$__all"}}
	}
	if v.Values != "" {
		m.Type, m.Datasource, m.Refresh, m.Sort = "query", prometheus, 2, 1
		m.Query, m.Definition = map[string]string{"query": v.Values, "refId": v.Name}, v.Values
		return m
	}
	m.Type = "custom"
	for i, value := range v.Options {
		m.Options = append(m.Options, option{i == 0, value, value})
	}
	m.Query, m.Current = strings.Join(v.Options, ","), &m.Options[0]
	return m
}

// The collector serves annotations as series (package annotations). A step is a region during which its series is 1. A
// change is a moment; the value of its series is the time in ms, which is the unit that Grafana expects.
const (
	stepsExpr   = `bullet_annotation_active{topology="$topology",kind="step"}`
	changesExpr = `bullet_annotation_start_seconds{topology="$topology",kind!~"step|restart"} * 1000`
)

// restartsExpr does not need annotations, so that it works with any store that has the slices. The value is the start
// time of the worker's process, in ms.
const restartsExpr = `bullet_worker_start_time_seconds{topology="$topology"} * 1000 and on (topology, worker) bullet_worker_restarts_total > 0`

// alertsExpr selects firing alerts, in the form in which Prometheus and the collector write them. A region lasts as
// long as the alert fires.
const alertsExpr = `ALERTS{topology="$topology",alertstate="firing"}`

// annotationStep is the resolution of a region's ends.
const annotationStep = "10s"

// allAnnotations returns the annotations that every board draws over its panels: experiment steps, changes, restarts
// of workers, and firing alerts.
func allAnnotations() []annotation {
	changes := annotationOf("Configuration changes", "orange", changesExpr, "{{title}}", "{{text}}", "tags")
	restarts := annotationOf("Restarts of workers", "red", restartsExpr, "Worker {{worker}} restarted",
		"The process ended, or Storm moved the worker.", "worker")
	yes := true
	changes.UseValueForTime, restarts.UseValueForTime = &yes, &yes
	return []annotation{
		{Name: "Annotations & Alerts", Datasource: &dataSource{"grafana", "-- Grafana --"}, BuiltIn: 1,
			Type: "dashboard", Enable: true, Hide: true, IconColor: "rgba(0, 211, 255, 1)"},
		annotationOf("Experiment steps", "blue", stepsExpr, "{{title}}", "{{text}}", "tags"), changes, restarts,
		annotationOf("Firing alerts", "dark-red", alertsExpr, "{{alertname}}", "{{worker}} {{class}}", "severity"),
	}
}

// annotationOf returns an annotation from a PromQL query. Grafana 12 reads Target, and older versions read Expr and
// Step.
func annotationOf(name, color, expr, title, text, tags string) annotation {
	return annotation{Name: name, Datasource: prometheus, Enable: true, IconColor: color,
		Target: &annotationTarget{"Anno", expr, annotationStep}, Expr: expr, Step: annotationStep,
		TitleFormat: title, TextFormat: text, TagKeys: tags}
}
