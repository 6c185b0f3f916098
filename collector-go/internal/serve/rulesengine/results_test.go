package rulesengine

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// keep adds one value and returns the number of series in the results.
func keep(t *testing.T, r *Results, name string) int {
	t.Helper()
	app := r.Appender(t.Context())
	_, err := app.Append(0, labels.FromStrings("__name__", name), time.Now().UnixMilli(), 1)
	require.NoError(t, err)
	require.NoError(t, app.Commit())
	q, err := r.Querier(0, time.Now().Add(time.Hour).UnixMilli())
	require.NoError(t, err)
	names, _, err := q.LabelValues(t.Context(), "__name__", nil)
	require.NoError(t, err)
	require.NoError(t, q.Close())
	return len(names)
}

// Whatever happened to the files, results can be opened, accept data, and have them after a restart.
func TestResultsAreDisposable(t *testing.T) {
	for name, harm := range map[string]func(dir string) error{
		"untouched": func(string) error { return nil },
		"gone":      os.RemoveAll,
		"a log that is none": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "wal", "00000000"),
				[]byte("no log at all, but long enough for a header of one"), 0o600)
		},
		"a block without an index": func(dir string) error {
			block := filepath.Join(dir, "01JZZZZZZZZZZZZZZZZZZZZZZZ")
			if err := os.MkdirAll(block, 0o750); err != nil {
				return err
			}
			meta := `{"ulid":"01JZZZZZZZZZZZZZZZZZZZZZZZ","minTime":0,"maxTime":1,"version":1,"stats":{},"compaction":{"level":1}}`
			return os.WriteFile(filepath.Join(block, "meta.json"), []byte(meta), 0o600)
		},
		"a file in its place": func(dir string) error {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			return os.WriteFile(dir, nil, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "rules")
			r := OpenResults(dir, time.Hour, nil, nil)
			require.Equal(t, 1, keep(t, r, "before"))
			require.NoError(t, r.Close())
			require.NoError(t, harm(dir))
			r = OpenResults(dir, time.Hour, nil, nil)
			require.Positive(t, keep(t, r, "after"))
			require.NoError(t, r.Close())
			require.NoError(t, r.Close())
		})
	}
}

// If the directory cannot be created, nothing is stored and nothing fails. Storing resumes when it is possible again.
func TestResultsWithoutRoom(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "full")
	require.NoError(t, os.WriteFile(parent, nil, 0o600)) // a file: no directory can be made below it, as on a full disk
	figures := prometheus.NewRegistry()
	r := OpenResults(filepath.Join(parent, "rules"), time.Hour, nil, figures)
	now := time.Now()
	r.now = func() time.Time { return now }
	require.Zero(t, keep(t, r, "lost"))
	require.Equal(t, 1.0, testutil.ToFloat64(r.lost))
	require.NoError(t, os.Remove(parent))
	require.Zero(t, keep(t, r, "lost"), "it is not tried at each value")
	now = now.Add(reopenAfter)
	require.Equal(t, 1, keep(t, r, "kept"))
	require.NoError(t, r.Close())
}
