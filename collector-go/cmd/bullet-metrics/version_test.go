package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// One version wherever this program states one: its commands, its figures and the manifest that a run's report shows.
func TestTheVersionIsStatedEverywhere(t *testing.T) {
	unstamped := version
	version = "7.8.9"
	t.Cleanup(func() { version = unstamped })

	printed, err := program("--version")
	require.NoError(t, err)
	assert.Equal(t, "bullet-metrics version 7.8.9\n", printed)

	printed, err = program("version")
	require.NoError(t, err)
	assert.Regexp(t, `^bullet-metrics 7\.8\.9 \(go1\.\S+, \w+/\w+\)\n$`, printed)

	printed, err = program("version", "--output", "json")
	require.NoError(t, err)
	var b built
	require.NoError(t, json.Unmarshal([]byte(printed), &b))
	assert.Equal(t, "7.8.9", b.Version)

	r := startCollector(t, settings(t.TempDir()))
	response, err := http.Get(fmt.Sprintf("http://%s/metrics", r.col.httpListener.Addr()))
	require.NoError(t, err)
	defer response.Body.Close()
	figures, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Contains(t, string(figures), `,version="7.8.9"} 1`)

	assert.Equal(t, "7.8.9", manifestOf(t, "test1-small.yaml").Versions.BulletMetrics)
}
