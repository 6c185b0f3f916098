package main

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
)

const (
	metricsPage = "../../../docs/metrics.md"
	metricsHead = `# The collector's own metrics

The collector exports these metrics about itself on ` + "`/metrics`" + `. It also exports the metrics of Go (` + "`go_*`" + `), of its process (` + "`process_*`" + `) and of
Prometheus' rule engine (` + "`prometheus_*`" + `).

[Missing data](operating/missing-data.md#counters) lists the metrics that help most when data is missing. [Canonical metrics](../proto/METRICS.md) are
those that the collector stores for topologies. A test generates this page from the collector:
` + "`cd collector-go && UPDATE_DOCS=1 go test ./cmd/bullet-metrics -run MetricsPage`" + `.

| metric | kind | labels | meaning |
|---|---|---|---|
`
)

// described is how client_golang writes what it knows of a metric: name, help, labels with one value, other labels.
var described = regexp.MustCompile(strings.ReplaceAll(
	`^Desc{fqName: (TEXT), help: (TEXT), unit: TEXT, constLabels: {(.*)}, variableLabels: {(.*)}}$`,
	"TEXT", `"(?:[^"\\]|\\.)*"`))

// The page has every metric that a collector registers, in whatever state it is; UPDATE_DOCS=1 go test writes it.
func TestTheMetricsPageIsTrue(t *testing.T) {
	want := metricsHead + metricsRows(t)
	if os.Getenv("UPDATE_DOCS") != "" {
		require.NoError(t, os.WriteFile(metricsPage, []byte(want), 0o644))
		return
	}
	page, err := os.ReadFile(metricsPage)
	require.NoError(t, err)
	require.Equal(t, want, string(page),
		"type: cd collector-go && UPDATE_DOCS=1 go test ./cmd/bullet-metrics -run MetricsPage")
}

// metricsRows describes a collector that has a store of each kind and all that settings can switch on.
func metricsRows(t *testing.T) string {
	c := settings(t.TempDir())
	for _, kind := range forward.Kinds() {
		c.Stores[kind.Name]["by-"+kind.Name] = &config.Store{URL: "http://127.0.0.1:1/", Timeout: time.Second,
			MaxSlices: 10,
			MaxBytes:  1 << 20, Own: map[string]string{}}
	}
	c.Stores["influxdb"]["by-influxdb"].Own["database"] = "d"
	c.Query.URL = "http://127.0.0.1:1/"
	figures := newFigures()
	col, err := openCollectorWith(c, slog.New(slog.NewTextHandler(t.Output(), nil)), figures, nil)
	require.NoError(t, err)
	r := &running{t: t, col: col, failed: col.start()}
	t.Cleanup(r.close)

	kinds := map[string]string{}
	families, err := figures.Gather()
	require.NoError(t, err)
	for _, f := range families {
		kinds[f.GetName()] = strings.ToLower(dto.MetricType_name[int32(f.GetType())])
	}
	descriptions := make(chan *prometheus.Desc, 10_000)
	figures.Describe(descriptions)
	close(descriptions)
	rows := map[string]string{}
	for d := range descriptions {
		parts := described.FindStringSubmatch(d.String())
		require.NotNil(t, parts, d.String())
		name, err := strconv.Unquote(parts[1])
		require.NoError(t, err)
		help, err := strconv.Unquote(parts[2])
		require.NoError(t, err)
		if !strings.HasPrefix(name, "bullet_metrics_") {
			continue
		}
		require.NotEmpty(t, help, name)
		rows[name] = fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, kindOfMetric(name, kinds),
			labelsOf(parts[3], parts[4]),
			strings.ReplaceAll(help, "|", "\\|"))
	}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		all.WriteString(rows[name])
	}
	return all.String()
}

// kindOfMetric is a metric's type, by its name where it has no series yet.
func kindOfMetric(name string, kinds map[string]string) string {
	switch kind := kinds[name]; {
	case kind != "":
		return kind
	case strings.HasSuffix(name, "_total"):
		return "counter"
	case strings.HasSuffix(name, "_request_seconds"), strings.HasSuffix(name, "_duration_seconds"):
		return "histogram"
	}
	return "gauge"
}

// labelsOf are a metric's labels, those with one value only as well.
func labelsOf(constant, variable string) string {
	var all []string
	for _, label := range strings.Split(constant+","+variable, ",") {
		if label, _, _ = strings.Cut(label, "="); label != "" {
			all = append(all, label)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
