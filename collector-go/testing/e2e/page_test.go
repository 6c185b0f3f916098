//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shown is a first line of the page, or how long samples took to the screen.
type shown struct {
	AtMs   int64     `json:"at_ms"`
	Text   string    `json:"text"`
	Delays []float64 `json:"delays_s"`
}

// watched is the page in a browser, with all first lines that it showed so far.
type watched struct {
	b     *bench
	mu    sync.Mutex
	lines []shown
}

// watchPage opens the page in the system's Chromium until the test ends. The screenshots of all first lines are in
// build/page-images/cluster/NAME.
func (b *bench) watchPage(t *testing.T, name string) *watched {
	t.Helper()
	w := &watched{b: b}
	images := filepath.Join(root(t), "build", "page-images", "cluster", name)
	command := exec.CommandContext(context.WithoutCancel(t.Context()), "node", "browser/watch.mjs",
		fmt.Sprintf("http://%s/#topology=%s&range=5m", b.options.HTTPListen, topology), images)
	command.Dir = filepath.Join(root(t), "collector-go", "internal", "serve", "webui")
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	command.Stderr = t.Output()
	require.NoError(t, command.Start())
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var s shown
			if json.Unmarshal(lines.Bytes(), &s) == nil {
				w.mu.Lock()
				w.lines = append(w.lines, s)
				w.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		_ = in.Close()
		<-read
		_ = command.Wait()
		for _, s := range w.lines {
			if n := len(s.Delays); n > 0 {
				slices.Sort(s.Delays)
				t.Logf("a sample was on the screen after %.1f s (median), %.1f s (95th percentile); %d samples",
					s.Delays[n/2], s.Delays[n*95/100], n)
				continue
			}
			t.Logf("%s the page says: %s", time.UnixMilli(s.AtMs).Format("15:04:05.0"), s.Text)
		}
	})
	return w
}

// awaitLine waits for a first line after a time, and returns how long after that it was shown.
func (w *watched) awaitLine(t *testing.T, pattern string, after time.Time) (late time.Duration) {
	t.Helper()
	matches := regexp.MustCompile(pattern).MatchString
	w.b.await(t, "the page's line "+pattern, func(context.Context) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, s := range w.lines {
			if s.AtMs >= after.UnixMilli() && matches(s.Text) {
				late = time.UnixMilli(s.AtMs).Sub(after)
				return true
			}
		}
		return false
	})
	t.Logf("%.1f s later the page said %q", late.Seconds(), pattern)
	return late
}
