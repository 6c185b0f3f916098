package experimentfile_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
)

const experiments = "../../../../topology/experiments"

// The shipped files are complete: each can be read and planned, and its Bullet YAML exists.
func TestTheShippedExperimentsArePlanned(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(experiments, "test*.yaml"))
	require.NoError(t, err)
	require.Len(t, files, 20, "Tests 1 to 7, each also small, 3 to 7 also small from Kafka, 3 also through DRPC")
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, text, err := experimentfile.Read(path)
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

// A topology that a command launches reads its owner's data. Their schema and size are unknown unless the file states
// them. A local launch has our generator.
func TestTheShapeOfSomebodyElsesRecordsIsUnknown(t *testing.T) {
	const command = `experiment: own
title: On our own data
analysis: queries
goals: [{figure: filter_latency, statistic: mean, at_most: 200ms}]
topology: {conf: x.yaml}
steps: {values: [10], warm_up: 10s, sustain: 15s}
load: {records_per_second: 300}
launch:
  command: {submit: [storm, jar, own.jar, "{name}"], kill: [storm, kill, "{name}"], collector: "h:9320", gateway: "h:9901", gateway_capacity: 100, workers: 1}
  slice_width: 5s
  slice_lateness: 2s
`
	own, err := experimentfile.Parse("own.yaml", []byte(command))
	require.NoError(t, err)
	assert.Equal(t, experimentfile.Records{}, own.Records)
	assert.False(t, own.Manifest().Records.MeanRecordBytes.Known())
	assert.False(t, own.Plan().Load.MeanRecordBytes.Known())

	stated, err := experimentfile.Parse("own.yaml", []byte(command+"records: {fields: 7}\n"))
	require.NoError(t, err)
	assert.Equal(t, experimentfile.Records{Fields: 7}, stated.Records)
}
