package tuning_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

func atMost(f tuning.GoalFigure, s tuning.Statistic, v tuning.Figure) tuning.Goal {
	return tuning.Goal{Figure: f, Statistic: s, AtMost: v, AtLeast: tuning.Unknown}
}

func atLeast(f tuning.GoalFigure, s tuning.Statistic, v tuning.Figure) tuning.Goal {
	return tuning.Goal{Figure: f, Statistic: s, AtMost: tuning.Unknown, AtLeast: v}
}

func TestStepsAreJudgedByTheirGoals(t *testing.T) {
	goals := []tuning.Goal{atMost(tuning.FilterLatency, tuning.Mean, 200), atLeast(tuning.ResultSize, tuning.Mean, 9.9),
		atMost(tuning.FailedQueries, tuning.Mean, 0), atLeast(tuning.CapacityFigure, tuning.AtEnd, 400)}
	of := func(latency, size, failed tuning.Figure) tuning.StepMeasures {
		m := tuning.StepMeasures{}
		m.Set(tuning.FilterLatency, tuning.Mean, latency)
		m.Set(tuning.ResultSize, tuning.Mean, size)
		m.Set(tuning.FailedQueries, tuning.Mean, failed)
		return m
	}
	for name, c := range map[string]struct {
		step    tuning.GoalStep
		verdict tuning.Verdict
		reason  string
	}{
		"all met": {tuning.GoalStep{Measured: of(200, 9.9, 0), HasQueries: true, HostIdle: 0.4, LeastIdle: 0.05},
			tuning.OK, ""},
		"late": {tuning.GoalStep{Measured: of(200.1, 10, 0), HasQueries: true, HostIdle: 0.4, LeastIdle: 0.05},
			tuning.Fail, "mean filter latency 200.1 ms is above 200 ms"},
		"lost": {tuning.GoalStep{Measured: of(5, 9.89, 0), HasQueries: true, HostIdle: 0.4, LeastIdle: 0.05},
			tuning.Fail, "mean result size 9.89 records is below 9.9 records"},
		"failed": {tuning.GoalStep{Measured: of(5, 10, 0.02), HasQueries: true, HostIdle: 0.4, LeastIdle: 0.05},
			tuning.Fail, "share of failed queries 2% is above 0%"},
		"starved": {tuning.GoalStep{Measured: of(900, 3, 1), HasQueries: true, HostIdle: 0.01, LeastIdle: 0.05},
			tuning.Inconclusive, "only 1.0% of the host was idle"},
		"unmeasured": {tuning.GoalStep{Measured: of(tuning.Unknown, 10, 0), HasQueries: true, HostIdle: 0.4,
			LeastIdle: 0.05}, tuning.Inconclusive, "the mean filter latency was not measured"},
		"overdue": {tuning.GoalStep{Measured: of(5, 10, 0), HasQueries: true, Unfinished: 3, HostIdle: 0.4,
			LeastIdle: 0.05}, tuning.Inconclusive, "3 queries had not ended"},
		"host unknown": {tuning.GoalStep{Measured: of(5, 10, 0), HasQueries: true, HostIdle: tuning.Unknown,
			LeastIdle: 0.05}, tuning.Inconclusive, "the idle share of the host is unknown"},
		"without queries": {tuning.GoalStep{Measured: of(5, tuning.Unknown, tuning.Unknown), HostIdle: 0.4,
			LeastIdle: 0.05}, tuning.OK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.step.Evidence = tuning.NoEvidence()
			outcomes, judgement, _ := tuning.JudgeGoals(goals, c.step)
			assert.Equal(t, c.verdict, judgement.Verdict, judgement.Reasons)
			if c.reason != "" {
				require.NotEmpty(t, judgement.Reasons)
				assert.Contains(t, judgement.Reasons[0], c.reason)
			}
			want := 3
			if !c.step.HasQueries {
				want = 1
			}
			assert.Len(t, outcomes, want,
				"the capacity is not a step's, and without queries there is nothing about them")
		})
	}
}

// A mean result size may look complete although some answers are not. Completeness counts records.
func TestCompletenessIsJudgedByTheRecord(t *testing.T) {
	goals := []tuning.Goal{atLeast(tuning.ResultSize, tuning.Mean, 9.9),
		atLeast(tuning.Completeness, tuning.Mean, 0.999)}
	judge := func(size, completeness tuning.Figure) tuning.Judgement {
		m := tuning.StepMeasures{}
		m.Set(tuning.ResultSize, tuning.Mean, size)
		m.Set(tuning.Completeness, tuning.Mean, completeness)
		_, judgement, _ := tuning.JudgeGoals(goals, tuning.GoalStep{Measured: m, HasQueries: true, HostIdle: 0.4,
			LeastIdle: 0.05, Evidence: quiet()})
		return judgement
	}
	assert.Equal(t, tuning.OK, judge(10, 0.999).Verdict)
	missed := judge(9.95, 0.995)
	assert.Equal(t, tuning.Fail, missed.Verdict)
	assert.Equal(t, "completeness 99.5% is below 99.9%", missed.Reasons[0])
	assert.Equal(t, []string{"the completeness was not measured"}, judge(10, tuning.Unknown).Reasons)
}

