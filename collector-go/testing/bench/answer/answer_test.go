package answer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// asServers answer: one made of the rows as they are defined, and what is wrong with it.
func TestAnAnswerIsComparedValueByValue(t *testing.T) {
	const start, step, steps = 1_700_000_010_000, 10_000, 361
	rows := bench.NewRows(3, 2, 10)
	truth := NewTruth(rows, start, step, steps)
	walk, first := rows.Walk([]int{0, 1}), [2][]float64{}
	for range steps {
		walk.Next()
		first[0], first[1] = append(first[0], walk.Values[0]), append(first[1], walk.Values[10])
	}
	questions := map[string]Question{}
	for _, q := range Questions("t", step) {
		questions[q.Name] = q
	}
	raw := func(host int, change func(i int, v float64) string) string {
		var values []string
		for i, v := range first[host] {
			values = append(values, fmt.Sprintf(`[%d,"%s"]`, start/1000+10*i, change(i, v)))
		}
		return fmt.Sprintf(`{"metric":{"hostname":"host_%d"},"values":[%s]}`, host, strings.Join(values, ","))
	}
	asItIs := func(_ int, v float64) string { return fmt.Sprint(v) }
	end := int64(start + (steps-1)*step)
	whole := raw(0, asItIs) + "," + raw(1, asItIs)
	n, err := questions["raw"].Compare(truth, []byte(whole), start, end)
	require.NoError(t, err)
	assert.Equal(t, 2*steps, n)
	for wrong, body := range map[string]string{
		"1 series answer": raw(0, asItIs),
		"answers twice":   raw(0, asItIs) + raw(0, asItIs),
		"has 361 values":  whole,
		"should be": raw(0, asItIs) + raw(1, func(i int, v float64) string {
			if i == 360 {
				v++
			}
			return fmt.Sprint(v)
		}),
	} {
		to := end
		if wrong == "has 361 values" {
			to -= step
		}
		_, err := questions["raw"].Compare(truth, []byte(body), start, to)
		assert.ErrorContains(t, err, wrong)
	}

	most, sum := first[1][1], 0.0
	for i := 1; i < steps; i++ {
		most = max(most, first[1][i])
	}
	for i := steps - 30; i < steps; i++ {
		sum += first[0][i] + first[1][i]
	}
	answer := func(labels string, v float64) string {
		return fmt.Sprintf(`{"metric":%s,"values":[[%d,"%v"]]}`, labels, end/1000, v)
	}
	hour := [2]float64{}
	for _, v := range first[0][1:] {
		hour[0] = max(hour[0], v)
	}
	hour[1] = most
	_, err = questions["greatest"].Compare(truth,
		[]byte(answer(`{"worker":"host_1:6700"}`, hour[1])+answer(`{"worker":"host_0:6700"}`, hour[0])), end, end)
	assert.NoError(t, err)
	_, err = questions["average"].Compare(truth, []byte(answer(`{}`, sum/60)), end, end)
	assert.NoError(t, err)
	_, err = questions["average"].Compare(truth, []byte(answer(`{}`, sum/60*1.000001)), end, end)
	assert.ErrorContains(t, err, "should be")
}

// The quantile is interpolated between the two nearest values, as Prometheus does it.
func TestQuantileAndSumOfTheHighest(t *testing.T) {
	truth := &Truth{StartMs: 1000, StepMs: 1000, Hosts: 7, Steps: 1, first: []float64{40, 10, 70, 30, 60, 20, 50}}
	p99, is := truth.quantile(0, 1000)
	assert.True(t, is)
	assert.InDelta(t, 69.4, p99, 1e-9, "0.99 of 6 steps: 0.94 of the way from 60 to 70")
	sum, is := truth.top(0, 1000)
	assert.True(t, is)
	assert.Equal(t, 250.0, sum, "70, 60, 50, 40 and 30")
	_, is = truth.quantile(0, 2000)
	assert.False(t, is, "no row is of that time")
	_, is = truth.top(0, 2000)
	assert.False(t, is)
}
