package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"
)

// Rules provides the evaluated rules; rulesengine.Evaluator implements it. A reload may replace the groups at any
// time. Each method returns a consistent state, but two calls may return different ones.
type Rules interface {
	RuleGroups() []*rules.Group
	AlertingRules() []*rules.AlertingRule
	Alertmanagers() []*url.URL
}

// These types have the fields and values of Prometheus' answers (web/api/v1).
type (
	foundGroups struct {
		Groups    []ruleGroup `json:"groups"`
		NextToken string      `json:"groupNextToken,omitempty"`
	}
	ruleGroup struct {
		Name           string    `json:"name"`
		File           string    `json:"file"`
		Rules          []any     `json:"rules"`
		Interval       float64   `json:"interval"` // s
		Limit          int       `json:"limit"`
		EvaluationTime float64   `json:"evaluationTime"` // s
		LastEvaluation time.Time `json:"lastEvaluation"`
	}
	alertingRule struct {
		State          string           `json:"state"`
		Name           string           `json:"name"`
		Query          string           `json:"query"`
		Duration       float64          `json:"duration"`      // s
		KeepFiringFor  float64          `json:"keepFiringFor"` // s
		Labels         labels.Labels    `json:"labels"`
		Annotations    labels.Labels    `json:"annotations"`
		Alerts         []alert          `json:"alerts"`
		Health         rules.RuleHealth `json:"health"`
		LastError      string           `json:"lastError,omitempty"`
		EvaluationTime float64          `json:"evaluationTime"` // s
		LastEvaluation time.Time        `json:"lastEvaluation"`
		Type           string           `json:"type"`
	}
	recordingRule struct {
		Name           string           `json:"name"`
		Query          string           `json:"query"`
		Labels         labels.Labels    `json:"labels"`
		Health         rules.RuleHealth `json:"health"`
		LastError      string           `json:"lastError,omitempty"`
		EvaluationTime float64          `json:"evaluationTime"` // s
		LastEvaluation time.Time        `json:"lastEvaluation"`
		Type           string           `json:"type"`
	}
	alert struct {
		Labels          labels.Labels `json:"labels"`
		Annotations     labels.Labels `json:"annotations"`
		State           string        `json:"state"`
		ActiveAt        *time.Time    `json:"activeAt,omitempty"`
		KeepFiringSince *time.Time    `json:"keepFiringSince,omitempty"`
		Value           string        `json:"value"`
	}
)

// alertsOf returns the active alerts of a rule, pending ones included.
func alertsOf(rule *rules.AlertingRule) []alert {
	active := rule.ActiveAlerts()
	all := make([]alert, len(active))
	for i, a := range active {
		all[i] = alert{
			Labels: a.Labels, Annotations: a.Annotations, State: a.State.String(), ActiveAt: &a.ActiveAt,
			Value: strconv.FormatFloat(a.Value, 'e', -1, 64),
		}
		if !a.KeepFiringSince.IsZero() {
			all[i].KeepFiringSince = &a.KeepFiringSince
		}
	}
	return all
}

// alerts answers /alerts: the active alerts of all rules.
func (a *api) alerts(request) answer {
	found := struct {
		Alerts []alert `json:"alerts"`
	}{[]alert{}}
	if a.options.Rules != nil {
		for _, rule := range a.options.Rules.AlertingRules() {
			found.Alerts = append(found.Alerts, alertsOf(rule)...)
		}
	}
	return answer{data: found}
}

// alertmanagers answers /alertmanagers: the Alertmanagers that receive the alerts.
func (a *api) alertmanagers(request) answer {
	type target struct {
		URL string `json:"url"`
	}
	found := struct {
		Active  []target `json:"activeAlertmanagers"`
		Dropped []target `json:"droppedAlertmanagers"`
	}{[]target{}, []target{}}
	if a.options.Rules != nil {
		for _, u := range a.options.Rules.Alertmanagers() {
			found.Active = append(found.Active, target{u.String()})
		}
	}
	return answer{data: found}
}

// wanted has the filters of a request to /rules. All filters must match; an empty list matches everything.
type wanted struct {
	names, groups, files []string
	matchers             [][]*labels.Matcher
	alerting, recording  bool
	withoutAlerts        bool
	groupLimit           int // 0 means no limit
	nextToken            string
}

// readWanted reads the parameters of /rules. If one is invalid, it returns the error answer.
func (a *api) readWanted(r request) (w wanted, invalid *answer) {
	fail := func(bad answer) (wanted, *answer) { return w, &bad }
	if r.formError != nil {
		return fail(badData(fmt.Errorf("error parsing form values: %w", r.formError)))
	}
	w.names, w.groups, w.files = r.Form["rule_name[]"], r.Form["rule_group[]"], r.Form["file[]"]
	var err error
	if w.matchers, err = parseSelectors(r.Context(), a.options.Engine, r.Form["match[]"]); err != nil {
		return fail(unparsed(err, badData))
	}
	kind := strings.ToLower(r.URL.Query().Get("type"))
	if kind != "" && kind != "alert" && kind != "record" {
		return fail(invalidParameter("type", fmt.Errorf("not supported value %q", kind)))
	}
	w.alerting, w.recording = kind != "record", kind != "alert"
	if exclude := strings.ToLower(r.URL.Query().Get("exclude_alerts")); exclude != "" {
		if w.withoutAlerts, err = strconv.ParseBool(exclude); err != nil {
			return fail(invalidParameter("exclude_alerts", fmt.Errorf("error converting exclude_alerts: %w", err)))
		}
	}
	return w, w.readPage(r.URL.Query())
}

