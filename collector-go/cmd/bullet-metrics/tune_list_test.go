package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

func TestListShowsEachRunsVerdict(t *testing.T) {
	out, err := tune(t, "list", "../../internal/lab/runstore/testdata")
	require.NoError(t, err)
	assert.Contains(t, out, "FAIL")
	assert.Contains(t, out, "1 filter bolts: holds 40, fails at 80")
	assert.Contains(t, out, "2 of 3, 1 failed")
	assert.Regexp(t, `RECORDS/S +MIB/S +CAPACITY`, out)
	assert.Regexp(t, ` 1,467\.8 +2\.58 `, out, "eight steps of 1,500 records/s and one of 1,210")

	dir := t.TempDir()
	for i, name := range []string{"first", "second"} {
		w, err := runstore.Create(filepath.Join(dir, name), []byte("x"), runstore.Plan{Experiment: name},
			runstore.Manifest{StartedMs: int64(i)})
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	out, err = tune(t, "list", dir, "--last", "1")
	require.NoError(t, err)
	assert.Contains(t, out, "second")
	assert.NotContains(t, out, "first")
	assert.Contains(t, out, "running or interrupted")
	out, err = tune(t, "list", dir, "--output", "json")
	require.NoError(t, err)
	assert.Contains(t, out, `"experiment": "first"`)

	_, err = tune(t, "list", filepath.Join(dir, "none"))
	require.ErrorContains(t, err, "there are no runs in")
	_, err = tune(t, "list", dir, dir)
	assert.Equal(t, exitUsage, code(err))
}

func TestRunRefusesWhatItCannotRun(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"nothing": {[]string{"run"}, exitUsage, "needs either an experiment file, or --resume"},
		"both":    {[]string{"run", smallest, "--resume", "."}, exitUsage, "needs either an experiment file"},
		"no file": {[]string{"run", "none.yaml"}, exitFailed, "none.yaml"},
		"no run":  {[]string{"run", "--resume", t.TempDir()}, exitFailed, "not a run directory"},
		"a run there": {[]string{"run", smallest, "--out", "../../internal/lab/runstore/testdata/sample"}, exitUsage,
			"the directory is not empty"},
		"not built": {[]string{"run", smallest, "--out", filepath.Join(t.TempDir(), "x"), "--build-dir", t.TempDir()},
			exitFailed, "run make build"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tune(t, c.args...)
			require.ErrorContains(t, err, c.want)
			assert.Equal(t, c.code, code(err))
		})
	}
}
