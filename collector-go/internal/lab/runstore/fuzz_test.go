package runstore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// Whatever the files of a run contain, the run is loaded or refused. No event refers to a trial outside of the plan or
// a file outside of the directory.
func FuzzRead(f *testing.F) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(sample, name))
		require.NoError(f, err)
		return string(text)
	}
	plan, manifest := read(runstore.PlanFile), read(runstore.ManifestFile)
	progress, result := read(runstore.ProgressFile), read(runstore.ResultFile)
	f.Add(plan, manifest, progress, result)
	f.Add(plan, manifest, progress[:len(progress)-20], result)
	f.Add("{}", "{}", `{"kind":"step_finished","trial":-1}`+"\n", "")
	f.Add(plan, "{}", `{"kind":"step_finished","trial":1,"file":"../sample/plan.json"}`+"\n",
		strings.Repeat("[", 20_000))
	f.Add(plan, manifest, `{"kind":"step_finished","trial":-1}`+"\n", result)
	f.Add(plan, strings.Repeat(`{"a":`, 20_000), "", "{}")
	dir := f.TempDir()
	require.NoError(f, os.CopyFS(dir, os.DirFS(sample)))
	f.Fuzz(func(t *testing.T, plan, manifest, progress, result string) {
		for name, text := range map[string]string{
			runstore.PlanFile: plan, runstore.ManifestFile: manifest, runstore.ProgressFile: progress,
			runstore.ResultFile: result,
		} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		run, err := runstore.Read(dir)
		if err != nil {
			return
		}
		require.Len(t, run.Trials, len(run.Plan.Trials))
		for _, event := range run.Events {
			if event.Trial != 0 && event.Kind == runstore.StepFinished {
				require.True(t, filepath.IsLocal(event.File), "a file outside of the run was read: %q", event.File)
			}
		}
	})
}
