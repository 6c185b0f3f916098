package spec_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/spec"
)

const experiments = "../../../topology/experiments"

// The files that ship are whole: each can be read and planned, and its Bullet YAML is there.
func TestTheShippedExperimentsArePlanned(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(experiments, "test*.yaml"))
	require.NoError(t, err)
	require.Len(t, files, 20, "Tests 1 to 7, each also small, 3 to 7 also small from Kafka, 3 also through DRPC")
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, text, err := spec.Read(path)
			require.NoError(t, err)
			require.NotEmpty(t, text)
			assert.Equal(t, strings.TrimSuffix(filepath.Base(path), ".yaml"), f.Experiment)
			assert.FileExists(t, f.Conf())
			plan := f.Plan()
			require.NotEmpty(t, plan.Trials)
			for _, trial := range plan.Trials {
				assert.NotEmpty(t, trial.Steps, trial.Label)
			}
			assert.NotEmpty(t, plan.Caveats)
			assert.Equal(t, strings.HasSuffix(f.Experiment, "-small"), plan.Launch == "local")
		})
	}
}
