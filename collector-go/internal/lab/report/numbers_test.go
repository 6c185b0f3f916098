package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNumbersAsPeopleReadThem(t *testing.T) {
	assert.Equal(t, "0.67", cores(40_000))
	assert.Equal(t, "0 cores", cores(0))
	assert.Equal(t, "1,234,567.0", number(1234567, 1))
	assert.Equal(t, "-1,234", number(-1234, 0))
	assert.Equal(t, "–", number(Unknown, 1))
}
