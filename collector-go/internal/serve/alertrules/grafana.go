package alertrules

import (
	"fmt"
	"strings"
	"time"
)

type grafanaGroup struct {
	OrgID    int           `yaml:"orgId"`
	Name     string        `yaml:"name"`
	Folder   string        `yaml:"folder"`
	Interval string        `yaml:"interval"`
	Rules    []grafanaRule `yaml:"rules"`
}

type grafanaRule struct {
	UID          string         `yaml:"uid"`
	Title        string         `yaml:"title"`
	Condition    string         `yaml:"condition"`
	Data         []grafanaQuery `yaml:"data"`
	NoDataState  string         `yaml:"noDataState"`
	ExecErrState string         `yaml:"execErrState"`
	// Missing is how many evaluations a series may be missing before its alert is resolved. Grafana's default is 2.
	Missing     int               `yaml:"missing_series_evals_to_resolve,omitempty"`
	For         string            `yaml:"for"`
	Keep        string            `yaml:"keepFiringFor,omitempty"`
	Annotations annotations       `yaml:"annotations"`
	Labels      map[string]string `yaml:"labels"`
	IsPaused    bool              `yaml:"isPaused"`
}

type grafanaQuery struct {
	RefID             string         `yaml:"refId"`
	RelativeTimeRange grafanaRange   `yaml:"relativeTimeRange"`
	DatasourceUID     string         `yaml:"datasourceUid"`
	Model             map[string]any `yaml:"model"`
}

type grafanaRange struct {
	From int `yaml:"from"`
	To   int `yaml:"to"`
}

// GrafanaRules returns Grafana's provisioning file with the same alerts, for the data source sourceUID. The recorded
// series are expanded, because Grafana does not have them. Grafana keeps an alert's last state if the query finds
// nothing at all. Alerts link to their runbooks below runbooks, a URL that ends with a slash.
func GrafanaRules(sourceUID, runbooks string) []byte {
	group := grafanaGroup{OrgID: 1, Name: GroupName, Folder: "Bullet", Interval: duration(Interval)}
	for _, a := range alerts {
		group.Rules = append(group.Rules, a.grafana(sourceUID, runbooks))
	}
	return marshal(written, map[string]any{"apiVersion": 1, "groups": []grafanaGroup{group}})
}

func (a Alert) grafana(sourceUID, runbooks string) grafanaRule {
	keep := a.Keep
	if keep > 0 {
		keep += a.Bursts
	}
	r := grafanaRule{
		UID: a.Name, Title: a.Name, Condition: "B", NoDataState: "KeepLast", ExecErrState: "KeepLast",
		For: duration(a.For), Keep: unlessZero(keep),
		Annotations: annotations{a.text(a.Summary, grafana), a.text(a.Description, grafana), a.RunbookURL(runbooks)},
		Labels:      map[string]string{"severity": a.severity(grafana)},
	}
	if a.Hold == 0 {
		r.NoDataState = "OK" // no result means that all is well
	}
	if a.holdsEach() {
		r.Missing = int(a.Hold / Interval)
	}
	ago := int(QueryOffset / time.Second)
	r.Data = []grafanaQuery{
		{"A", grafanaRange{ago + 600, ago}, sourceUID, map[string]any{"refId": "A", "expr": a.GrafanaExpr(),
			"instant": true, "range": false, "editorMode": "code", "intervalMs": 15_000, "maxDataPoints": 43_200}},
		{"B", grafanaRange{ago + 600, ago}, "__expr__", map[string]any{"refId": "B", "type": "threshold",
			"expression": "A", "datasource": map[string]any{"type": "__expr__", "uid": "__expr__"},
			"conditions": []any{
				map[string]any{"evaluator": a.evaluator()}}}},
	}
	return r
}

// holdsEach reports whether the last state of each series is held separately. This is possible if a worker that has
// left has the value 0. Series with other labels, such as a reason, may end at any time and are not held.
func (a Alert) holdsEach() bool {
	level, _, _ := strings.Cut(a.Value, ":")
	return a.Hold > 0 && (a.Raised != "" || level == strings.Join(a.HoldBy, "_"))
}

func (a Alert) evaluator() map[string]any {
	evaluator := map[string]any{"type": "gt", "params": []float64{a.Limit}}
	switch {
	case a.BothSides:
		evaluator = map[string]any{"type": "outside_range", "params": []float64{-a.Limit, a.Limit}}
	case a.Below:
		evaluator["type"] = "lt"
	}
	return evaluator
}

// GrafanaExpr returns the alert's value with every recorded series expanded. If the value is held per worker, the
// result is per worker too.
func (a Alert) GrafanaExpr() string {
	switch {
	case a.Grafana != "":
		return a.Grafana
	case a.Raised != "":
		return spelledOut(exprOf(a.Raised))
	}
	if a.Also != "" {
		return fmt.Sprintf("%s\nor on (topology)\n%s", a.orAlso("("+a.bad(spelledOut(a.Value))+")"),
			spelledOut(exprOf(a.Value)))
	}
	return spelledOut(exprOf(a.Value))
}

// exprOf returns the expression of a recorded series. A name that is not a recorded series is returned unchanged.
func exprOf(name string) string {
	for _, r := range recordings {
		if r.Name == name {
			return r.Expr
		}
	}
	return name
}
