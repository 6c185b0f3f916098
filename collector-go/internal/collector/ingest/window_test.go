package ingest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAcknowledgementStaysBelowWhatIsUnderWay covers a sender that goes back without being asked.
func TestAcknowledgementStaysBelowWhatIsUnderWay(t *testing.T) {
	var w window
	w.launch(7, nil)
	w.launch(3, nil)
	w.land(true)
	sequence, _, ok := w.acknowledgement()
	require.True(t, ok)
	require.Equal(t, uint64(2), sequence)
	w.land(true)
	sequence, _, ok = w.acknowledgement()
	require.True(t, ok)
	require.Equal(t, uint64(7), sequence)
	_, _, ok = w.acknowledgement()
	require.False(t, ok, "it is said once")
}

// TestSkippedBatchIsNotOvertaken checks that after 1 was refused, 2 was skipped and the sender abandoned 1, batch 3 is
// not accepted before 2.
func TestSkippedBatchIsNotOvertaken(t *testing.T) {
	var w window
	require.True(t, w.takes(1, 1))
	require.True(t, w.refuse(1))
	require.False(t, w.takes(2, 1))
	require.False(t, w.takes(3, 2))
	require.True(t, w.takes(2, 2))
	require.True(t, w.takes(3, 2))
}
