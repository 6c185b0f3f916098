package dashboardtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// options of an expression's check.
type options struct {
	unit  string // that its panel shows; "" for none
	panel bool   // it is a panel's
}

// rateInterval stands for $__rate_interval while an expression is parsed: nobody writes it.
const rateInterval = 433 * time.Second

// Fill puts values in the place of Grafana's variables.
func Fill(expr, topology string, rate time.Duration) string {
	return strings.NewReplacer("$__rate_interval", fmt.Sprint(int(rate.Seconds()), "s"), "$topology", topology,
		"$worker", ".+", "$component", ".+", "$class", ".+").Replace(expr)
}

func (l *linter) expression(panel, field, expr string, o options) {
	l.want(!strings.Contains(expr, "$__interval"), panel, field,
		"uses $__interval; $__rate_interval spans at least four reports")
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(Fill(expr, "t", rateInterval))
	if err != nil {
		l.problem(panel, field, "is not PromQL: %v", err)
		return
	}
	e := &expression{linter: l, panel: panel, field: field, options: o}
	e.walk(parsed)
	if o.unit == "" {
		return
	}
	got, err := l.dimension(parsed)
	if err != nil {
		l.problem(panel, field, "%v", err)
		return
	}
	want, known := shows[o.unit]
	l.want(known, panel, "fieldConfig.defaults.unit", "%q is none that these dashboards use", o.unit)
	l.want(!known || want.shownAs(got), panel, "fieldConfig.defaults.unit", "is %q, which shows %s, but %s is %s",
		o.unit, want, field, got)
}

// expression is one while it is judged.
type expression struct {
	*linter
	panel, field string
	options      options
}

func (e *expression) bad(message string, args ...any) { e.problem(e.panel, e.field, message, args...) }

// overCounters are the functions that a counter is good for.
var overCounters = []string{"rate", "irate", "increase"}

func (e *expression) walk(root parser.Expr) {
	parser.Inspect(root, func(node parser.Node, path []parser.Node) error {
		switch n := node.(type) {
		case *parser.MatrixSelector:
			if n.Range != rateInterval {
				e.bad("looks back a fixed %s; use $__rate_interval", n.Range)
			}
		case *parser.VectorSelector:
			e.selector(n, path)
		case *parser.AggregateExpr:
			e.grouping(n)
		}
		return nil
	})
}

func (e *expression) selector(s *parser.VectorSelector, path []parser.Node) {
	m, known := e.metric(s.Name)
	if !known {
		e.bad("names %s, which is in no catalog", s.Name)
		return
	}
	matched := false
	for _, matcher := range s.LabelMatchers {
		if matcher.Name == model.MetricNameLabel {
			continue
		}
		matched = matched || matcher.Name == "topology"
		if !slices.Contains(m.Labels, matcher.Name) {
			e.bad("asks for the label %s, which %s does not have", matcher.Name, s.Name)
		}
	}
	if e.options.panel && slices.Contains(m.Labels, "topology") && !matched && !matchedElsewhere(path, s) {
		e.bad("takes %s of every topology; add topology=\"$topology\"", s.Name)
	}
	function := called(path)
	counted := slices.Contains(overCounters, function)
	switch {
	case m.Type == "counter" && !counted && e.options.panel && !subtracted(path) && !ranked(path):
		e.bad("shows %s as it is; a counter is for rate() or increase()", s.Name)
	case m.Type == "gauge" && counted:
		e.bad("takes %s() of %s, which is a gauge", function, s.Name)
	}
}

// subtracted: totals may be held against each other, as accounts are.
func subtracted(path []parser.Node) bool {
	return slices.ContainsFunc(path, func(node parser.Node) bool {
		b, is := node.(*parser.BinaryExpr)
		return is && b.Op == parser.SUB
	})
}

// ranked: a table of the greatest totals shows totals.
func ranked(path []parser.Node) bool {
	return slices.ContainsFunc(path, func(node parser.Node) bool {
		a, is := node.(*parser.AggregateExpr)
		return is && a.Op == parser.TOPK
	})
}

// matchedElsewhere: the right side of a match of series is held to the left one's topology.
func matchedElsewhere(path []parser.Node, s *parser.VectorSelector) bool {
	for _, node := range path {
		b, is := node.(*parser.BinaryExpr)
		if is && b.VectorMatching != nil && within(b.RHS, s) &&
			(!b.VectorMatching.On || slices.Contains(b.VectorMatching.MatchingLabels, "topology")) &&
			topologyMatched(b.LHS) {
			return true
		}
	}
	return false
}

func within(root parser.Expr, s *parser.VectorSelector) (found bool) {
	parser.Inspect(root, func(node parser.Node, _ []parser.Node) error {
		found = found || node == parser.Node(s)
		return nil
	})
	return found
}

func topologyMatched(root parser.Expr) (found bool) {
	parser.Inspect(root, func(node parser.Node, _ []parser.Node) error {
		if s, is := node.(*parser.VectorSelector); is {
			found = found || slices.ContainsFunc(s.LabelMatchers, func(m *labels.Matcher) bool {
				return m.Name == "topology"
			})
		}
		return nil
	})
	return found
}

// called is the function that a selector is given to first.
func called(path []parser.Node) string {
	for _, node := range slices.Backward(path) {
		if call, is := node.(*parser.Call); is {
			return call.Func.Name
		}
	}
	return ""
}

// grouping: what is grouped by must be a label of something below.
func (e *expression) grouping(a *parser.AggregateExpr) {
	var have []string
	parser.Inspect(a.Expr, func(node parser.Node, _ []parser.Node) error {
		if s, is := node.(*parser.VectorSelector); is {
			m, _ := e.metric(s.Name)
			have = append(have, m.Labels...)
		}
		return nil
	})
	for _, label := range a.Grouping {
		if !slices.Contains(have, label) {
			e.bad("groups by %s, which no metric in it has", label)
		}
	}
}

// metric by name; the buckets, count and sum of a classic histogram are counters.
func (l *linter) metric(name string) (Metric, bool) {
	if m, known := l.metrics[name]; known {
		return m, true
	}
	for _, end := range []string{"_bucket", "_count", "_sum"} {
		if m, known := l.metrics[strings.TrimSuffix(name, end)]; known && strings.HasSuffix(name, end) &&
			m.Type == "histogram" {
			return Metric{Type: "counter", Unit: m.Unit, Labels: append([]string{"le"}, m.Labels...)}, true
		}
	}
	return Metric{}, false
}