// Answers are incomplete even on an idle topology if the join bolt does not wait long enough for the filter bolts.
func TestIncompleteAnswersOfAnIdleTopologyNameTheJoinsWait(t *testing.T) {
	judge := func(latency, completeness tuning.Figure) string {
		m := tuning.StepMeasures{}
		m.Set(tuning.FilterLatency, tuning.Mean, latency)
		m.Set(tuning.Completeness, tuning.Mean, completeness)
		_, judgement, _ := tuning.JudgeGoals([]tuning.Goal{atMost(tuning.FilterLatency, tuning.Mean, 200),
			atLeast(tuning.Completeness, tuning.Mean, 0.99)}, tuning.GoalStep{Measured: m, HasQueries: true,
			HostIdle: 0.4, LeastIdle: 0.05, Evidence: quiet()})
		assert.Equal(t, tuning.Fail, judgement.Verdict)
		return strings.Join(judgement.Reasons, "; ")
	}
	const wait = "bullet.topology.join.bolt.query.post.finish.buffer.ticks"
	assert.Contains(t, judge(5, 0.8), wait)
	assert.NotContains(t, judge(900, 0.8), wait, "filter bolts that are late are reason enough")
}

// A query with a duration of 30 s takes 30 s; the miss is the delay of its result. If the limit is below the duration,
// the whole latency is stated.
func TestALatencyBeyondTheQuerysOwnTimeIsLateness(t *testing.T) {
	for name, c := range map[string]struct {
		measured, atMost, own tuning.Figure
		want                  string
	}{
		"late":                         {30_916, 30_500, 30_000, "p99 query latency 0.916 s late is above 0.5 s late"},
		"a limit within the own time":  {30_916, 20_000, 30_000, "p99 query latency 30,916 ms is above 20,000 ms"},
		"a query that ended by itself": {900, 500, 30_000, "p99 query latency 900 ms is above 500 ms"},
		"nobody knows of a time":       {30_916, 30_500, 0, "p99 query latency 30,916 ms is above 30,500 ms"},
	} {
		t.Run(name, func(t *testing.T) {
			m := tuning.StepMeasures{}
			m.Set(tuning.QueryLatency, tuning.P99, c.measured)
			goal := tuning.Goal{Figure: tuning.QueryLatency, Statistic: tuning.P99, AtMost: c.atMost,
				AtLeast: tuning.Unknown}
			_, judgement, _ := tuning.JudgeGoals([]tuning.Goal{goal},
				tuning.GoalStep{Measured: m, HasQueries: true, NoneToMatch: true, OwnMs: c.own, HostIdle: 0.4,
					LeastIdle: 0.05})
			assert.Equal(t, tuning.Fail, judgement.Verdict)
			assert.Equal(t, c.want, judgement.Reasons[0])
		})
	}
}

func TestGoalsInWords(t *testing.T) {
	assert.Equal(t, "mean filter latency at most 200 ms", atMost(tuning.FilterLatency, tuning.Mean, 200).String())
	assert.Equal(t, "share of failed queries at most 1%", atMost(tuning.FailedQueries, tuning.Mean, 0.01).String())
	assert.Equal(t, "capacity at least 400", atLeast(tuning.CapacityFigure, tuning.AtEnd, 400).String())
}

// Completeness is judged only for queries that have records to find. A step whose queries had records to find and
// found none is never OK.
func TestCompletenessIsOfQueriesThatWereToMatch(t *testing.T) {
	latency := tuning.Goal{Figure: tuning.FilterLatency, Statistic: tuning.Mean, AtMost: 200, AtLeast: tuning.Unknown}
	size := tuning.Goal{Figure: tuning.ResultSize, Statistic: tuning.Mean, AtMost: tuning.Unknown, AtLeast: 9.9}
	m := tuning.StepMeasures{}
	m.Set(tuning.FilterLatency, tuning.Mean, 5)
	m.Set(tuning.ResultSize, tuning.Mean, 0)
	step := tuning.GoalStep{Measured: m, HasQueries: true, HostIdle: 0.4, LeastIdle: 0.05, Evidence: quiet()}
	step.NoneToMatch = true
	outcomes, judgement, _ := tuning.JudgeGoals([]tuning.Goal{latency, size}, step)
	assert.Equal(t, tuning.OK, judgement.Verdict, judgement.Reasons)
	assert.Len(t, outcomes, 1)

	m.Set(tuning.Completeness, tuning.Mean, 0)
	step.NoneToMatch = false
	_, judgement, _ = tuning.JudgeGoals([]tuning.Goal{latency}, step)
	assert.Equal(t, tuning.Fail, judgement.Verdict)
	assert.Contains(t, judgement.Reasons[0], "the queries returned none of their records")
}

func TestATableSaysNoOKBesideNoRecords(t *testing.T) {
	c, err := tuning.AnalyzeConcurrency([]tuning.ConcurrencyRow{
		{Queries: 10, Verdict: tuning.OK, AverageResultSize: 0, AverageCPUMsPerMinute: 1000, TotalCPUMsPerMinute: 1000,
			Workers: 1, AverageGCMsPerMinute: tuning.Unknown},
		{Queries: 20, Verdict: tuning.OK, AverageResultSize: tuning.Unknown, AverageCPUMsPerMinute: 1000,
			TotalCPUMsPerMinute: 1000, Workers: 1, AverageGCMsPerMinute: tuning.Unknown},
	}, tuning.DefaultGoals(), 0.95)
	require.NoError(t, err)
	assert.Equal(t, []tuning.Verdict{tuning.Inconclusive, tuning.OK},
		[]tuning.Verdict{c.Steps[0].Verdict, c.Steps[1].Verdict})
	assert.Contains(t, c.Steps[0].Reason, "no query returned a record")
}
