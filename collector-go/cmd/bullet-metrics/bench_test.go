package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// asProgram is the environment in which the tests' binary is the program itself, for commands that start it.
const asProgram = "BULLET_METRICS_TESTS_RUN_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// keys are those of an object of JSON.
func keys(t *testing.T, text []byte) (all []string) {
	var object map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &object), string(text))
	for key := range object {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

// A small run with a collector of its own: what was written is counted and added up by the command itself, which fails
// where it differs.
func TestBenchIngest(t *testing.T) {
	t.Setenv(asProgram, "1")
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	printed, err := program("bench", "ingest", "--hosts", "50", "--rows", "3000", "--rows-per-batch", "20", "--clients",
		"1,2", "--step", "5s", "--duration", "0",
		"--dir", dir, "--out", out, "--output", "json", "--worker-samples", "10")
	require.NoError(t, err)
	assert.Equal(t, []string{"ack_ms", "disk_bytes_per_sample", "machine", "rejected", "rows_per_s", "samples_per_s",
		"samples_per_server_cpu_second", "server_rss_mib", "settings",
		"stages", "steps", "version"}, keys(t, []byte(printed)))
	var result bench.IngestResult
	require.NoError(t, json.Unmarshal([]byte(printed), &result))
	require.Len(t, result.Steps, 2)
	for i, s := range result.Steps {
		assert.Equal(t, i+1, s.Clients)
		assert.Equal(t, 3000, s.Rows)
		assert.Equal(t, 30000, s.Samples)
		assert.Equal(t, "rows", s.EndedBy)
		for _, stage := range []string{"accept", "journal", "extract", "write"} {
			assert.Positive(t, s.Stages[stage].Count, stage)
			assert.Positive(t, s.Stages[stage].P50, stage)
			assert.GreaterOrEqual(t, s.Stages[stage].P99, s.Stages[stage].P50, stage)
		}
		for _, bytes := range []float64{s.WireBytes, s.Journal} { // a whole number takes two, of the double's eight
			assert.Greater(t, bytes, 2.0)
			assert.Less(t, bytes, 8.0)
		}
		require.NotNil(t, s.Disk)
		assert.Positive(t, *s.Disk)
		assert.Positive(t, s.ServerMiB)
		assert.Positive(t, s.Ack.P50)
		assert.Equal(t, int(s.SamplesPerS/10), s.Workers)
	}
	assert.Empty(t, result.Steps[0].SaturatedBy)
	assert.Equal(t, "clients", result.Steps[1].SaturatedBy)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left, "what the collector kept is removed")

	page, err := os.ReadFile(filepath.Join(out, "ingest.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "workers of your kind (10 samples/s each)")
	assert.Contains(t, string(page), "<svg")
	analyzed, err := program("tune", "analyze", "scaling", "--input", filepath.Join(out, "scaling.csv"))
	require.NoError(t, err)
	assert.Contains(t, analyzed, "Scaling: rows_per_s over senders")
}

// A collector that runs already is measured by what it states of itself.
func TestBenchIngestOfACollectorThatRuns(t *testing.T) {
	c := startCollector(t, settings(filepath.Join(t.TempDir(), "data")))
	printed, err := program("bench", "ingest", "--hosts", "20", "--rows", "400", "--clients", "3", "--duration", "0",
		"--out", "none", "--output", "json",
		"--grpc", c.col.grpcListener.Addr().String(), "--collector", c.col.httpListener.Addr().String())
	require.NoError(t, err)
	var result bench.IngestResult
	require.NoError(t, json.Unmarshal([]byte(printed), &result))
	require.Len(t, result.Steps, 1)
	assert.Equal(t, 4000, result.Steps[0].Samples)
	assert.Positive(t, result.ServerRSSMiB)
}

// Small senders: what the first part wrote is read back, what the second sent is in the books; else the command fails.
func TestBenchSenders(t *testing.T) {
	t.Setenv(asProgram, "1")
	printed, err := program("bench", "senders", "--streams", "5", "--workers", "10", "--over", "2", "--duration", "1s",
		"--dir", t.TempDir(), "--output", "json")
	require.NoError(t, err)
	var result bench.SendersResult
	require.NoError(t, json.Unmarshal([]byte(printed), &result))
	assert.Equal(t, 5, result.Saturated.Clients)
	assert.Zero(t, result.Saturated.Samples%(5*100*10), "whole slices of 100 metrics")
	assert.Positive(t, result.Saturated.Samples)
	assert.Equal(t, 1000, result.Paced.Samples)
	assert.Equal(t, 2, result.Paced.Streams)
}

func TestBenchQuery(t *testing.T) {
	t.Setenv(asProgram, "1")
	printed, err := program("bench", "query", "--hosts", "10", "--span", "1h", "--dir", t.TempDir(), "--output", "json")
	require.NoError(t, err)
	var result bench.QueryResult
	require.NoError(t, json.Unmarshal([]byte(printed), &result))
	assert.Equal(t, 36000, result.Written.Samples)
	require.Len(t, result.Queries, 4)
	for _, q := range result.Queries {
		assert.Greater(t, q.AnswerBytes, 100, "%s finds something", q.Expression)
	}
	assert.Greater(t, result.Queries[2].AnswerBytes, 3600, "every slice of every worker")
}

func TestBenchOfWrongUsage(t *testing.T) {
	for _, args := range [][]string{
		{"ingest", "--step", "7s"},
		{"ingest", "--clients", "0"},
		{"ingest", "--clients", "1001"},
		{"ingest", "--hosts", "0"},
		{"ingest", "--rows-per-batch", "0"},
		{"ingest", "--rows", "10"},
		{"ingest", "--worker-samples", "0"},
		{"ingest", "--output", "yaml"},
		{"ingest", "--grpc", "nowhere"},
		{"ingest", "--token-file", "token"},
		{"senders", "--streams", "1001"},
		{"senders", "--workers", "0"},
		{"query", "--span", "23h"},
		{"query", "--hosts", "0"},
		{"injest"},
	} {
		_, err := program(append([]string{"bench"}, args...)...)
		assert.Equal(t, exitUsage, exitCode(err), "%v: %v", args, err)
	}
}
