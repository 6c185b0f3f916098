package feed

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/journal"
)

func TestRetentionWaitsForTheSlowestFeed(t *testing.T) {
	var released []journal.Position
	r := NewRetention(func(p journal.Position) error { released = append(released, p); return nil })
	r.Join("fast")
	r.Join("slow")
	require.NoError(t, r.Need("fast", 100))
	assert.Empty(t, released, "the slow feed has not said what it needs")
	require.NoError(t, r.Need("slow", 40))
	require.NoError(t, r.Need("fast", 200))
	assert.Equal(t, []journal.Position{40, 40}, released)
}
