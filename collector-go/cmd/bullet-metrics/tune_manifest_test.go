package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

func manifestOf(t *testing.T, experiment string) runstore.Manifest {
	t.Helper()
	dir := t.TempDir()
	lib := filepath.Join(dir, "kafka", "lib")
	require.NoError(t, os.MkdirAll(lib, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(lib, "kafka-clients-4.1.1.jar"), nil, 0o644))
	bin := filepath.Join(dir, "bin")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "java"),
		[]byte("#!/bin/sh\necho 'openjdk version \"17.0.9\"' >&2\n"), 0o755))
	t.Setenv("JAVA_HOME", dir)
	file, _, err := experimentfile.Read("../../../topology/experiments/" + experiment)
	require.NoError(t, err)
	e := engine{build: dir}
	return e.manifest(t.Context(), file, time.UnixMilli(1))
}

// On the local cluster this machine is the only one, and Kafka's version is that of the broker that is started.
func TestTheManifestOfALocalRun(t *testing.T) {
	m := manifestOf(t, "test1-small.yaml")
	assert.Equal(t, runstore.OnlyMachine, m.Machine.Role)
	assert.Contains(t, m.Machine.Network, "all over loopback; ")
	assert.Equal(t, "4.1.1", m.Versions.Kafka)
	assert.Equal(t, `openjdk version "17.0.9"`, m.Versions.Java)
	assert.Positive(t, m.Machine.Cores)
	assert.InDelta(t, 1, float64(m.Records.CompressionRatio), 0)
	assert.Nil(t, m.Cluster)
	assert.Empty(t, manifestOf(t, "test3-small.yaml").Versions.Kafka, "its topology makes its records itself")
}

// A command launches on machines that only its file describes: 47 of 48 cores of the document's.
func TestTheManifestOfARunOnACluster(t *testing.T) {
	m := manifestOf(t, "test5.yaml")
	assert.Equal(t, runstore.LoadHost, m.Machine.Role)
	assert.Empty(t, m.Versions.Kafka, "the broker of the local cluster is not there")
	require.NotNil(t, m.Cluster)
	assert.Equal(t, 48, m.Cluster.Cores)
	assert.InDelta(t, 47, float64(m.Cluster.UsableCores), 0)
	assert.InDelta(t, 1.2, float64(m.Records.CompressionRatio), 0)
}
