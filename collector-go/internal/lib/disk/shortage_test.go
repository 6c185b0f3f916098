package disk

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A shortage lasts only while every Look finds it. A clock step or a pause adds at most ten seconds.
func TestShortage(t *testing.T) {
	var s Shortage
	now := time.Unix(1_700_000_000, 0)
	look := func(short bool, later, want time.Duration, wantBegins bool) {
		t.Helper()
		now = now.Add(later)
		lasted, begins := s.Look(short, now)
		assert.Equal(t, want, lasted)
		assert.Equal(t, wantBegins, begins)
	}
	look(false, 0, 0, false)
	look(true, time.Second, 0, true)
	look(true, time.Second, time.Second, false)
	look(true, time.Hour, 11*time.Second, false)
	look(true, -2*time.Hour, 11*time.Second, false)
	look(true, time.Second, 12*time.Second, false)
	look(false, time.Second, 0, false)
	look(true, time.Second, 0, true)
}
