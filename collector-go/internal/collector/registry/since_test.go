package registry

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// AnnotationsSince returns exactly the annotations that changed after a position, whether a client or the registry made
// them. After a restart from a checkpoint it must not miss any that changed after an earlier position.
func TestAnnotationsSinceAPosition(t *testing.T) {
	w := newWorld(t)
	since := func(after uint64) (titles []string, upTo uint64) {
		changed, upTo := w.registry.AnnotationsSince(after)
		for _, a := range changed {
			titles = append(titles, a.Title)
		}
		return titles, upTo
	}
	w.seconds(1)
	w.annotated(1)
	require.Eventually(t, func() bool { return w.registry.Position() >= uint64(w.journal.Durable()) }, backoff,
		time.Millisecond)
	made, first := since(0)
	assert.Equal(t, []string{"Topology t submitted"}, made)
	none, _ := since(first)
	assert.Empty(t, none)
	step, err := w.registry.Annotate(t.Context(), Annotation{Topology: "t", Title: "Step", Tags: []string{Step}})
	require.NoError(t, err)
	set, second := since(first)
	assert.Equal(t, []string{"Step"}, set)
	assert.Greater(t, second, first)
	_, err = w.registry.Annotate(t.Context(), Annotation{ID: step.ID, Topology: "t", EndMs: step.TimeMs + 5})
	require.NoError(t, err)
	set, third := since(second)
	assert.Equal(t, []string{"Step"}, set, "its end")
	w.close()
	w.open()
	set, _ = since(second)
	assert.Contains(t, set, "Step")
	_, err = w.registry.Annotate(t.Context(), Annotation{Topology: "t", Title: "After"})
	require.NoError(t, err)
	_, last := since(0)
	assert.Greater(t, last, third)
	set, _ = since(last)
	assert.Empty(t, set)
	w.close()
}
