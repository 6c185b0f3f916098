package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

func TestNumbersAsPeopleReadThem(t *testing.T) {
	assert.Equal(t, "0.67", cores(40_000))
	assert.Equal(t, "0 cores", cores(0))
	assert.Equal(t, "1,234,567.0", tuning.Fixed(1234567, 1))
	assert.Equal(t, "-1,234", tuning.Fixed(-1234, 0))
	assert.Equal(t, "–", tuning.Fixed(Unknown, 1))
}
