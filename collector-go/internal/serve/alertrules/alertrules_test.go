package alertrules_test

import (
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/dashboardtest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/rulestest"
)

func rules(t *testing.T) rulefmt.RuleGroup {
	parsed, errs := rulefmt.Parse(alertrules.PrometheusRules(alertrules.Interval, alertrules.QueryOffset,
		alertrules.Runbooks), false,
		model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	require.Empty(t, errs)
	require.Len(t, parsed.Groups, 1)
	return parsed.Groups[0]
}

// The query offset is one tick, one slice width and the lateness.
func TestRulesWaitForWholeSlices(t *testing.T) {
	group := rules(t)
	require.NotNil(t, group.QueryOffset)
	assert.Equal(t, 14*time.Second, time.Duration(*group.QueryOffset))
	assert.Equal(t, 10*time.Second, time.Duration(group.Interval))
}

// Scaled rules are the same rules with all durations multiplied by a factor. Everything else is unchanged.
func TestScaledRules(t *testing.T) {
	parsed, errs := rulefmt.Parse(rulestest.Scaled(2*time.Second, 16*time.Second, 1/8.), false,
		model.UTF8Validation,
		parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	require.Empty(t, errs)
	group, whole := parsed.Groups[0], rules(t)
	assert.Equal(t, []time.Duration{2 * time.Second, 16 * time.Second}, []time.Duration{time.Duration(group.Interval),
		time.Duration(*group.QueryOffset)}, "these are the reader's")
	require.Len(t, group.Rules, len(whole.Rules))
	for i, w := range whole.Rules {
		r := group.Rules[i]
		assert.Equal(t, [2]model.Duration{w.For / 8, w.KeepFiringFor / 8}, [2]model.Duration{r.For, r.KeepFiringFor},
			w.Alert)
		wanted, otherwise := windows(t, w.Expr)
		got, same := windows(t, r.Expr)
		for j := range wanted {
			wanted[j] /= 8
		}
		assert.Equal(t, wanted, got, w.Expr)
		assert.Equal(t, otherwise, same)
		assert.Equal(t, w.Annotations, r.Annotations, w.Alert)
	}
}

// windows returns the ranges and offsets in an expression, and the expression without them.
func windows(t *testing.T, expression string) (all []time.Duration, rest string) {
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	require.NoError(t, err)
	parser.Inspect(e, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.MatrixSelector:
			all = append(all, n.Range)
			n.Range = time.Second
		case *parser.VectorSelector:
			all = append(all, n.OriginalOffset)
			n.OriginalOffset = 0
		}
		return nil
	})
	return all, e.String()
}

var levelMetricOperations = regexp.MustCompile(`^[a-z_]+:[a-z0-9_]+:[a-z0-9_]+$`)

// The name of every recorded series has the form level:metric:operations, where level are its labels. Every series is
// used.
func TestRecordedSeries(t *testing.T) {
	page, err := os.ReadFile("../webui/static/js/expressions.js")
	require.NoError(t, err)
	for _, r := range alertrules.Recordings() {
		assert.Regexp(t, levelMetricOperations, r.Name)
		level, _, _ := strings.Cut(r.Name, ":")
		e, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
		require.NoError(t, err)
		assert.Equal(t, strings.ReplaceAll(level, "_", ", "), groupedBy(e), r.Name)
		used := strings.Contains(string(page), r.Name)
		for _, other := range rules(t).Rules {
			used = used || other.Record != r.Name && strings.Contains(other.Expr, r.Name)
		}
		assert.True(t, used, "%s is recorded for nobody", r.Name)
	}
}

// groupedBy returns the labels of an expression's result: those of its first aggregation, or of the recorded series
// with which it begins.
func groupedBy(e parser.Expr) (labels string) {
	parser.Inspect(e, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.AggregateExpr:
			if labels == "" {
				labels = strings.Join(n.Grouping, ", ")
			}
		case *parser.VectorSelector:
			if level, _, recorded := strings.Cut(n.Name, ":"); recorded && labels == "" {
				labels = strings.ReplaceAll(level, "_", ", ")
			}
		}
		return nil
	})
	return labels
}

