package chart

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNumbersAtAnAxis(t *testing.T) {
	assert.Equal(t, "60K", Thousands(60_000))
	assert.Equal(t, "1.5M", Thousands(1.5e6))
	assert.Equal(t, "0", Plain(-0.0000000001))
	assert.Equal(t, "1:30", Clock(90))
	assert.Equal(t, "-0:30", Clock(-30))
}

func TestPlacesOfShares(t *testing.T) {
	assert.InDelta(t, 2, Nine(0.99), 1e-9)
	var labels []string
	for _, tick := range nines(3) {
		labels = append(labels, tick.Label)
	}
	assert.Equal(t, []string{"50%", "90%", "99%", "99.9%"}, labels)
}

func TestTextIsWrapped(t *testing.T) {
	words := "CPU time of all workers: user, and system apart"
	assert.Len(t, wrapped(titleSize, broad, words), 1)
	lines := wrapped(titleSize, 120, words)
	assert.Greater(t, len(lines), 2)
	assert.Equal(t, words, strings.Join(lines, " "))
	assert.Equal(t, "20", fitting(legendStyle(), 40, "20 simultaneous queries"))
	assert.Empty(t, fitting(legendStyle(), 3, "20 queries"))
}

func TestNiceSteps(t *testing.T) {
	assert.InDelta(t, 20, niceStep(60, 4), 1e-12)
	assert.InDelta(t, 25, niceStep(100, 4), 1e-12)
	assert.InDelta(t, 1, niceStep(0, 4), 1e-12)
	assert.InDelta(t, 30, niceTime(290, 12), 1e-12)
	labels := ticks(0, 60, 20, Plain)
	assert.Equal(t, "60", labels[3].Label)
	assert.Len(t, labels, 4)
}
