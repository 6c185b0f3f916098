package alertrules_test

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
)

const sliceWidth = 10 * time.Second

// judged says how often and for how long a rule waits.
type judged struct{ interval, waits, bursts, keeps time.Duration }

// alerts counts how often an alert begins to fire. bad says for each slice whether the value is beyond the limit.
func (j judged) alerts(bad []bool) (n int) {
	var pending, good time.Duration
	firing := false
	for at := time.Duration(0); at < time.Duration(len(bad))*sliceWidth; at += j.interval {
		switch {
		case bad[at/sliceWidth]:
			good = 0
			if pending += j.interval; !firing && pending > j.waits {
				firing = true
				n++
			}
		default:
			pending = 0
			if good += j.interval; good > j.bursts+j.keeps {
				firing = false
			}
		}
	}
	return n
}

// TestBurstsRaiseNoMoreAlerts simulates months of pauses in which records wait. A burst that raises a percentile of
// minutes keeps it raised for minutes, so that "for" only delays the alert. Until November 2026 the percentile was that
// of 2 minutes, evaluated each 15 s, with a "for" of 1 minute.
func TestBurstsRaiseNoMoreAlerts(t *testing.T) {
	i := slices.IndexFunc(alertrules.Alerts(),
		func(a alertrules.Alert) bool { return a.Name == "BulletFilterLatencyP99High" })
	a := alertrules.Alerts()[i]
	now := judged{alertrules.Interval, a.For, a.Bursts, a.Keep}
	before := judged{15 * time.Second, time.Minute, a.Bursts, a.Keep}
	const months, weeks = 12, 30 / 7.
	var alertsNow, alertsBefore int
	for month := range uint64(months) {
		all, slow := pausingMonth(rand.New(rand.NewPCG(month, 0)))
		alertsNow += now.alerts(raised(all, slow, window(t)))
		alertsBefore += before.alerts(raised(all, slow, 2*time.Minute))
	}
	t.Logf("alerts a week: %.1f, and %.1f before", float64(alertsNow)/months/weeks, float64(alertsBefore)/months/weeks)
	require.Positive(t, alertsBefore)
	assert.LessOrEqual(t, alertsNow, alertsBefore)
}

// window returns the time over which the recorded percentile is taken.
func window(t *testing.T) time.Duration {
	for _, r := range alertrules.Recordings() {
		if found := regexp.MustCompile(`p99_rate(\w+)$`).FindStringSubmatch(r.Name); found != nil {
			length, err := model.ParseDuration(found[1])
			require.NoError(t, err)
			assert.Contains(t, r.Expr, "["+found[1]+"]")
			return time.Duration(length)
		}
	}
	require.Fail(t, "no percentile is recorded")
	return 0
}

// pausingMonth returns the records of each slice of a month, and those that waited for more than 200 ms. Pauses come
// twice an hour and last half a second in the median. The rate of records varies by a factor of 2.
func pausingMonth(random *rand.Rand) (all, slow []float64) {
	count := int(30 * 24 * time.Hour / sliceWidth)
	all, slow = make([]float64, count), make([]float64, count)
	for i := range count {
		all[i] = 1000 * (1.5 + 0.5*math.Sin(2*math.Pi*float64(i)/8640)) * (0.9 + 0.2*random.Float64())
		if random.IntN(180) == 0 {
			pause := 0.5 * math.Exp(random.NormFloat64())
			slow[i] = all[i] / 10 * min(max(pause-0.2, 0), 10)
		}
	}
	return all, slow
}

// raised says for each slice whether more than 1% of the records of the time up to it waited for more than 200 ms.
func raised(all, slow []float64, over time.Duration) (bad []bool) {
	window := int(over / sliceWidth)
	for i := range all {
		lateAll, lateSlow := 0.0, 0.0
		for at := max(0, i-window+1); at <= i; at++ {
			lateAll, lateSlow = lateAll+all[at], lateSlow+slow[at]
		}
		bad = append(bad, lateSlow > 0.01*lateAll)
	}
	return bad
}
