package tuning_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// A step that received fewer records than requested is never OK, whatever its goals.
func TestAStepWithTooFewRecordsIsNotOK(t *testing.T) {
	for name, c := range map[string]struct {
		asked, made tuning.Figure
		change      func(*tuning.Evidence)
		verdict     tuning.Verdict
		reason      string
	}{
		"as asked":            {5000, 4990, nil, tuning.OK, ""},
		"a little less":       {5000, 4501, nil, tuning.OK, ""},
		"nobody stated it":    {tuning.Unknown, 4000, nil, tuning.OK, ""},
		"none requested":      {0, 0, nil, tuning.OK, ""},
		"two records of five": {0.05, 0.02, nil, tuning.OK, ""},
		"one producer for a cluster": {85_005, 5_012, nil, tuning.Limited,
			"limited by the record source: the record source emitted 5,012 of the 85,005 requested records/s, 5.9% (producers share a rate: RecordProducer --part); the topology was not the limit: FilterBolt was 12% busy"},
		"producers beside a busy topology": {5000, 3000, func(e *tuning.Evidence) { filterBusy(e, 0.97, 2) },
			tuning.Limited, "emitted 3,000 of the 5,000 requested records/s"},
		"the topology's own source waits for the filter": {5000, 3000, func(e *tuning.Evidence) {
			e.Source.Kind = tuning.SourceGenerator
			filterBusy(e, 0.97, 2)
		}, tuning.Fail, "the record source emitted 3,000 of the 5,000 requested records/s, 60%; the topology reads no more because of filter CPU"},
		"the topology's own source waits for max spout pending": {5000, 3000, func(e *tuning.Evidence) {
			e.Source.Kind = tuning.SourceGenerator
			e.Spout.HeldByPending = 0.4
		}, tuning.Limited, "the topology reads no more because of max spout pending"},
		"made, and not read by as many spouts as there can be": {5000, 5000, func(e *tuning.Evidence) {
			e.Source.RecordsPerSecond, e.Source.LagGrowth, e.Source.Partitions = 3000, 2000, 2
		}, tuning.Limited, "the topology read 3,000 of the 5,000 requested records/s, 60%, although they were emitted; the spouts emit no more"},
		"made, and not read by too few spouts": {5000, 5000, func(e *tuning.Evidence) {
			e.Source.RecordsPerSecond, e.Source.LagGrowth = 3000, 2000
		}, tuning.Fail, "the topology read 3,000 of the 5,000"},
		"made, and not read because of the filter": {5000, 5000, func(e *tuning.Evidence) {
			e.Source.RecordsPerSecond, e.Source.LagGrowth = 3000, 2000
			filterBusy(e, 0.97, 2)
		}, tuning.Fail, "although they were emitted; the topology reads no more because of filter CPU"},
		"on a starved host": {5000, 3000, func(e *tuning.Evidence) { e.Host.IdleRatio = 0.01 }, tuning.Inconclusive,
			"of the host was idle"},
	} {
		t.Run(name, func(t *testing.T) {
			e := quiet()
			e.FromMs, e.ToMs = 0, 60_000
			e.SourceRate = tuning.SourceRateEvidence{AskedPerSecond: c.asked, MadePerSecond: c.made}
			e.Source.RecordsPerSecond = c.made
			if c.change != nil {
				c.change(&e)
			}
			_, judgement, limitation := tuning.JudgeGoals(nil,
				tuning.GoalStep{HostIdle: e.Host.IdleRatio, LeastIdle: 0.05, Evidence: e})
			assert.Equal(t, c.verdict, judgement.Verdict, "%v: %s", judgement.Reasons, limitation.Text)
			if c.reason != "" {
				require.NotEmpty(t, judgement.Reasons)
				assert.Contains(t, judgement.Reasons[0], c.reason)
			}
		})
	}
}

// A goal that was missed with too few records is not a failure of the topology.
func TestAMissWithTooFewRecordsIsTheSources(t *testing.T) {
	e := quiet()
	e.FromMs, e.ToMs = 0, 60_000
	e.SourceRate = tuning.SourceRateEvidence{AskedPerSecond: 85_000, MadePerSecond: 5_000}
	m := tuning.StepMeasures{}
	m.Set(tuning.AddedDelay, tuning.Mean, 30)
	_, judgement, limitation := tuning.JudgeGoals([]tuning.Goal{atMost(tuning.AddedDelay, tuning.Mean, 10)},
		tuning.GoalStep{Measured: m, HasQueries: true, HostIdle: 0.4, LeastIdle: 0.05, Evidence: e})
	assert.Equal(t, tuning.Limited, judgement.Verdict)
	assert.Equal(t, []tuning.Limiter{tuning.LimitedByRecordSource}, limitation.Limiters)
}
