package runstore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

func damaged(t *testing.T, damage func(dir string)) (*runstore.Run, error) {
	dir := filepath.Join(t.TempDir(), "run")
	writeSample(t, dir)
	damage(dir)
	return runstore.Read(dir)
}

func TestAStepThatWasChangedIsRefused(t *testing.T) {
	_, err := damaged(t, func(dir string) {
		path := filepath.Join(dir, runstore.StepFile(samplePlan().Trials[0], 2))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(text, ' '), 0o644))
	})
	require.ErrorContains(t, err, "was changed: its SHA-256")
	require.ErrorContains(t, err, "steps/02.json")
}

// A crash while an event is written leaves half a line. That line is ignored, and the run continues after the complete
// ones.
func TestHalfAnEventIsNone(t *testing.T) {
	half := func(dir string) {
		require.NoError(t, os.Truncate(filepath.Join(dir, runstore.ProgressFile), 300))
	}
	run, err := damaged(t, half)
	require.NoError(t, err)
	require.Len(t, run.Events, 4)

	dir := filepath.Join(t.TempDir(), "run")
	writeSample(t, dir)
	half(dir)
	w, err := runstore.Open(dir)
	require.NoError(t, err)
	require.NoError(t, w.Record(runstore.Event{AtMs: 1, Kind: runstore.RunResumed}))
	require.NoError(t, w.Close())
	run, err = runstore.Read(dir)
	require.NoError(t, err)
	require.Len(t, run.Events, 5)
	assert.Equal(t, runstore.RunResumed, run.Events[4].Kind)
}

func TestADirectoryOfSomethingElseIsSaidToBe(t *testing.T) {
	_, err := runstore.Read(t.TempDir())
	require.ErrorIs(t, err, runstore.ErrNoRun)
	_, err = runstore.Open(t.TempDir())
	require.ErrorIs(t, err, runstore.ErrNoRun)
	_, err = runstore.Create(sample, nil, runstore.Plan{}, runstore.Manifest{})
	require.ErrorContains(t, err, "already contains a run")
}

// A step that has a file but no event was not finished when the run ended.
func TestAStepWithoutItsEventIsNotFinished(t *testing.T) {
	run, err := damaged(t, func(dir string) {
		path := filepath.Join(dir, runstore.ProgressFile)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		lines := 0
		for i, b := range text {
			if b == '\n' {
				lines++
			}
			if lines == 5 { // events: run, trial, rate, step, end of step
				require.NoError(t, os.Truncate(path, int64(i+1)))
				break
			}
		}
	})
	require.NoError(t, err)
	assert.Equal(t, runstore.Underway, run.Trials[0].State)
	assert.Len(t, run.Trials[0].Steps, 1)
	assert.Equal(t, runstore.Waiting, run.Trials[1].State)
}
