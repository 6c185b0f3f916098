package stack

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOneRunAtATimeHoldsADirectory(t *testing.T) {
	dir := t.TempDir()
	first, err := enter(dir)
	require.NoError(t, err)
	_, err = enter(dir)
	require.ErrorIs(t, err, ErrBusy)
	assert.ErrorContains(t, err, "--out")
	first.leave()
	first.leave()
	second, err := enter(dir)
	require.NoError(t, err)
	second.leave()
}

func TestLeftoversAreEndedAndNothingElse(t *testing.T) {
	left, stubborn, stranger := sh(t, `exec sleep 60`, false), sh(t, `exec sleep 60`, false),
		sh(t, `exec sleep 60`, false)
	dir := t.TempDir()
	killed, err := enter(dir)
	require.NoError(t, err)
	require.NoError(t, killed.note("left", left.Pid()))
	require.NoError(t, killed.note("stubborn", stubborn.Pid()))
	killed.started = append(killed.started, identity{Name: "a pid given out again", Pid: stranger.Pid(), StartTicks: 1})
	require.NoError(t, killed.save())
	killed.leave()

	next, err := enter(dir)
	require.NoError(t, err)
	defer next.leave()
	names, err := next.endLeftovers()
	require.NoError(t, err)
	assert.Equal(t, []string{"left", "stubborn"}, names)
	<-left.Done()
	<-stubborn.Done()
	select {
	case <-stranger.Done():
		t.Fatal("a process that only has the pid of a recorded one was ended")
	default:
	}
	assert.True(t, stranger.stop(never, nil))
}

func TestABrokenRecordIsReported(t *testing.T) {
	w, err := enter(t.TempDir())
	require.NoError(t, err)
	defer w.leave()
	names, err := w.endLeftovers()
	require.NoError(t, err)
	assert.Empty(t, names, "no record, nothing to end")
	require.NoError(t, os.WriteFile(w.recordPath(), []byte("{"), 0o644))
	_, err = w.endLeftovers()
	assert.ErrorContains(t, err, "remove it")
}
