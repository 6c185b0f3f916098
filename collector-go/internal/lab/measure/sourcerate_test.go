package measure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
)

// Two looks 15 s apart see reports that are 14 s apart, from a source that makes 1,000 records/s.
func TestTheRateIsThatBetweenTheReports(t *testing.T) {
	start := time.Unix(1_795_200_000, 0)
	at := func(after, age time.Duration) look {
		reported := (after - age).Seconds()
		return look{at: start.Add(after), source: load.Status{Emitted: int64(1000 * reported),
			Tasks: []load.TaskStatus{{AgeMs: age.Milliseconds() - 50}, {AgeMs: age.Milliseconds() + 50}}}}
	}
	before, after := at(10*time.Second, 100*time.Millisecond), at(25*time.Second, 1100*time.Millisecond)
	assert.InDelta(t, 1000, emittedPerSecond(before, after), 1e-9)
	assert.InDelta(t, 933, float64(after.source.Emitted-before.source.Emitted)/15, 1, "what the looks alone would tell")

	before.source.Tasks, after.source.Tasks = nil, nil
	assert.InDelta(t, 933, emittedPerSecond(before, after), 1, "a source that does not tell when")
}
