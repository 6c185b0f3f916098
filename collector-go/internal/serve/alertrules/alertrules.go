// Package alertrules defines the alerts and the recorded series that they need, as data. It writes them as a rule file
// for Prometheus and as provisioning files for Grafana. Both come from the same tables, so they cannot differ (decision
// 7 in docs/decisions).
//
// It owns the limits and the texts of the alerts. It must not know who evaluates them (package rulesengine, Prometheus
// or Grafana), nor who is notified. Start with rules.go, which lists every alert, and recordings.go.
package alertrules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Recording is a series that rules keep for other rules: level:metric:operations.
type Recording struct {
	Name, Expr string
}

// Severity decides who is notified.
type Severity string

// The severities.
const (
	Critical Severity = "critical" // somebody is woken
	Warning  Severity = "warning"  // somebody looks in working hours
	None     Severity = "none"     // nobody: it is there to be missed
)

// Unit is what an alert's value counts in, and so how it is written.
type Unit string

// The units of values.
const (
	Seconds Unit = "seconds"
	Ratio   Unit = "ratio"
	Number  Unit = "number"
)

// Alert fires where Value passes Limit, or where there is one at all.
type Alert struct {
	Name     string
	Severity Severity
	// CriticalBeyond is the value from which on, above zero or below, the severity is Critical instead; 0 for none.
	CriticalBeyond float64
	// Value is the recorded series, or the expression, that is compared.
	Value string
	// Bare means that any value found is bad: there is nothing to compare.
	Bare bool
	// Below means that values under the limit are bad; otherwise those above are.
	Below bool
	// Also is an expression that finds what is bad too, in topologies where the alert finds nothing else. None of its
	// values is held.
	Also string
	// BothSides means that values further from zero than the limit are bad, above and below.
	BothSides bool
	Limit     float64
	Unit      Unit
	// For is how long it must be so; Keep is how long it fires on after it is no longer so (keep_firing_for).
	For, Keep time.Duration
	// Hold is how long the last value stands where there is none any more: missing data must not resolve an alert. It
	// stands for the labels HoldBy, and as long as none of those has a value and nobody knows that the topology was
	// killed.
	Hold   time.Duration
	HoldBy []string
	// Together is the recorded series of a topology whose workers all have the cause, which is one then: its one alert
	// takes the place of each worker's. Grafana's stay apart.
	Together string
	// Raised is the recorded series of what each worker has to do with it, where Value is of a topology: the worker's
	// own value while Value is bad, what is well (0; 1 of a ratio that must not fall) while it is good and where the
	// worker has left. Then what stands is what each worker said last: one that is silent is not well because others
	// are. HoldBy are its labels. Of what clients measure the worker is the client, which has left where it said that
	// it ends.
	Raised string
	// Summary and Description may name {label} and {value}; {size} is the value without its sign, and {raw} the number
	// where a template compares it.
	Summary, Description string
	// More goes on after the description, in templates of Prometheus alone.
	More string
	// Grafana's rules have no recorded series; Grafana is the expression there, where writing the recorded series out
	// would not do.
	Grafana string
}

// expr is the alert's expression for Prometheus.
func (a Alert) expr() string {
	if a.Bare {
		return a.Value
	}
	of, by := a.Value, strings.Join(a.HoldBy, ", ")
	if a.Raised != "" {
		of = a.Raised
	}
	stands := fmt.Sprintf("(\n  %s\n  unless on (%s) %s\n  unless on (topology) %s\n)",
		a.bad(fmt.Sprintf("last_over_time(%s[%s])", of, duration(a.Hold))), by, of, killed)
	if a.Raised != "" {
		stands = a.worst() + " by (" + strings.Join(a.levels(), ", ") + ") " + stands
	}
	expression := a.bad(a.Value) + a.unlessKilled() + "\nor\n" + stands
	if a.Together != "" {
		expression = fmt.Sprintf("%s\nor\n(\n%s\n)\nunless on (topology) %[1]s", a.Together, expression)
	}
	return a.orAlso(expression)
}

// Beyond is an expression that finds the alert's value where what is measured is bad, and nothing that is held from
// before; "" where nothing is ever held.
func (a Alert) Beyond() string {
	if a.Bare || a.Hold == 0 {
		return ""
	}
	return a.orAlso(a.bad(a.Value))
}

// orAlso adds what is bad too.
func (a Alert) orAlso(expression string) string {
	if a.Also == "" {
		return expression
	}
	return expression + "\nor on (topology)\n" + a.Also
}

func (a Alert) worst() string {
	if a.Below {
		return "min"
	}
	return "max"
}

// levels are the labels of a recorded value, as its name has them.
func (a Alert) levels() []string {
	level, _, _ := strings.Cut(a.Value, ":")
	return strings.Split(level, "_")
}

// unlessKilled ends what clients measure of a topology that was killed: they go on asking, and get no answer. What
// workers measure ends by itself.
func (a Alert) unlessKilled() string {
	if slices.Contains(a.levels(), "class") {
		return "\nunless on (topology) " + killed
	}
	return ""
}

// bad keeps of an expression's values those that are beyond the limit.
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

// severity is the label's text, which may depend on the value.
func (a Alert) severity(of reader) string {
	if a.CriticalBeyond == 0 {
		return string(a.Severity)
	}
	return fmt.Sprintf("{{ if or (gt %[1]s %[2]g.0) (lt %[1]s -%[2]g.0) }}%[3]s{{ else }}%[4]s{{ end }}", of,
		a.CriticalBeyond, Critical, a.Severity)
}

// RunbookURL is where people read the alert's page under docs/runbooks, which has the alert's name: below the address
// at which a collector serves its runbooks, which ends with a slash.
func (a Alert) RunbookURL(runbooks string) string { return runbooks + a.Name }

// Runbooks is where a collector with the default address serves them.
const Runbooks = "http://127.0.0.1:9320/runbooks/"

// duration as Prometheus and Grafana write it.
func duration(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d > 0 && d%unit.of == 0 {
			return strconv.Itoa(int(d/unit.of)) + unit.name
		}
	}
	if d%time.Second != 0 {
		return strconv.Itoa(int(d/time.Millisecond)) + "ms"
	}
	return strconv.Itoa(int(d/time.Second)) + "s"
}

// reader is how a reader's templates name an alert's value.
type reader string

// The readers.
const (
	prometheus reader = "$value"
	grafana    reader = "$values.A.Value"
)

// text fills in a summary or description: {value}, {size} and {raw} as templates of the reader's, and {label}.
func (a Alert) text(s string, of reader) string {
	humanized := string(of) + " | " + humanizer(a.Unit)
	if of == grafana {
		humanized = humanizer(a.Unit) + " " + string(of)
	}
	s = strings.NewReplacer("{value}", "{{ "+humanized+" }}", "{raw}", string(of),
		"{size}", "{{ "+humanized+` | reReplaceAll "^-" "" }}`).Replace(s)
	for _, label := range []string{"topology", "worker", "class", "reason", "port", "instance"} {
		s = strings.ReplaceAll(s, "{"+label+"}", "{{ $labels."+label+" }}")
	}
	return s
}
