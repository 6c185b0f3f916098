package tuning_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

func TestMirroredLoads(t *testing.T) {
	for expected, want := range map[float64][]float64{100: {0, 25, 50, 50, 25, 0}, 4: {0, 1, 2, 2, 1, 0},
		7: {0, 1, 3, 3, 1, 0}, 3: {}, 0: {}, -5: {}} {
		assert.Equal(t, want, tuning.MirroredLoads(expected), "%g", expected)
	}
	assert.Empty(t, tuning.MirroredLoads(float64(tuning.Unknown)))
}

func TestATopologyThatComesToRest(t *testing.T) {
	for name, c := range map[string]struct {
		costs []tuning.Figure
		want  bool
	}{
		"compiling":      {[]tuning.Figure{9, 7, 6, 5, 4.5, 4.2}, false},
		"at rest":        {[]tuning.Figure{9, 7, 4, 4.1, 3.9, 4, 4.1, 4}, true},
		"too few":        {[]tuning.Figure{4, 4, 4, 4, 4}, false},
		"a gap":          {[]tuning.Figure{4, 4, tuning.Unknown, 4, 4, 4}, false},
		"a gap long ago": {[]tuning.Figure{tuning.Unknown, 4, 4, 4, 4, 4, 4}, true},
		"rising":         {[]tuning.Figure{4, 4, 4, 4.3, 4.3, 4.3}, false},
	} {
		assert.Equal(t, c.want, tuning.Steady(c.costs), name)
	}
}
