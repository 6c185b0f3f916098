// Package alertrules defines the alerts and the recorded series that they need, as data. It writes them as a rule file
// for Prometheus and as provisioning files for Grafana. Both come from the same tables, so that they cannot differ
// (decision 7 in docs/decisions).
//
// The package owns the limits and the texts of the alerts. It must not know who evaluates them (package rulesengine,
// Prometheus or Grafana), nor who is notified. Start with rules.go, which lists every alert, and recordings.go.
package alertrules

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// Recording is a recording rule. Its name has the form level:metric:operations.
type Recording struct {
	Name, Expr string
}

// Severity decides who is notified.
type Severity string

// The severities.
const (
	Critical Severity = "critical" // somebody is called immediately
	Warning  Severity = "warning"  // somebody looks during working hours
	None     Severity = "none"     // nobody is notified; only its absence is a problem
)

// Unit is the unit of an alert's value. It decides how the value is formatted.
type Unit string

// The units of values.
const (
	Seconds Unit = "seconds"
	Ratio   Unit = "ratio"
	Number  Unit = "number"
)

// Alert is an alerting rule. It fires if Value is beyond Limit or, if Bare is set, if Value has any result.
type Alert struct {
	Name     string
	Severity Severity
	// CriticalBeyond is the absolute value above which the severity is Critical; 0 means that the severity is
	// constant.
	CriticalBeyond float64
	// Value is the recorded series, or the expression, that is compared with Limit.
	Value string
	// Bare means that every result of Value is bad, and that there is no limit.
	Bare bool
	// Below means that values under the limit are bad. Otherwise values above it are bad.
	Below bool
	// Also is a second expression. It adds results for topologies in which the alert has no result otherwise. Its
	// values are not held.
	Also string
	// BothSides means that values are bad if their absolute value is above the limit.
	BothSides bool
	Limit     float64
	Unit      Unit
	// For is how long a value must be bad before the alert fires. Keep is how long the alert continues to fire after
	// the value is good again (keep_firing_for).
	For, Keep time.Duration
	// Bursts is how long the alert continues to fire with its current value after the value is good again, before Keep
	// begins. It joins bursts to one alert. Unlike with Keep, the value is not an old one, and the alert does not
	// continue after the topology was killed. Grafana has no series ALERTS, so that its rules add this time to Keep.
	Bursts time.Duration
	// Hold is how long the last value remains valid if there is no newer one, because missing data must not resolve an
	// alert. The value is held for each combination of the labels HoldBy. It is no longer held if a new value arrives
	// or the topology is known to have been killed.
	Hold   time.Duration
	HoldBy []string
	// Together is a recorded series that has a value for a topology if all its workers have the problem, which then
	// has one cause. Its single alert replaces the alerts of the workers. In Grafana the alerts of the workers remain
	// separate.
	Together string
	// Raised is a recorded series per worker, for alerts whose Value is per topology. While Value is bad, it is the
	// worker's own value. While Value is good, and after the worker has left, it is a good value: 0, or 1 for a ratio
	// that must not fall. The last value of each worker is held, so that a silent worker does not count as healthy
	// because others are. HoldBy are the labels of Raised. For values that clients measure, the client takes the place
	// of the worker; it has left if it reported its end.
	Raised string
	// Summary and Description may contain {label} and {value}. {size} is the value without its sign, and {raw} is the
	// number for comparisons in a template.
	Summary, Description string
	// More is appended to the description, in the rule file for Prometheus only.
	More string
	// Grafana is the expression for Grafana, if expanding the recorded series would not give a suitable one. Grafana
	// has no recorded series.
	Grafana string
}

// expr returns the alert's expression for Prometheus.
func (a Alert) expr() string {
	if a.Bare {
		return a.Value
	}
	of, by := cmp.Or(a.Raised, a.Value), strings.Join(a.HoldBy, ", ")
	stands := fmt.Sprintf("(\n  %s\n  unless on (%s) %s\n  unless on (topology) %s\n)",
		a.bad(fmt.Sprintf("last_over_time(%s[%s])", of, duration(a.Hold))), by, of, killed)
	if a.Raised != "" {
		stands = map[bool]string{true: "min", false: "max"}[a.Below] + " by (" + strings.Join(a.levels(), ", ") + ") " + stands
	}
	expression := a.bad(a.Value)
	if a.Bursts > 0 {
		expression = fmt.Sprintf("(\n  %s\n  or\n  %s\n)", expression, a.betweenBursts())
	}
	if a.Raised != "" {
		// Clients continue to send queries after a kill and get no answers. A rate over minutes outlives its workers.
		expression += "\nunless on (topology) " + killed
	}
	expression += "\nor\n" + stands
	if a.Together != "" {
		// The alert of all workers is held while no worker reports a good value. Otherwise the held alerts of the
		// workers would replace it as soon as samples stop.
		together := fmt.Sprintf(
			"(\n  %s\n  or\n  last_over_time(%[1]s[%s])\n  unless on (topology) %s == 0\n  unless on (topology) %s\n)",
			a.Together, duration(a.Hold), a.Value, killed)
		expression = fmt.Sprintf("%s\nor\n(\n%s\n)\nunless on (topology) %[1]s", together, expression)
	}
	return a.orAlso(expression)
}

