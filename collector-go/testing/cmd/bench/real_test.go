//go:build chaos

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
)

// TestMain is the floor program where a test starts it, as main is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == floorCommand {
		main()
		return
	}
	os.Exit(m.Run())
}

// The built program and the floor are measured, little of each, and a peer that is not there is named; what was
// measured is not measured again.
func TestOursAndTheFloorAreMeasured(t *testing.T) {
	build, err := filepath.Abs("../../../../build")
	require.NoError(t, err)
	dir := t.TempDir()
	s := &session{program: filepath.Join(build, "bullet-metrics"), tools: filepath.Join(dir, "no-peers"),
		repository: "../../../..", out: dir,
		dir: filepath.Join(dir, "data"), quick: true, scale: 0.01, rounds: 1, seed: 1}
	measure := func() *goal.File {
		chosen, err := choose(s.scenarios(), []string{goal.SixtyToOne, goal.SmallMessages})
		require.NoError(t, err)
		require.NoError(t, s.measure(t.Context(), chosen, false))
		f, there, err := goal.Read(s.path())
		require.NoError(t, err)
		require.True(t, there)
		return f
	}
	f := measure()
	for _, of := range []struct{ scenario, subject string }{{goal.SixtyToOne, goal.Ours},
		{goal.SixtyToOne, goal.Floor}, {goal.SmallMessages, goal.Ours}} {
		figure := f.Pieces.Figure(of.scenario, of.subject, "samples_per_cpu_second")
		require.Empty(t, figure.Why, "%s of %s", of.scenario, of.subject)
		assert.Positive(t, figure.Value, "%s of %s", of.scenario, of.subject)
	}
	victoria := f.Pieces.Figure(goal.SmallMessages, "victoria", "samples_per_cpu_second")
	assert.Contains(t, victoria.Why, "victoria-metrics")
}
