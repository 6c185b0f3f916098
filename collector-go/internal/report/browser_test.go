package report_test

import (
	"bytes"
	"context"
	"image"
	_ "image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
)

// chromium is the system's, or the one that CHROMIUM names; the test is left out where there is none.
func chromium(t *testing.T) string {
	t.Helper()
	if named := os.Getenv("CHROMIUM"); named != "" {
		return named
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no chromium; apt-get install chromium, or name one in CHROMIUM")
	return ""
}

// The page is opened from disk as a reader does, at a desktop's width and a phone's, in light and in dark.
func TestThePageInABrowser(t *testing.T) {
	browser := chromium(t)
	run := filepath.Join(t.TempDir(), "run")
	littleHeap.tell(t, run)
	r, err := report.OpenRunReport(run)
	require.NoError(t, err)
	dir := os.Getenv("REPORT_OUT")
	if dir == "" {
		dir = t.TempDir()
	}
	require.NoError(t, r.Write(dir))
	page := filepath.Join(dir, "report.html")
	for name, c := range map[string]struct {
		size string
		dark bool
	}{"desktop-light": {"1200,2400", false}, "desktop-dark": {"1200,2400", true}, "phone-light": {"400,2400", false}, "phone-dark": {"400,2400", true}} {
		picture := filepath.Join(dir, name+".png")
		args := []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--user-data-dir=" + filepath.Join(t.TempDir(), "profile"),
			"--enable-logging=stderr", "--window-size=" + c.size, "--screenshot=" + picture}
		if c.dark {
			args = append(args, "--force-dark-mode", "--blink-settings=preferredColorScheme=0")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		out, err := exec.CommandContext(ctx, browser, append(args, "file://"+page)...).CombinedOutput()
		cancel()
		require.NoError(t, err, "%s", out)
		assert.NotContains(t, string(out), "CONSOLE", "the page has nothing to complain of")
		assertPainted(t, picture, c.dark)
		if os.Getenv("UPDATE_IMAGES") != "" {
			text, err := os.ReadFile(picture)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile("../../../docs/images/report-"+name+".png", text, 0o644))
		}
	}
	if os.Getenv("UPDATE_IMAGES") != "" {
		text, err := os.ReadFile(filepath.Join(dir, "figures", "trial-01-timeline.svg"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("../../../docs/images/timeline.svg", text, 0o644))
	}
	dom, err := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+filepath.Join(t.TempDir(), "profile"),
		"--dump-dom", "file://"+page).Output()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, strings.Count(string(dom), "<svg"), 3)
	assert.Contains(t, string(dom), "limited by garbage collection")
}

// assertPainted looks at the picture's colours: the paper is light or dark, and something stands on it.
func assertPainted(t *testing.T, path string, dark bool) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	picture, _, err := image.Decode(bytes.NewReader(text))
	require.NoError(t, err)
	r, g, b, _ := picture.At(2, 2).RGBA()
	assert.Equal(t, dark, r+g+b < 3*0x8000, "the paper of %s", filepath.Base(path))
	colours := map[[3]uint32]bool{}
	for x := 0; x < picture.Bounds().Dx(); x += 3 {
		for y := 0; y < picture.Bounds().Dy(); y += 3 {
			r, g, b, _ := picture.At(x, y).RGBA()
			colours[[3]uint32{r >> 12, g >> 12, b >> 12}] = true
		}
	}
	assert.Greater(t, len(colours), 20, "%s is blank", filepath.Base(path))
}
