package query

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/busy"
)

// A busy share is known only if there are executions. It never exceeds the available time and CPU time.
func TestABusyShareIsKnownOnlyWithExecutionsAndCPU(t *testing.T) {
	const of = `topology="t",worker="h:1",component="%s",task="3"`
	series := func(component, more, metric, values string) string {
		return fmt.Sprintf("  %s{"+of+"%s} %s\n", metric, component, more, values)
	}
	executed := func(component, values string) string {
		return series(component, `,source="s",stream="d"`, "storm_executed_total", values)
	}
	cpu := func(values string) string {
		return `  bullet_worker_cpu_seconds_total{topology="t",worker="h:1",mode="user"} ` + values + "\n"
	}
	gauge := func(component, value string) string {
		return series(component, "", "storm_capacity_ratio", value+"x30")
	}
	hook := func(component, values string) string {
		return series(component, "", "bullet_execute_seconds_total", values)
	}
	for name, c := range map[string]struct {
		load string
		want float64 // below 0: unknown
	}{
		"executing":                 {gauge("FilterBolt", "0.5") + executed("FilterBolt", "0+1000x30") + cpu("0+9x30"), 0.5},
		"no worker reports its CPU": {gauge("FilterBolt", "0.5") + executed("FilterBolt", "0+1000x30"), 0.5},
		"a gauge of a task that stands still": {gauge("ResultBolt", "0.812996") + executed("ResultBolt", "7000x30"),
			-1},
		"a gauge without executions":  {gauge("ResultBolt", "0.8"), -1},
		"too few samples":             {gauge("ResultBolt", "0.8") + executed("ResultBolt", "0+20x30"), -1},
		"more than the worker's CPU":  {gauge("FilterBolt", "0.921") + executed("FilterBolt", "0+3000x30") + cpu("0+5.4x30"), -1},
		"a bolt that may wait":        {gauge("ResultBolt", "0.921") + executed("ResultBolt", "0+3000x30") + cpu("0+0.4x30"), 0.921},
		"full, within Storm's error":  {gauge("FilterBolt", "1.04") + executed("FilterBolt", "0+3000x30") + cpu("0+11x30"), 1},
		"more than there is time for": {gauge("OwnBolt", "1.4") + executed("OwnBolt", "0+3000x30"), -1},
		"the hook, before the gauge": {gauge("FilterBolt", "0.5") + executed("FilterBolt", "0+1000x30") + cpu("0+9x30") +
			hook("FilterBolt", "0+7x30"), 0.7},
		"the hook, before Storm 2.2's times": {executed("FilterBolt", "0+4000x30") + series("FilterBolt",
			`,source="s",stream="d"`, "storm_execute_latency_seconds", "0.002x30") + hook("FilterBolt", "0+7x30"), 0.7},
		"the hook, too few samples": {executed("OwnBolt", "0+20x30") + hook("OwnBolt", "0+7x30"), -1},
		"the hook, more than the worker's CPU": {gauge("FilterBolt", "0.1") + executed("FilterBolt", "0+1000x30") +
			cpu("0+5x30") + hook("FilterBolt", "0+7x30"), -1},
		"the hook, more than there is time for": {gauge("OwnBolt", "0.1") + executed("OwnBolt", "0+1000x30") +
			hook("OwnBolt", "0+12x30"), -1},
		"Storm 2.2": {executed("FilterBolt", "0+4000x30") + series("FilterBolt", `,source="s",stream="d"`,
			"storm_execute_latency_seconds", "0.002x30"), 0.8},
		"Storm 2.2, too few samples": {executed("FilterBolt", "0+20x30") + series("FilterBolt", `,source="s",stream="d"`,
			"storm_execute_latency_seconds", "0.4x30"), -1},
	} {
		t.Run(name, func(t *testing.T) {
			store := promqltest.LoadedStorage(t, "load 10s\n"+c.load)
			defer func() { require.NoError(t, store.Close()) }()
			engine, err := New(store, DefaultOptions())
			require.NoError(t, err)
			defer func() { require.NoError(t, engine.Close()) }()
			asked, err := engine.Instant(t.Context(), nil, busy.Query(`topology="t"`, `component!~"__.*"`, "150s"),
				time.Unix(300, 0))
			require.NoError(t, err)
			defer asked.Close()
			result := asked.Exec(t.Context())
			require.NoError(t, result.Err)
			vector, is := result.Value.(promql.Vector)
			require.True(t, is)
			if c.want < 0 {
				require.Empty(t, vector)
				return
			}
			require.Len(t, vector, 1)
			require.InDelta(t, c.want, vector[0].F, 1e-9)
			require.Equal(t, "3", vector[0].Metric.Get("task"))
		})
	}
}
