package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

const commandExperiment = `experiment: mine
title: Mine
analysis: queries
goals: [{figure: result_size, at_least: 9}]
topology: {conf: conf.yaml}
steps: {values: [10]}
launch:
  command: {submit: ["true", "{name}"], kill: ["true"], collector: "127.0.0.1:1", gateway: "127.0.0.1:1", workers: 1, gateway_capacity: 500, partitions: 64}
load: {records_per_second: 5}
`

// What an experiment's file says of what is around a topology is what its steps are explained by.
func TestWhatIsAroundATopologyIsInItsFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "conf.yaml"), []byte("a: 1\n"), 0o644))
	for name, c := range map[string]struct {
		text string
		want measure.Environment
	}{
		"gateway": {commandExperiment, measure.Environment{Endpoint: tuning.EndpointGateway, EndpointCapacity: 500,
			Partitions: 64}},
		"not reported": {strings.Replace(commandExperiment, ", gateway_capacity: 500, partitions: 64", "", 1),
			measure.Environment{Endpoint: tuning.EndpointGateway}},
		"through DRPC": {strings.NewReplacer(" gateway_capacity: 500,", "", "load: {",
			"load: {submit: drpc, drpc: [\"127.0.0.1:1\"], drpc_threads: 200, ").Replace(commandExperiment),
			measure.Environment{Endpoint: tuning.EndpointDRPC, EndpointCapacity: 200, Partitions: 64}},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := experimentfile.Parse(filepath.Join(dir, "mine.yaml"), []byte(c.text))
			require.NoError(t, err)
			run := &runstore.Run{Plan: file.Plan()}
			launcher, err := new(engine).command(file, run)
			require.NoError(t, err)
			launched, err := launcher.Launch(t.Context(), run.Plan.Trials[0], "mine-01")
			require.NoError(t, err)
			c.want.HostOfRun = true
			assert.Equal(t, c.want, launched.Environment)
			require.NoError(t, launcher.Stop(nil))
		})
	}
}
