package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNumbersAsPeopleReadThem(t *testing.T) {
	assert.Equal(t, "60K", thousands(60_000))
	assert.Equal(t, "1.5M", thousands(1.5e6))
	assert.Equal(t, "0", trim(-0.0000000001))
	assert.Equal(t, "0.67", cores(40_000))
	assert.Equal(t, "1:30", clock(90))
	assert.Equal(t, "-0:30", clock(-30))
	assert.Equal(t, "1,234,567.0", number(1234567, 1))
	assert.Equal(t, "-1,234", number(-1234, 0))
	assert.Equal(t, "–", number(Unknown, 1))
	assert.Equal(t, "40%", percent(0.4))
	assert.Equal(t, "4.2%", percent(0.042))
}

func TestNiceSteps(t *testing.T) {
	assert.InDelta(t, 20, niceStep(60, 4), 1e-12)
	assert.InDelta(t, 25, niceStep(100, 4), 1e-12)
	assert.InDelta(t, 1, niceStep(0, 4), 1e-12)
	assert.InDelta(t, 30, niceTime(290, 12), 1e-12)
	labels := ticks(0, 60, 20, trim)
	assert.Equal(t, "60", labels[3].Label)
	assert.Len(t, labels, 4)
}