// Every alert has a severity, a text with a value and a unit, and a runbook. It uses only metrics that exist.
func TestAlerts(t *testing.T) {
	known, seen := dashboardtest.Known(), map[string]bool{}
	for _, r := range alertrules.Recordings() {
		known[r.Name] = dashboardtest.Metric{}
	}
	for _, r := range rules(t).Rules {
		e, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
		require.NoError(t, err)
		parser.Inspect(e, func(node parser.Node, _ []parser.Node) error {
			if s, is := node.(*parser.VectorSelector); is {
				assert.Contains(t, known, s.Name, r.Expr)
			}
			return nil
		})
		if r.Alert == "" {
			continue
		}
		assert.False(t, seen[r.Alert], "%s is there twice", r.Alert)
		seen[r.Alert] = true
		assert.Regexp(t, `^(critical|warning|none|{{ if or .*}}critical{{ else }}warning{{ end }})$`, r.Labels["severity"],
			r.Alert)
		assert.Equal(t, "http://127.0.0.1:9320/runbooks/"+r.Alert, r.Annotations["runbook_url"])
		if r.Labels["severity"] == "none" {
			continue
		}
		of := "topology"
		switch r.Alert { // alerts about the collector itself
		case "BulletMetricsSecurityFilesBroken":
			of = "port"
		case "BulletMetricsHistoryDeleted", "BulletMetricsReloadFailed":
			of = "instance"
		}
		assert.Contains(t, r.Annotations["summary"], "{{ $labels."+of+" }}", r.Alert)
		assert.Contains(t, r.Annotations["description"], "printf \"%.3g\" $value", r.Alert)
		assert.NotRegexp(t, `(^|[^{]){[a-z]`, r.Annotations["summary"]+" "+r.Annotations["description"],
			"a name in braces was not filled in")
		assert.Positive(t, r.KeepFiringFor, r.Alert)
	}
	assert.NotEmpty(t, seen) // runbook_test.go checks that each has a runbook
}

// Each of the two latency alerts names the statistic that it uses.
func TestLatencyAlertsNameTheirStatistic(t *testing.T) {
	words := map[string]string{}
	for _, r := range rules(t).Rules {
		words[r.Alert] = r.Annotations["description"]
	}
	assert.Contains(t, words["BulletFilterLatencyMeanHigh"], "The value is the mean that Bullet reports")
	assert.Contains(t, words["BulletFilterLatencyP99High"],
		"The value is the 99th percentile over all tasks and the last 3 minutes")
}

type provisioned struct {
	Groups []struct {
		Rules []struct {
			UID, Title, Condition string
			NoDataState           string `yaml:"noDataState"`
			Missing               int    `yaml:"missing_series_evals_to_resolve"`
			Data                  []struct {
				RefID             string                 `yaml:"refId"`
				RelativeTimeRange struct{ From, To int } `yaml:"relativeTimeRange"`
				DatasourceUID     string                 `yaml:"datasourceUid"`
				Model             struct{ Expr, Type string }
			}
		}
	}
}

// Grafana's alerts are the same. Their expressions contain no recorded series, because Grafana has none.
func TestGrafanaHasTheSameAlerts(t *testing.T) {
	var p provisioned
	require.NoError(t, yaml.Unmarshal(alertrules.GrafanaRules("source", alertrules.Runbooks), &p))
	require.Len(t, p.Groups, 1)
	require.Len(t, p.Groups[0].Rules, len(alertrules.Alerts()))
	for i, r := range p.Groups[0].Rules {
		a := alertrules.Alerts()[i]
		assert.Equal(t, a.Name, r.Title)
		assert.LessOrEqual(t, len(r.UID), 40)
		assert.Equal(t, "B", r.Condition)
		require.Len(t, r.Data, 2)
		assert.Equal(t, "source", r.Data[0].DatasourceUID)
		assert.Equal(t, 14, r.Data[0].RelativeTimeRange.To)
		assert.Equal(t, "threshold", r.Data[1].Model.Type)
		for _, recorded := range alertrules.Recordings() {
			assert.NotContains(t, r.Data[0].Model.Expr, recorded.Name)
		}
		if a.Hold > 0 {
			assert.Equal(t, "KeepLast", r.NoDataState, "%s: missing data must not resolve it", a.Name)
			assert.Equal(t, !strings.Contains(a.Value, "reason:"), r.Missing == int(a.Hold.Seconds())/10,
				"%s: nor may the data of one among others; one that has left is 0", a.Name)
		}
	}
}
