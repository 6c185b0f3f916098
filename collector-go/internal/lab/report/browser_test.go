//go:build page

package report_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
)

// The tests open reports from disk in the system's Chromium, as a reader does, at three widths and in light and dark.
// The reports are those of a run with one trial and of a run with several configurations.
func TestPageOfAReport(t *testing.T) {
	run, dir := filepath.Join(t.TempDir(), "run"), t.TempDir()
	littleHeap.write(t, run)
	pages := map[string]string{}
	for name, from := range map[string]string{"one": run, "several": sampleRun} {
		r, err := report.OpenRunReport(from)
		require.NoError(t, err)
		text, err := r.Document().HTML()
		require.NoError(t, err)
		pages[name] = filepath.Join(dir, name+".html")
		require.NoError(t, os.WriteFile(pages[name], text, 0o644))
		if name == "one" && os.Getenv("UPDATE_IMAGES") != "" {
			require.NoError(t, r.Write(dir))
			drawn, err := os.ReadFile(filepath.Join(dir, "figures", "trial-01-timeline.svg"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile("../../../../docs/images/timeline.svg", drawn, 0o644))
		}
	}
	named, err := json.Marshal(pages)
	require.NoError(t, err)
	node := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=spec", "browser/report.test.mjs")
	node.Dir = "../../serve/webui"
	node.Env = append(os.Environ(), "REPORT_PAGES="+string(named))
	out, err := node.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
}
