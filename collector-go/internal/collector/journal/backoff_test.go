package journal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestBackoff checks that a damaged stretch costs the whole delay once. A successful read makes the next failure a
// first one.
func TestBackoff(t *testing.T) {
	p := Backoff{First: time.Second, Last: 4 * time.Second, SkipAfter: 10 * time.Second}
	type step struct {
		wait time.Duration
		skip bool
	}
	var steps []step
	fail := func() {
		wait, skip := p.Failed()
		steps = append(steps, step{wait, skip})
	}
	assert.False(t, p.Failing())
	for range 6 {
		fail()
		assert.True(t, p.Failing())
	}
	p.Succeeded()
	assert.False(t, p.Failing())
	fail()
	s := time.Second
	assert.Equal(t, []step{{s, false}, {2 * s, false}, {4 * s, false}, {4 * s, true}, {s, true}, {s, true}, {s, false}},
		steps)
}
