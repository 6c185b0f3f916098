package campaign_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/campaign"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// A source that makes a hundred of the hundreds of records that a step asks for leaves no step OK, although every goal is met.
func TestAStepOfTooFewRecordsIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.carries["bolts 1"] = 100
		dir := begin(t, grid)
		result, err := goOn(t, t.Context(), dir, w, &journal{}, campaign.Options{})
		require.NoError(t, err)
		assert.Equal(t, []tuning.Verdict{tuning.Limited, tuning.OK}, []tuning.Verdict{result.Rows[0].Verdict, result.Rows[1].Verdict})
		for _, s := range reread(t, dir).Trials[0].Steps {
			assert.Equal(t, tuning.Limited, s.Verdict)
			assert.Contains(t, s.Reasons[0], "limited by the record source: the record source made 100 of the 384 records/s asked for, 26%")
			e := s.Evidence
			require.NotNil(t, e)
			assert.InDelta(t, 300+70*1.2, float64(e.Supply.AskedPerSecond), 1e-9, "with those that the queries look for")
			assert.Equal(t, s.EndMs, e.ToMs)
		}
	})
}