// betweenBursts returns an expression for the current values of alerts that fire and whose value was bad within Bursts.
func (a Alert) betweenBursts() string {
	worst, on := "max", strings.Join(a.levels(), ", ")
	if a.Below {
		worst = "min"
	}
	return fmt.Sprintf("%s and on (%[2]s) %[3]s and on (%[2]s) ALERTS{alertname=%[4]q,alertstate=\"firing\"}", a.Value,
		on, a.bad(fmt.Sprintf("%s_over_time(%s[%s])", worst, a.Value, duration(a.Bursts))), a.Name)
}

// Beyond returns an expression for the values that are bad now, without held values. It returns "" if the alert holds
// no values.
func (a Alert) Beyond() string {
	if a.Bare || a.Hold == 0 {
		return ""
	}
	return a.orAlso(a.bad(a.Value))
}

// orAlso adds the expression Also, if there is one.
func (a Alert) orAlso(expression string) string {
	if a.Also == "" {
		return expression
	}
	return expression + "\nor on (topology)\n" + a.Also
}

// levels returns the labels in the level part of the name of the recorded series.
func (a Alert) levels() []string {
	level, _, _ := strings.Cut(a.Value, ":")
	return strings.Split(level, "_")
}

// bad returns an expression for the values of another expression that are beyond the limit.
func (a Alert) bad(of string) string {
	limit := strconv.FormatFloat(a.Limit, 'f', -1, 64)
	switch {
	case a.BothSides:
		return fmt.Sprintf("%s and abs(%[1]s) > %s", of, limit)
	case a.Below:
		return of + " < " + limit
	}
	return of + " > " + limit
}

// severity returns the text of the severity label. It is a template if the severity depends on the value.
func (a Alert) severity(of reader) string {
	if a.CriticalBeyond == 0 {
		return string(a.Severity)
	}
	return fmt.Sprintf("{{ if or (gt %[1]s %[2]g.0) (lt %[1]s -%[2]g.0) }}%[3]s{{ else }}%[4]s{{ end }}", of,
		a.CriticalBeyond, Critical, a.Severity)
}

// RunbookURL returns the URL of the alert's runbook. runbooks is the base URL of a collector's runbooks, which ends
// with a slash. The page has the name of the alert, as in docs/runbooks.
func (a Alert) RunbookURL(runbooks string) string { return runbooks + a.Name }

// Runbooks is the base URL of the runbooks of a collector with the default address.
const Runbooks = "http://127.0.0.1:9320/runbooks/"

// duration formats a duration as Prometheus and Grafana do.
func duration(d time.Duration) string { return model.Duration(d).String() }

// unlessZero is like duration, but returns "" for 0, so that a file does not have the field.
func unlessZero(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return duration(d)
}

// reader is the name of an alert's value in the templates of the program that reads the rules.
type reader string

// The names of the value in Prometheus and in Grafana.
const (
	prometheus reader = "$value"
	grafana    reader = "$values.A.Value"
)

// formatted returns a template for a value: at most three significant digits, and a space before its unit. Large
// numbers without a unit have all their digits.
func formatted(value string, u Unit) string {
	switch u {
	case Seconds:
		return fmt.Sprintf(`printf "%%.3g" %s | humanizeDuration | reReplaceAll "m\\b" "min" | reReplaceAll "([0-9])([a-z])" "$1 $2"`,
			value)
	case Ratio:
		return fmt.Sprintf(`printf "%%.3g" %s | humanizePercentage`, value)
	}
	return fmt.Sprintf(`if lt %[1]s 1000.0 }}{{ printf "%%.3g" %[1]s }}{{ else }}{{ printf "%%.0f" %[1]s }}{{ end`, value)
}

// text replaces the placeholders of a summary or description by templates: {value}, {size} and {raw} in the form of
// the reader, and {label}.
func (a Alert) text(s string, of reader) string {
	value := formatted(string(of), a.Unit)
	s = strings.NewReplacer("{value}", "{{ "+value+" }}", "{raw}", string(of),
		"{size}", "{{ "+value+` | reReplaceAll "^-" "" }}`).Replace(s)
	for _, label := range []string{"topology", "worker", "class", "reason", "port", "instance"} {
		s = strings.ReplaceAll(s, "{"+label+"}", "{{ $labels."+label+" }}")
	}
	return s
}
