package checkpoint

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTransfersHoldTheNewestState(t *testing.T) {
	d := NewTransfers()
	changed, stop := d.Watch("t")
	assert.Empty(t, changed)
	_, there := d.Newest("t")
	assert.False(t, there)
	d.Put("t", TransferState{Sequence: 1})
	d.Put("t", TransferState{Sequence: 2})
	<-changed
	assert.Empty(t, changed, "one token for both")
	state, there := d.Newest("t")
	require.True(t, there)
	assert.EqualValues(t, 2, state.Sequence)
	late, stopLate := d.Watch("t")
	<-late // the state that already exists
	stopLate()
	d.Keep(func(topology string) bool { return topology == "t" })
	_, there = d.Newest("t")
	assert.True(t, there)
	d.Keep(func(string) bool { return false })
	_, there = d.Newest("t")
	assert.False(t, there)
	stop()
	assert.Empty(t, d.states, "nothing is left of a topology that nobody asks for")
}
