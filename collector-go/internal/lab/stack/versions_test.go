package stack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersionsOfWhatRuns(t *testing.T) {
	o := build(t, "")
	lib := filepath.Join(o.BuildDir, "kafka", "lib")
	require.NoError(t, os.MkdirAll(lib, 0o755))
	for _, jar := range []string{"kafka-clients-4.1.1.jar", "kafka_2.13-4.1.1.jar", "gson-2.14.0.jar"} {
		require.NoError(t, os.WriteFile(filepath.Join(lib, jar), nil, 0o644))
	}
	assert.Empty(t, o.KafkaVersion(), "no broker")
	o.Kafka = &Kafka{Partitions: 2}
	assert.Equal(t, "4.1.1", o.KafkaVersion())
	o.Kafka.Bootstrap = "kafka.example:9092"
	assert.Empty(t, o.KafkaVersion(), "one that is there is not ours")

	o.Java = filepath.Join(o.BuildDir, "java")
	require.NoError(t, os.WriteFile(o.Java,
		[]byte("#!/bin/sh\necho 'openjdk version \"17.0.9\" 2023-10-17' >&2\necho more >&2\n"), 0o755))
	java, err := o.JavaVersion(t.Context())
	require.NoError(t, err)
	assert.Equal(t, `openjdk version "17.0.9" 2023-10-17`, java)
	o.Java = filepath.Join(o.BuildDir, "none")
	_, err = o.JavaVersion(t.Context())
	require.ErrorContains(t, err, "get the version of "+o.Java)
}
