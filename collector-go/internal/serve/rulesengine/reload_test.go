package rulesengine

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slowAlert is a group with one alert that is active in every test. Tests append further alerts.
const slowAlert = `groups:
- name: g
  interval: 1s
  rules:
  - {alert: Slow, expr: bullet_filter_latency_mean_seconds > 0.2, for: 1h}
`

// alertsNow returns every active alert, with its state and beginning, by rule.
func (e *Evaluator) alertsNow() map[string]rules.Alert {
	all := map[string]rules.Alert{}
	for _, rule := range e.AlertingRules() {
		for _, a := range rule.ActiveAlerts() {
			all[rule.Name()] = *a
		}
	}
	return all
}

func awaitAlert(t *testing.T, e *Evaluator, name string) (found rules.Alert) {
	t.Helper()
	require.Eventually(t, func() bool {
		var active bool
		found, active = e.alertsNow()[name]
		return active
	}, time.Minute, 5*time.Millisecond, name)
	return found
}

// runsSlowAlert starts an evaluator of slowAlert, which runs until the test ends, and returns it with its pending
// alert.
func runsSlowAlert(t *testing.T) (*Evaluator, rules.Alert) {
	t.Helper()
	dir := t.TempDir()
	p := newPlace(t, dir)
	t.Cleanup(func() { p.close(t) })
	p.latency(t, 0.25)
	e, err := New(p.engine, p.results, p.options(dir, slowAlert))
	require.NoError(t, err)
	t.Cleanup(run(t, e))
	return e, awaitAlert(t, e, "Slow")
}

func TestAReloadKeepsTheAlertsOfRulesThatStay(t *testing.T) {
	e, before := runsSlowAlert(t)

	added := slowAlert + "  - {alert: New, expr: bullet_filter_latency_mean_seconds > 0.1}\n"
	require.NoError(t, e.Reload([]File{{"test.yml", []byte(added)}, {"other.yml", []byte(
		"groups: [{name: h, interval: 1s, rules: [{alert: Other, expr: vector(1)}]}]")}}))
	assert.Equal(t, before.ActiveAt, e.alertsNow()["Slow"].ActiveAt, "at once, and after the next evaluation:")
	awaitAlert(t, e, "New")
	awaitAlert(t, e, "Other")
	assert.Equal(t, before.ActiveAt, e.alertsNow()["Slow"].ActiveAt)
	assert.Equal(t, rules.StatePending, e.alertsNow()["Slow"].State)

	require.NoError(t, e.Reload([]File{{"test.yml", []byte(slowAlert)}}))
	assert.Len(t, e.RuleGroups(), 1, "a file that is gone is evaluated no more")
	assert.Equal(t, before.ActiveAt, e.alertsNow()["Slow"].ActiveAt)
}

// One of two files is invalid: neither is loaded.
func TestAReloadWithAFaultChangesNothing(t *testing.T) {
	e, before := runsSlowAlert(t)
	was := e.RuleGroups()
	err := e.Reload([]File{{"test.yml", []byte("groups: []")},
		{"other.yml", []byte("groups:\n- name: g\n  rules:\n  - alert: A\n    expr: sum(")}})
	require.ErrorContains(t, err, `other.yml: 5:11: group "g", rule 1, "A"`)
	assert.Equal(t, was, e.RuleGroups())
	assert.Equal(t, before.ActiveAt, e.alertsNow()["Slow"].ActiveAt)
	last := was[0].GetLastEvaluation()
	require.Eventually(t, func() bool { return was[0].GetLastEvaluation().After(last) }, time.Minute,
		5*time.Millisecond, "the rules of before are still evaluated")
	assert.ErrorContains(t, e.Reload([]File{{"a.yml", nil}, {"a.yml", nil}}), "a.yml is listed twice")
}

// If rules are reloaded before the evaluator runs, or while it restores alerts, it then evaluates the new rules.
func TestAReloadBeforeAndDuringTheStart(t *testing.T) {
	dir := t.TempDir()
	p := newPlace(t, dir)
	defer p.close(t)
	p.latency(t, 0.25)
	e, err := New(p.engine, p.results, p.options(dir, "groups: []"))
	require.NoError(t, err)
	require.NoError(t, e.Reload([]File{{"test.yml", []byte(slowAlert)}}))
	reloaded := make(chan error, 1)
	go func() {
		reloaded <- e.Reload([]File{{"test.yml", []byte(slowAlert)}, {"b.yml", []byte("groups: []")}})
	}()
	defer run(t, e)()
	awaitAlert(t, e, "Slow")
	require.NoError(t, <-reloaded)
}

// Queries, evaluations and reloads run concurrently, for the race detector.
func TestReloadsWhileRulesAreEvaluatedAndAskedFor(t *testing.T) {
	e, before := runsSlowAlert(t)
	done := make(chan error)
	for client := range 3 {
		go func() {
			var err error
			for i := range 20 {
				e.alertsNow()
				rule := fmt.Sprintf("  - {record: 'r:%d', expr: vector(%d)}\n", client, i)
				if err = e.Reload([]File{{"test.yml", []byte(slowAlert + rule)}}); err != nil {
					break
				}
			}
			done <- err
		}()
	}
	for range 3 {
		require.NoError(t, <-done)
	}
	assert.Equal(t, before.ActiveAt, awaitAlert(t, e, "Slow").ActiveAt)
}
