package slicer

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// TestAStepBackIsKnownAtTheCollectorsTime checks that a step back of a clock is reported with the first sample that is
// refused because of it. The report has a lower bound of the step, and lasts for two minutes after the last such
// sample, by the collector's clock.
func TestAStepBackIsKnownAtTheCollectorsTime(t *testing.T) {
	for _, c := range []struct{ interval, step int64 }{{1, 3}, {1, 20}, {1, 3600}, {10, 10}, {10, 20}, {10, 300},
		{10, 3600}, {60, 300}} {
		t.Run(fmt.Sprintf("%d s at %d s", c.step, c.interval), func(t *testing.T) {
			p := newPlayer(t)
			p.do([]string{"connect", "7"})
			p.do([]string{"define", "1", "cumulative", "cpu", fmt.Sprintf("interval=%d", c.interval)})
			now := int64(100_000)
			report := func(ahead int64) {
				now += c.interval
				p.do([]string{"tick", fmt.Sprint(now)})
				p.do([]string{"batch", "7:", "received", fmt.Sprint(now), fmt.Sprintf("1@%d=%d", now+ahead, now)})
			}
			for range 10 {
				report(0)
			}
			require.Empty(t, p.slicer.StepsBack(1000*now))
			refused := (c.step + c.interval - 1) / c.interval
			if c.interval == 1 { // two samples in one whole second may both be valid
				refused--
			}
			by, last := max(1000*(c.step-c.interval), 1), int64(0)
			for range refused {
				report(-c.step)
				last = 1000 * now
				require.Equal(t, map[metric.Worker]StepBack{p.worker("w:1"): {by, last}},
					p.slicer.StepsBack(last))
			}
			report(-c.step) // at the newest time that it had shown, or later
			require.NotEmpty(t, p.slicer.StepsBack(last+120_000))
			require.Empty(t, p.slicer.StepsBack(1000*now+120_001))
		})
	}
}
