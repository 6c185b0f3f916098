package query

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A client with many queries waits only for itself. A query of another client runs at once, before the queued queries
// of the first client.
func TestOneClientCannotTakeAllQueries(t *testing.T) {
	turns := newTurnstile(6, nil)
	hostile := WithClient(t.Context(), "hostile")
	var running []int
	for range 4 {
		number, err := turns.Insert(hostile, "")
		require.NoError(t, err)
		running = append(running, number)
	}
	ctx, cancel := context.WithCancel(hostile)
	ended := make(chan error, 50)
	for range 50 {
		go func() {
			_, err := turns.Insert(ctx, "")
			ended <- err
		}()
	}
	good, err := turns.Insert(WithClient(t.Context(), "good"), "")
	require.NoError(t, err)
	second, err := turns.Insert(WithClient(t.Context(), "second"), "")
	require.NoError(t, err)
	turns.Delete(good)
	turns.Delete(second)
	assert.Equal(t, 4, turns.slots.Taken(), "what is free stays free for others than the first")

	cancel()
	for range 50 {
		require.ErrorIs(t, <-ended, context.Canceled)
	}
	assert.Zero(t, turns.queue.Len())
	for _, number := range running {
		turns.Delete(number)
	}
	assert.Zero(t, turns.slots.Taken())
	assert.Empty(t, turns.running)
}

// A waiting query gets a slot when its client may have one again. The order is first in, first out.
func TestWaitersFollow(t *testing.T) {
	turns := newTurnstile(1, nil)
	first, err := turns.Insert(t.Context(), "")
	require.NoError(t, err)
	entered := make(chan int, 2)
	for range 2 {
		go func() {
			number, err := turns.Insert(t.Context(), "")
			assert.NoError(t, err)
			entered <- number
		}()
	}
	turns.Delete(first)
	turns.Delete(<-entered)
	turns.Delete(<-entered)
	turns.Delete(first)
	assert.Zero(t, turns.slots.Taken(), "what was given back is not given back again")
}
