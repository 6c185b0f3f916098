package registry

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// One sender reports a topology on two hosts whose clocks are wrong. The clock of its own host is bounded by answers,
// and that of the other host by the times at which samples were handed over. Both are known, by the collector's clock,
// for as long as the hosts are heard.
func TestClocksAreKnownAtTheCollectorsTime(t *testing.T) {
	for name, c := range map[string]struct{ sender, worker, want float64 }{
		"both right":        {0, 0, 0},
		"two hours behind":  {-7200, -7200, -7200},
		"two minutes":       {-120, -120, -120},
		"ahead":             {300, 300, 300},
		"one behind":        {-600, 0, -600},
		"behind and ahead":  {-600, 300, -600}, // alert rules do not see samples that are behind
		"only another host": {0, 300, 300},
	} {
		t.Run(name, func(t *testing.T) {
			p := newScript(t, DefaultOptions("x").Limits)
			p.ahead = int64(1000 * c.sender)
			p.run("define P t t-1-1799999990 a:6700 9\nconnect P\n" +
				"report P a:6700 FilterBolt/3\nreport P b:6700 FilterBolt/4")
			tell := func() {
				b := p.batch(p.producer("P"))
				by := func(ahead float64, agoMs int64) int64 { return p.clock + int64(1000*ahead) - agoMs }
				b.SentMs, b.ReceivedMs = by(c.sender, 2), p.clock
				b.Notes = &bulletmetricsv1.Batch{Clocks: &bulletmetricsv1.Clocks{
					AcknowledgedTimeMs: by(c.sender, 5_000), AcknowledgementSentTimeMs: p.clock - 5_002,
					Workers: []*bulletmetricsv1.WorkerClock{
						{Host: "b", Port: 6700, HandOverTimeMs: by(c.worker, 300), TakenTimeMs: by(c.sender, 298)}}}}
				p.apply(b)
			}
			ahead := func() float64 { return p.registry().Topologies()[0].ClockAhead }
			tell()
			assert.InDelta(t, c.want, ahead(), 0.01, "of the first batch that says when an answer came")
			found, ok := p.registry().Topology("t", "")
			require.True(t, ok)
			assert.InDelta(t, c.sender, found.Workers[0].Clock.Ahead, 0.01)
			require.NotNil(t, found.Workers[0].Clock.Most)
			assert.InDelta(t, max(c.worker, 0), found.Workers[1].Clock.Ahead, 0.01,
				"nothing bounds from above the clock of a host without a sender")
			assert.InDelta(t, c.worker, found.Workers[1].Clock.Least, 0.01)

			p.run("tick 100")
			assert.InDelta(t, c.want, ahead(), 0.01)
			for _, step := range []float64{-900, 2000} {
				c.sender, c.worker, p.ahead = c.sender+step, c.worker+step, p.ahead+int64(1000*step)
				tell()
				found, _ = p.registry().Topology("t", "")
				assert.InDelta(t, c.sender, found.Workers[0].Clock.Ahead, 0.01, "its clock was set by %v s", step)
			}
			p.run("tick 130")
			assert.Zero(t, ahead(), "what was heard long ago says nothing of the clock now")
			assert.Empty(t, p.s.clocks)
		})
	}
}
