package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/accesstest"
)

// What limited a topology is judged from what a client would read, without being one: the port asks for a token, which
// the collector has not.
func TestACollectorJudgesFromItsOwnSlices(t *testing.T) {
	dir := t.TempDir()
	c := settings(dir)
	c.HTTP.TokenFile = accesstest.TokenFile(t, filepath.Join(dir, "tokens"), "reader read")
	secret := filepath.Join(dir, "reader")
	require.NoError(t, os.WriteFile(secret, []byte("reader"), 0o600))
	r := startCollector(t, c)
	end := time.Now().Truncate(10 * time.Second)
	r.send(minute(1, end))

	client, err := measure.NewCollector(r.col.httpListener.Addr().String(),
		measure.CollectorAccess{TokenFile: secret})
	require.NoError(t, err)
	stranger, err := measure.NewCollector(r.col.httpListener.Addr().String(), measure.CollectorAccess{})
	require.NoError(t, err)
	_, err = stranger.Topology(t.Context(), "t")
	require.Error(t, err)

	over := measure.TimeRange{From: end.Add(-50 * time.Second), To: end.Add(-20 * time.Second),
		Width: c.Slice.Width, Workers: 1}
	require.Eventually(t, func() bool {
		series, err := client.Slices(t.Context(), `bullet_worker_cpu_seconds_total{topology="t"}`, over.From, over.To)
		return err == nil && len(series) == 1 && len(series[0].Slices.TimesMs) == 3
	}, time.Minute, 50*time.Millisecond)
	asked, err := client.Topology(t.Context(), "t")
	require.NoError(t, err)
	known, err := r.col.topology("t")
	require.NoError(t, err)
	assert.Equal(t, asked.Workers, known.Workers)

	byHTTP, err := measure.GatherEvidence(t.Context(), client, asked, over)
	require.NoError(t, err)
	assert.InDelta(t, 0.4, float64(byHTTP.Workers.CPUCores), 0.001)
	own, err := measure.GatherEvidence(t.Context(), stored{r.col.engine}, known, over)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprint(byHTTP), fmt.Sprint(own), "as text, since what is unknown is not a number")
	text, _, err := r.col.limitation(c.Slice.Width)(t.Context(), "t", over.From, over.To, over.From)
	require.NoError(t, err)
	assert.NotEmpty(t, text)
	_, _, err = r.col.limitation(c.Slice.Width)(t.Context(), "u", over.From, over.To, over.From)
	assert.ErrorContains(t, err, "topology u has not reported")
}
