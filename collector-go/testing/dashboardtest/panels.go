package dashboardtest

import (
	"slices"
	"strings"
)

// current are the kinds of panels that Grafana keeps.
var current = []string{"timeseries", "stat", "heatmap", "table"}

func (l *linter) panels(d Dashboard) {
	l.want(len(d.Panels) > 0 && d.Panels[0].Type == "row", "", "panels",
		"begin without a row: every panel stands under a question")
	ids := map[int]bool{}
	var row Panel
	var inRow []Panel
	for i, p := range d.Panels {
		l.want(!ids[p.ID] && p.ID > 0, p.Title, "id", "%d is not its own", p.ID)
		ids[p.ID] = true
		l.position(p, d.Panels[:i])
		if p.Type == "row" {
			l.row(row, inRow)
			row, inRow = p, nil
			l.want(strings.HasSuffix(p.Title, "?") || strings.Contains(p.Title, "? ("), p.Title, "title",
				"is no question: a row is named after what it answers")
			l.want(!p.Collapsed && len(p.Panels) == 0, p.Title, "collapsed",
				"hides panels from this check; leave the row open")
			continue
		}
		inRow = append(inRow, p)
		l.panel(p)
	}
	l.row(row, inRow)
}

// position: within 24 columns, and over no other panel.
func (l *linter) position(p Panel, before []Panel) {
	g := p.GridPos
	l.want(g.W > 0 && g.H > 0 && g.X >= 0 && g.X+g.W <= 24, p.Title, "gridPos", "is outside the 24 columns")
	for _, other := range before {
		o := other.GridPos
		if g.X < o.X+o.W && o.X < g.X+g.W && g.Y < o.Y+o.H && o.Y < g.Y+g.H {
			l.problem(p.Title, "gridPos", "lies over %q", other.Title)
		}
	}
}

func (l *linter) panel(p Panel) {
	l.want(slices.Contains(current, p.Type), p.Title, "type", "%q is none of %s", p.Type, strings.Join(current, ", "))
	l.want(p.Title != "", p.Title, "title", "is missing")
	l.want(p.Description != "", p.Title, "description", "is missing")
	l.want(p.Datasource.UID == "${datasource}", p.Title, "datasource", "is %q; use ${datasource}", p.Datasource.UID)
	unit := p.FieldConfig.Defaults.Unit
	l.want(unit != "", p.Title, "fieldConfig.defaults.unit", "is missing")
	l.want(len(p.Targets) > 0, p.Title, "targets", "are missing")
	if p.Type == "timeseries" {
		l.want(p.FieldConfig.Defaults.Custom.SpanNulls == false, p.Title, "fieldConfig.defaults.custom.spanNulls",
			"must be false: a gap is drawn as a gap")
	}
	refs := map[string]bool{}
	for _, t := range p.Targets {
		field := "targets." + t.RefID
		l.want(t.RefID != "" && !refs[t.RefID], p.Title, field, "refId is not its own")
		refs[t.RefID] = true
		l.target(p, t, field)
	}
	l.limit(p)
	l.transformed(p)
}

func (l *linter) target(p Panel, t Target, field string) {
	l.want(t.Datasource.UID == "${datasource}", p.Title, field+".datasource", "is %q; use ${datasource}",
		t.Datasource.UID)
	l.want(t.Interval == "$reporting", p.Title, field+".interval",
		"is %q; with $reporting the rate's interval is four reports", t.Interval)
	l.want(p.Type == "table" || t.LegendFormat != "", p.Title, field+".legendFormat", "is missing: name the series")
	format := map[string]string{"heatmap": "heatmap", "table": "table"}[p.Type]
	if format == "" {
		format = "time_series"
	}
	l.want(t.Format == format, p.Title, field+".format", "is %q; of a %s it is %q", t.Format, p.Type, format)
	l.want(p.Type != "table" || t.Instant, p.Title, field+".instant", "must be true: a table shows one moment")
	l.expression(p.Title, field+".expr", t.Expr, options{unit: p.FieldConfig.Defaults.Unit, panel: true})
}

// limit: where filter latency is drawn, so is its limit.
func (l *linter) limit(p Panel) {
	if p.Type != "timeseries" || !p.names("bullet_filter_latency_seconds", "bullet_filter_latency_mean_seconds") ||
		p.FieldConfig.Defaults.Unit != "s" {
		return
	}
	steps := p.FieldConfig.Defaults.Thresholds.Steps
	drawn := slices.ContainsFunc(steps, func(s struct{ Value *float64 }) bool {
		return s.Value != nil && *s.Value == 0.2
	})
	l.want(drawn, p.Title, "fieldConfig.defaults.thresholds", "have no step at 0.2: the limit of 200 ms is a line")
	style := p.FieldConfig.Defaults.Custom.ThresholdsStyle.Mode
	l.want(style != "" && style != "off", p.Title, "fieldConfig.defaults.custom.thresholdsStyle",
		"is %q: the limit of 200 ms is a line", style)
}

func (p Panel) names(metrics ...string) bool {
	for _, t := range p.Targets {
		for _, m := range metrics {
			if strings.Contains(t.Expr, m+"{") || strings.Contains(t.Expr, m+"[") || strings.Contains(t.Expr, m+")") {
				return true
			}
		}
	}
	return false
}

// The document's ms a minute are a transformation of Grafana's, never an expression.
func (l *linter) transformed(p Panel) {
	multiplied := slices.ContainsFunc(p.Transformations, func(t Transformation) bool {
		return t.ID == "calculateField" && strings.Contains(string(t.Options), `"60000"`)
	})
	l.want(multiplied == (p.FieldConfig.Defaults.Unit == msAMinute), p.Title, "transformations",
		"multiply by 60000 where, and only where, the unit is ms a minute")
}

// row: beside ms a minute stand base units; beside a mean over workers stand their number and the total.
func (l *linter) row(row Panel, panels []Panel) {
	with := func(match func(Panel) bool) bool { return slices.ContainsFunc(panels, match) }
	unit := func(units ...string) func(Panel) bool {
		return func(p Panel) bool { return slices.Contains(units, p.FieldConfig.Defaults.Unit) }
	}
	if with(unit(msAMinute)) {
		l.want(with(unit("suffix: cores", "percentunit")), row.Title, "row",
			"has ms a minute without cores or a share beside it")
	}
	for _, p := range panels {
		if !slices.ContainsFunc(p.Targets, func(t Target) bool { return strings.HasPrefix(t.Expr, "avg") }) {
			continue
		}
		l.want(with(Panel.counts), p.Title, "targets", "show a mean, and no panel of the row shows over how many")
		l.want(with(Panel.totals), p.Title, "targets", "show a mean, and no panel of the row shows the total")
	}
}

func (p Panel) counts() bool {
	return slices.ContainsFunc(p.Targets, func(t Target) bool { return strings.HasPrefix(t.Expr, "count(") })
}

func (p Panel) totals() bool {
	return slices.ContainsFunc(p.Targets, func(t Target) bool { return strings.HasPrefix(t.Expr, "sum(") })
}
