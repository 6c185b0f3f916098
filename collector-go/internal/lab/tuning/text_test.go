package tuning_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

func TestThingsAreCounted(t *testing.T) {
	assert.Equal(t, "1 trial", tuning.Counted(1, "trial"))
	assert.Equal(t, "0 trials", tuning.Counted(0, "trial"))
	assert.Equal(t, "2 capacities", tuning.Counted(2, "capacity"))
	assert.Equal(t, "3 launches", tuning.Counted(3, "launch"))
	assert.Equal(t, "1,162 open configurations", tuning.Counted(1162, "open configuration"))
}
