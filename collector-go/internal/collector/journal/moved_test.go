package journal

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAMoveIsKnownByItsEpoch(t *testing.T) {
	dir := t.TempDir()
	j, err := Open(dir, DefaultOptions())
	require.NoError(t, err)
	b := oneBatch(t, j, 5)
	epoch, series := Epoch{1, 2}, []SeriesID{b.IDs[0]}

	_, known := j.LastSequence("t", epoch)
	assert.False(t, known)
	require.ErrorIs(t, j.AppendControl(&Moved{Producer: b.Producer, State: make([]byte, maxRecordBytes)}), ErrTooLarge)
	require.ErrorContains(t, j.AppendControl(&Moved{Producer: b.Producer + 1}), "undefined")
	require.ErrorContains(t, j.AppendControl(&Moved{Producer: b.Producer, Series: []SeriesID{series[0] + 1000}}), "undefined")
	moved := &Moved{Producer: b.Producer, Epoch: epoch, Series: series, State: []byte("state"), TimeMs: b.ReceivedMs}
	require.NoError(t, j.AppendControl(moved))
	for _, when := range []string{"at once", "after a restart", "after two"} {
		sequence, known := j.LastSequence("t", epoch)
		assert.True(t, known, when)
		assert.Zero(t, sequence, when)
		_, known = j.LastSequence("another", epoch)
		assert.False(t, known, when)
		require.NoError(t, j.Close())
		j, err = Open(dir, DefaultOptions())
		require.NoError(t, err)
	}
	b.Epoch = epoch
	appended(t, j, b)
	sequence, _ := j.LastSequence("t", epoch)
	assert.EqualValues(t, 5, sequence)

	reader, err := j.Reader(0)
	require.NoError(t, err)
	_, entry, _ := next(t, reader)
	assert.Equal(t, moved, entry)
	require.NoError(t, reader.Close())
	require.NoError(t, j.Close())
}
