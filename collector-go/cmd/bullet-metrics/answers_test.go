package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/canary"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bullettest"
)

const ownQuery = "SELECT * FROM STREAM(1000, TIME) LIMIT 1"

// Against whatever a query endpoint answers, load counts as returned what is an answer of Bullet's; an error fails the
// thresholds, and no latency comes of it.
func TestLoadCountsErrorsAsFailed(t *testing.T) {
	for _, form := range bullettest.Forms(t) {
		if form.Other { // a query of one's own may have any records
			continue
		}
		t.Run(form.Name, func(t *testing.T) {
			t.Parallel()
			out, code := runLoad(t, t.Context(), "--url", form.Serve(t), "--query", ownQuery, "--rate", "20",
				"--duration", "250ms", "--threshold", "failed<1%", "--threshold", "p99<1s", "--output", "json")
			var result load.Figures
			require.NoError(t, json.NewDecoder(strings.NewReader(out)).Decode(&result), out)
			assert.Equal(t, 5, result.Queries.Submitted)
			if form.End == "returned" {
				assert.Equal(t, exitDone, code, out)
				assert.Equal(t, []int{5, 0, 5},
					[]int{result.Queries.Returned, result.Queries.Failed, result.Latency.Count})
				return
			}
			assert.Equal(t, exitMissed, code, out)
			assert.Equal(t, []int{0, 5, 0}, []int{result.Queries.Returned, result.Queries.Failed, result.Latency.Count})
			assert.Equal(t, map[bool]int{true: 5}[form.Refused], result.Queries.Refused)
			assert.Nil(t, result.Latency.P99)
			require.Len(t, result.Errors, 1)
			assert.Equal(t, 5, result.Errors[0].Count)
			assert.Contains(t, result.Errors[0].Error, form.Words)
		})
	}
}

func TestCanaryCountsErrorsAsFailed(t *testing.T) {
	for _, form := range bullettest.Forms(t) {
		if form.Other {
			continue
		}
		t.Run(form.Name, func(t *testing.T) {
			t.Parallel()
			out, said, code := runCanary(t, "--url", form.Serve(t), "--query", ownQuery, "--every", "100ms",
				"--most-in-flight", "100", "--duration", "550ms", "--output", "json")
			require.Equal(t, exitDone, code, said)
			var hour canary.Line
			lines := strings.Split(strings.TrimSpace(out), "\n")
			require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &hour))
			require.Equal(t, "hour", hour.Period)
			if form.End == "returned" {
				assert.Zero(t, hour.Failed, said)
				assert.Positive(t, hour.Returned)
				return
			}
			assert.Zero(t, hour.Returned)
			assert.Positive(t, hour.Failed)
			// A query that could not be submitted in time has a latency, of how long it took at least.
			assert.True(t, hour.P99 == nil || hour.Missed > 0)
			assert.Contains(t, out+said, form.Words)
		})
	}
}
