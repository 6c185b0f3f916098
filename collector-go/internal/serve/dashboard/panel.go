package dashboard

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
)

// size has the default size of each kind.
var size = map[Kind]position{Lines: {W: 12, H: 8}, Number: {W: 4, H: 8}, Heatmap: {W: 12, H: 9}, Table: {W: 24, H: 8}}

// model returns a panel in Grafana's form, without its position, which layOut sets.
func (p Panel) model() panelModel {
	m := panelModel{Type: string(p.Kind), Title: p.Title, Description: p.Description, Datasource: prometheus,
		GridPos:     position{W: cmp.Or(p.Width, size[p.Kind].W), H: cmp.Or(p.Height, size[p.Kind].H)},
		FieldConfig: p.fields(), Options: options[p.Kind], Transformations: p.transformations()}
	for i, q := range p.Queries {
		m.Targets = append(m.Targets, p.target(string(rune('A'+i)), q))
	}
	return m
}

// target converts one query. Heatmaps and tables need other formats, and tables are evaluated only at the end of the
// time range.
func (p Panel) target(refID string, q Query) target {
	t := target{RefID: refID, Datasource: prometheus, Expr: q.Expr, LegendFormat: q.Legend, Interval: "$reporting",
		Format: "time_series", Range: true, EditorMode: "code"}
	switch p.Kind {
	case Heatmap:
		t.Format = "heatmap"
	case Table:
		t.Format, t.Instant, t.Range = "table", true, false
	}
	return t
}

// fields defines how values are formatted and drawn. A timeseries has no line over a gap (spanNulls is false), because
// missing data must be visible. Its axis begins at zero unless the values may be negative.
func (p Panel) fields() *fieldConfig {
	f := &fieldConfig{Overrides: []any{}, Defaults: fieldDefaults{Unit: p.Unit, Thresholds: p.thresholds()}}
	switch p.Kind {
	case Lines:
		if !p.signed() {
			f.Defaults.Min = new(float64)
		}
		f.Defaults.Color = map[string]any{"mode": "palette-classic"}
		style := map[bool]string{true: "dashed", false: "off"}[p.Limit != 0]
		f.Defaults.Custom = map[string]any{"drawStyle": "line", "lineInterpolation": "linear", "lineWidth": 1,
			"fillOpacity": 0, "showPoints": "auto", "pointSize": 4, "spanNulls": false, "insertNulls": false,
			"stacking": map[string]any{"mode": "none", "group": "A"}, "thresholdsStyle": map[string]any{"mode": style}}
	case Number:
		f.Defaults.Color = map[string]any{"mode": "thresholds"}
		if p.Leads != "" {
			f.Defaults.Links = []map[string]any{{"title": "More", "targetBlank": false,
				"url": "/d/bullet-" + p.Leads +
					"?${__url_time_range}&${topology:queryparam}&${reporting:queryparam}&${datasource:queryparam}"}}
		}
	case Table:
		f.Defaults.Custom = map[string]any{"align": "auto", "filterable": true}
		for _, column := range p.Bars {
			f.Overrides = append(f.Overrides,
				map[string]any{"matcher": map[string]any{"id": "byName", "options": column}, "properties": []any{
					map[string]any{"id": "custom.cellOptions", "value": map[string]any{"type": "gauge", "mode": "basic",
						"valueDisplayMode": "text"}},
					map[string]any{"id": "min", "value": 0}, map[string]any{"id": "max", "value": p.Limit}}})
		}
	}
	return f
}

// signed reports whether a panel may show negative values. Examples are the mean latency between hosts with different
// clocks, and the clock skew itself.
func (p Panel) signed() bool {
	return slices.ContainsFunc(p.Queries, func(q Query) bool {
		return strings.Contains(q.Expr, "bullet_filter_latency_mean_") || strings.Contains(q.Expr, "_skew_seconds") ||
			strings.Contains(q.Expr, "deriv(")
	})
}

// thresholds colours values above the limit. The first step has no lower bound, which Grafana represents as null.
func (p Panel) thresholds() map[string]any {
	steps := []map[string]any{{"color": "green", "value": nil}}
	if p.Limit != 0 {
		steps = append(steps, map[string]any{"color": "red", "value": p.Limit})
	}
	return map[string]any{"mode": "absolute", "steps": steps}
}

//go:embed options.json
var optionsJSON []byte

// options are the drawing options of each kind in Grafana's form. They are the same for all panels of a kind, so that
// dashboards look alike. The unit of the heatmaps' axis is seconds.
var options = func() (all map[Kind]map[string]any) {
	if err := json.Unmarshal(optionsJSON, &all); err != nil {
		panic(err) // cannot happen: a test reads it
	}
	return all
}()

// transformations multiplies, joins and renames query results within Grafana, because the store keeps base units.
func (p Panel) transformations() (all []transformation) {
	if p.Times != 0 {
		all = append(all,
			transformation{"calculateField", map[string]any{"mode": "binary", "replaceFields": true,
				"binary": map[string]any{
					"left":     map[string]any{"matcher": map[string]any{"id": "byType", "options": "number"}},
					"operator": "*", "right": map[string]any{"fixed": decimal(p.Times)}}}},
			transformation{"renameByRegex", map[string]any{"regex": `(.*) \* ` + decimal(p.Times),
				"renamePattern": "$1"}})
	}
	if p.Kind == Table && len(p.Queries) > 1 {
		all = append(all, transformation{"merge", map[string]any{}})
	}
	if p.Columns != nil {
		hidden, renamed := map[string]any{}, map[string]any{}
		for from, to := range p.Columns {
			if to == "" {
				hidden[from] = true
			} else {
				renamed[from] = to
			}
		}
		all = append(all, transformation{"organize",
			map[string]any{"excludeByName": hidden, "indexByName": map[string]any{}, "renameByName": renamed}})
	}
	return all
}
