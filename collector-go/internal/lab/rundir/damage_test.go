package rundir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/rundir"
)

func damaged(t *testing.T, damage func(dir string)) (*rundir.Run, error) {
	dir := filepath.Join(t.TempDir(), "run")
	writeSample(t, dir)
	damage(dir)
	return rundir.Read(dir)
}

func TestAStepThatWasChangedIsRefused(t *testing.T) {
	_, err := damaged(t, func(dir string) {
		path := filepath.Join(dir, rundir.StepFile(samplePlan().Trials[0], 2))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(text, ' '), 0o644))
	})
	require.ErrorContains(t, err, "is not what was written")
	require.ErrorContains(t, err, "steps/02.json")
}

// A crash in the middle of an event leaves half a line: it shows nothing, and the run goes on behind what was whole.
func TestHalfAnEventIsNone(t *testing.T) {
	half := func(dir string) {
		require.NoError(t, os.Truncate(filepath.Join(dir, rundir.ProgressFile), 300))
	}
	run, err := damaged(t, half)
	require.NoError(t, err)
	require.Len(t, run.Events, 4)

	dir := filepath.Join(t.TempDir(), "run")
	writeSample(t, dir)
	half(dir)
	w, err := rundir.Open(dir)
	require.NoError(t, err)
	require.NoError(t, w.Record(rundir.Event{AtMs: 1, Kind: rundir.RunResumed}))
	require.NoError(t, w.Close())
	run, err = rundir.Read(dir)
	require.NoError(t, err)
	require.Len(t, run.Events, 5)
	assert.Equal(t, rundir.RunResumed, run.Events[4].Kind)
}

func TestADirectoryOfSomethingElseIsSaidToBe(t *testing.T) {
	_, err := rundir.Read(t.TempDir())
	require.ErrorIs(t, err, rundir.ErrNoRun)
	_, err = rundir.Open(t.TempDir())
	require.ErrorIs(t, err, rundir.ErrNoRun)
	_, err = rundir.Create(sample, nil, rundir.Plan{}, rundir.Manifest{})
	require.ErrorContains(t, err, "holds a run already")
}

// A step that has its file but not its event was under way when the run ended.
func TestAStepWithoutItsEventIsNotFinished(t *testing.T) {
	run, err := damaged(t, func(dir string) {
		path := filepath.Join(dir, rundir.ProgressFile)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		lines := 0
		for i, b := range text {
			if b == '\n' {
				lines++
			}
			if lines == 5 { // run, trial, rate, step, its end
				require.NoError(t, os.Truncate(path, int64(i+1)))
				break
			}
		}
	})
	require.NoError(t, err)
	assert.Equal(t, rundir.Underway, run.Trials[0].State)
	assert.Len(t, run.Trials[0].Steps, 1)
	assert.Equal(t, rundir.Waiting, run.Trials[1].State)
}
