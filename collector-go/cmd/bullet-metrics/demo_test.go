package main

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSecondsOfTheEnvironment(t *testing.T) {
	t.Setenv(secondsVariable, "90")
	o := demoOptions{seconds: 180}
	require.NoError(t, o.setSeconds(false))
	assert.Equal(t, 90, o.seconds)
	t.Setenv(secondsVariable, "soon")
	assert.ErrorContains(t, o.setSeconds(false), `DEMO_SECONDS="soon" is not a whole number of seconds`)
	assert.NoError(t, o.setSeconds(true), "the flag is given")
}

// A demo that cannot start, because a collector has its port, leaves the report and the logs of the one before.
func TestADemoOnABusyPortRemovesNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	build, out := t.TempDir(), t.TempDir()
	for _, name := range []string{"local-storm.jar", "storm", "bullet-topology.jar", "bullet-metrics-storm.jar",
		"bullet.yaml"} {
		require.NoError(t, os.WriteFile(filepath.Join(build, name), []byte("a: 1\n"), 0o644))
	}
	kept := map[string]string{"report.html": "a report", "trials/one": "a trial", "logs/collector.log": "a log"}
	for name, text := range kept {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(out, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(out, name), []byte(text), 0o644))
	}
	_, err = program("demo", "--out", out, "--build-dir", build, "--bullet-conf", filepath.Join(build, "bullet.yaml"),
		"--http-listen", listener.Addr().String())
	require.ErrorContains(t, err, "cannot listen on "+listener.Addr().String())
	for name, text := range kept {
		found, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		assert.Equal(t, text, string(found))
	}
}
