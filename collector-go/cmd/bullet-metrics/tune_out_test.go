package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run that cannot be launched removes its directory, so --out never names one that holds something else: all of that
// would be gone.
func TestARunThatCannotBeLaunchedRemovesNobodysFiles(t *testing.T) {
	dir := t.TempDir()
	theirs := filepath.Join(dir, "thesis.txt")
	for path, text := range map[string]string{theirs: "years", filepath.Join(dir, "x.yaml"): "bullet.topology.name: x\n",
		filepath.Join(dir, "mine.yaml"): formedExperiment} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	_, err := program("tune", "run", filepath.Join(dir, "mine.yaml"), "--build-dir", filepath.Join(dir, "none"), "--out", dir)
	require.ErrorContains(t, err, "the directory is not empty; choose a new one")
	assert.Equal(t, exitUsage, exitCode(err))
	assert.FileExists(t, theirs)
}
