package runindex

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shelved is a directory with a run of each kind: the sample of the tests of runstore with a report, one whose report
// is in the run's own directory, as the demo leaves it, and what is none.
func shelved(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "sample"), os.DirFS("../runstore/testdata/sample")))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "demo"), os.DirFS("../runstore/testdata/sample")))
	for path, text := range map[string]string{
		"sample/report/report.html": "<p>the sample's report", "demo/report.html": "<p>the demo's report",
		"other/notes.txt": "no run",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644))
	}
	return dir
}

func TestRunsAreListed(t *testing.T) {
	list, err := New(shelved(t), nil).List()
	require.NoError(t, err)
	require.Len(t, list.Runs, 2)
	demo, sample := list.Runs[0], list.Runs[1]
	assert.Equal(t, "/runs/demo/", demo.Report)
	assert.Equal(t, sample.Verdict, demo.Verdict, "it is a run like any other")
	assert.Equal(t, "sample", sample.Experiment)
	assert.Equal(t, "/runs/sample/", sample.Report)
	assert.NotEmpty(t, sample.Verdict)
	assert.NotEmpty(t, sample.Capacity)
	assert.Regexp(t, `^\d of 3`, sample.Trials)
	assert.Empty(t, list.Unreadable)
}

func TestADirectoryThatIsNotThereHasNone(t *testing.T) {
	list, err := New(filepath.Join(t.TempDir(), "later"), nil).List()
	require.NoError(t, err)
	assert.Empty(t, list.Runs)
}

func TestTheListIsReadAgain(t *testing.T) {
	dir, now := shelved(t), time.Unix(1_800_000_000, 0)
	s := New(dir, nil)
	s.now = func() time.Time { return now }
	_, err := s.List()
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "demo")))
	list, _ := s.List()
	assert.Len(t, list.Runs, 2, "10 s old at most")
	now = now.Add(fresh)
	list, _ = s.List()
	assert.Len(t, list.Runs, 1)
}

func TestADamagedRunIsNamed(t *testing.T) {
	dir := shelved(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sample", "manifest.json"), []byte("{"), 0o644))
	list, err := New(dir, nil).List()
	require.NoError(t, err)
	require.Len(t, list.Unreadable, 1)
	assert.Contains(t, list.Unreadable[0], "manifest.json")
}

func ask(s *Reader, path string) *httptest.ResponseRecorder {
	mux := http.NewServeMux()
	mux.Handle("GET /runs/{name}/{$}", s)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestReportsAreServedInASandbox(t *testing.T) {
	s := New(shelved(t), nil)
	for path, want := range map[string]string{"/runs/sample/": "<p>the sample's report",
		"/runs/demo/": "<p>the demo's report"} {
		w := ask(s, path)
		assert.Equal(t, http.StatusOK, w.Code)
		assert.Equal(t, want, w.Body.String())
		assert.Equal(t, policy, w.Header().Get("Content-Security-Policy"))
		assert.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	}
	assert.NotContains(t, policy, "script")
}

// Neither a path nor a link leads out of the directory.
func TestNothingElseIsServed(t *testing.T) {
	dir := shelved(t)
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "report.html"), []byte("secret"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "report.json"), []byte(`{"started_ms":1}`), 0o644))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "linked")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "half"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(outside, "report.html"), filepath.Join(dir, "half", "report.html")))
	s := New(dir, nil)
	for _, path := range []string{"/runs/linked/", "/runs/half/", "/runs/other/", "/runs/%2e%2e/",
		"/runs/..%2f..%2fetc/", "/runs/%2e/", "/runs/none/"} {
		w := ask(s, path)
		assert.NotEqual(t, http.StatusOK, w.Code, path)
		assert.NotContains(t, w.Body.String(), "secret", path)
	}
	list, err := s.List()
	require.NoError(t, err)
	assert.Len(t, list.Runs, 2)
}
