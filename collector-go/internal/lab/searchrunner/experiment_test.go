package searchrunner

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

func TestATrialIsOneStepAtTheTarget(t *testing.T) {
	s := open(t)
	p := optimize.Point{3, 1}
	plan := s.Plan(Order{Number: 7, Point: p, Label: s.Space.Text(p)})
	assert.Equal(t, "trial-007", plan.Topology, "another name for each, so that no series is taken for another's")
	assert.True(t, plan.EndEarly)
	assert.True(t, plan.FailFails)
	assert.Equal(t, runstore.Queries, plan.Axis)
	assert.Equal(t, tuning.Figure(500), plan.Load.RecordsPerSecond)
	require.Len(t, plan.Trials, 1)
	trial := plan.Trials[0]
	assert.Equal(t, []runstore.PlannedStep{{Kind: runstore.LoadStep, Value: 300}}, trial.Steps)
	assert.Equal(t, "filter=4 heap=128", trial.Label)
	assert.Equal(t, []runstore.Coordinate{{Axis: "filter", Label: "4", Value: 4},
		{Axis: "heap", Label: "128", Value: 128}}, trial.Point)
	assert.Equal(t, []runstore.Entry{{Key: "topology.workers", Value: "3"},
		{Key: "bullet.topology.filter.bolt.parallelism", Value: "4"},
		{Key: "topology.worker.childopts", Value: "-Xmx128m"}}, trial.Settings,
		"in the place of the experiment's own, by whichever of its two names")
	assert.Equal(t, 3, trial.Workers)
	var goals []string
	for _, g := range plan.Goals {
		goals = append(goals, g.String())
	}
	assert.Equal(t, []string{"end source lag at most 1,000 records", "max filter latency at most 200 ms",
		"completeness at least 99%", "share of failed queries at most 0%"}, goals,
		"the experiment's other goals hold too, and its first of a latency is the one that is meant")
	assert.Empty(t, plan.CostLoads)
	assert.Greater(t, s.TrialSeconds(), 100.0)
	assert.Equal(t, 3, s.LaunchPlan().Trials[0].Workers)
	assert.NotEqual(t, plan.Trials[0].Settings, s.Plan(Order{Point: optimize.Point{0, 0}}).Trials[0].Settings,
		"one configuration leaves no trace in another")
}

func TestAClusterHasRoomForTheMostWorkers(t *testing.T) {
	s, err := opened(t, strings.NewReplacer(`name: topology.worker.childopts, as: heap, written: "-Xmx{}m", values: [64, 128, 256]`,
		"name: topology.workers, as: heap, values: [1, 5]",
		"start: [1, 64]\n", "").Replace(searched), experimented)
	require.NoError(t, err)
	assert.Equal(t, 5, s.LaunchPlan().Trials[0].Workers)
	assert.Equal(t, 1, s.Plan(Order{Point: optimize.Point{0, 0}}).Trials[0].Workers)
}

func TestWhatNoTrialCanBeRunWithIsRefused(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		{"experiment: trial.yaml\n", "", "experiment: is missing: trials on a cluster"},
		{"trial.yaml", "none.yaml", "read the experiment"},
		{"filter.bolt.parallelism", "filter.bolt.paralelism",
			`search.yaml:7:12: settings[0].name: nobody reads "bullet.topology.filter.bolt.paralelism"; did you mean "bullet.topology.filter.bolt.parallelism"?`},
		{"name: topology.worker.childopts", "name: bullet.topology.custom.topology.acker.executor",
			`did you mean "bullet.topology.custom.topology.acker.executors"?`},
		{", records_per_second: 500", "", "target.records_per_second: is missing, and "},
		{"completeness: 99%", "catch_up: 2", "target.catch_up: steps.catch_up is missing in "},
		{"queries: 300", "queries: 300.5", "300.5 is not a whole number of queries"},
	} {
		_, err := opened(t, strings.Replace(searched, c.old, c.with, 1), experimented)
		assert.ErrorContains(t, err, c.want)
	}
	_, err := opened(t, strings.Replace(searched, "name: topology.worker.childopts",
		"name: topology.some.setting.of.yours", 1), experimented)
	assert.NoError(t, err, "any setting may be tried")
	s, err := opened(t, strings.Replace(searched, "records_per_second: 500", "mib_per_second: 1", 1), experimented)
	require.NoError(t, err)
	assert.InDelta(t, (1<<20)/1843.0, float64(s.Plan(Order{Point: optimize.Point{0, 0}}).Load.RecordsPerSecond), 1e-6)
}