// readPage reads the parameters of pagination. Prometheus accepts them only in the URL.
func (w *wanted) readPage(form url.Values) *answer {
	fail := func(name string, err error) *answer {
		return &answer{err: &apiError{errorBadData, parameterError(name, err)}}
	}
	limit, token := form.Get("group_limit"), form.Get("group_next_token")
	if limit == "" {
		if token != "" {
			return fail("group_next_token",
				errors.New("group_limit needs to be present in order to paginate over the groups"))
		}
		return nil
	}
	n, err := strconv.ParseInt(limit, 10, 32)
	if err != nil {
		return fail("group_limit", fmt.Errorf("group_limit needs to be a valid number: %w", err))
	}
	if n <= 0 {
		return fail("group_limit", errors.New("group_limit needs to be greater than 0"))
	}
	w.groupLimit, w.nextToken = int(n), token
	return nil
}

// rules answers /rules. A page begins with the group that the token names. If a reload has removed that group, the
// client gets an error and has to start from the first page.
func (a *api) rules(r request) answer {
	w, invalid := a.readWanted(r)
	if invalid != nil {
		return *invalid
	}
	found := foundGroups{Groups: []ruleGroup{}}
	reached := w.nextToken == ""
	for _, group := range a.ruleGroups() {
		sum := sha256.Sum256([]byte(group.File() + ";" + group.Name()))
		token := hex.EncodeToString(sum[:])
		reached = reached || token == w.nextToken
		if !reached || !named(w.groups, group.Name()) || !named(w.files, group.File()) {
			continue
		}
		shown := w.show(group)
		if len(shown.Rules) == 0 {
			continue
		}
		if w.groupLimit > 0 && len(found.Groups) == w.groupLimit {
			found.NextToken = token
			break
		}
		found.Groups = append(found.Groups, shown)
	}
	if !reached {
		return invalidParameter("group_next_token",
			fmt.Errorf("invalid group_next_token '%v'. were rule groups changed?", w.nextToken))
	}
	return answer{data: found}
}

// ruleGroups returns all groups. It returns none if no rules are evaluated.
func (a *api) ruleGroups() []*rules.Group {
	if a.options.Rules == nil {
		return nil
	}
	return a.options.Rules.RuleGroups()
}

// named reports whether name is in names. An empty list contains every name.
func named(names []string, name string) bool { return len(names) == 0 || slices.Contains(names, name) }

// show returns the rules of a group that pass the filters, with the times of their last evaluation.
func (w wanted) show(group *rules.Group) ruleGroup {
	shown := ruleGroup{
		Name: group.Name(), File: group.File(), Interval: group.Interval().Seconds(), Limit: group.Limit(),
		Rules: []any{}, EvaluationTime: group.GetEvaluationTime().Seconds(), LastEvaluation: group.GetLastEvaluation(),
	}
	for _, rule := range group.Rules(w.matchers...) {
		if !named(w.names, rule.Name()) {
			continue
		}
		switch rule := rule.(type) {
		case *rules.AlertingRule:
			if w.alerting {
				shown.Rules = append(shown.Rules, w.showAlerting(rule))
			}
		case *rules.RecordingRule:
			if w.recording {
				shown.Rules = append(shown.Rules, showRecording(rule))
			}
		}
	}
	return shown
}

func (w wanted) showAlerting(rule *rules.AlertingRule) alertingRule {
	shown := alertingRule{
		State: rule.State().String(), Name: rule.Name(), Query: rule.Query().String(),
		Duration: rule.HoldDuration().Seconds(), KeepFiringFor: rule.KeepFiringFor().Seconds(), Labels: rule.Labels(),
		Annotations: rule.Annotations(), Health: rule.Health(), LastError: text(rule.LastError()),
		EvaluationTime: rule.GetEvaluationDuration().Seconds(), LastEvaluation: rule.GetEvaluationTimestamp(),
		Type: "alerting",
	}
	if !w.withoutAlerts {
		shown.Alerts = alertsOf(rule)
	}
	return shown
}

func showRecording(rule *rules.RecordingRule) recordingRule {
	return recordingRule{
		Name: rule.Name(), Query: rule.Query().String(), Labels: rule.Labels(), Health: rule.Health(),
		LastError: text(rule.LastError()), EvaluationTime: rule.GetEvaluationDuration().Seconds(),
		LastEvaluation: rule.GetEvaluationTimestamp(), Type: "recording",
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
