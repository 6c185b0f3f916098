//go:build chaos

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
)

// fastPaths are lines that only a fast path of the collector runs, by file.
var fastPaths = map[string][]string{
	"ingest/blocks.go": {"a.batch.Blocks = append(a.batch.Blocks, journal.Block{Layout: l.complete, Block: *b})"},
	"slicer/block.go":  {"p.taken, p.by = g.taken, by"},
	"slicer/close.go": {"x.follow(s.clockMs, endMs, c)", "append(to.Values, rows[0].values[at])",
		"mean, least, greatest := m.of(rows, at%pageSlots)"},
	"slicer/fold.go":       {"o.heardMs, o.missed = c.lastMs(), 0", "c.last, c.lastMs, c.made = last,"},
	"store/grid/column.go": {"ch.got |= (1<<n - 1) << t.member", "copy(c.values.from(ch.row, uint32(n)), values)"},
	"journal/epochs.go":    {"h.spans[n-1].last = last"},
}

// TestRecordedTrafficTakesEveryFastPath checks that no fast path serves a benchmark alone: what a real topology sent
// takes each of them. The collector counts its statements for that.
func TestRecordedTrafficTakesEveryFastPath(t *testing.T) {
	dir := t.TempDir()
	program, counts := filepath.Join(dir, "bullet-metrics"), filepath.Join(dir, "counts")
	require.NoError(t, os.Mkdir(counts, 0o750))
	module := command(t, "go", "list", "-m")
	command(t, "go", "build", "-cover", "-covermode=set", "-coverpkg="+module+"/cmd/bullet-metrics,"+module+"/internal/collector/...", "-o", program,
		module+"/cmd/bullet-metrics")
	t.Setenv("GOCOVERDIR", counts)

	s := &session{program: program, tools: filepath.Join(dir, "no-peers"), repository: "../../../..", out: dir,
		dir: filepath.Join(dir, "data"), quick: true, scale: 1, rounds: 1, seed: 1}
	chosen, err := choose(s.scenarios(), []string{goal.Traffic})
	require.NoError(t, err)
	require.NoError(t, s.measure(t.Context(), chosen, false))
	f, _, err := goal.Read(s.path())
	require.NoError(t, err)
	require.Empty(t, f.Pieces.Figure(goal.Traffic, goal.Ours, "cpu_s").Why)

	profile := filepath.Join(dir, "profile")
	command(t, "go", "tool", "covdata", "textfmt", "-i="+counts, "-o="+profile)
	ran := linesRun(t, profile, module+"/internal/collector/")
	for file, lines := range fastPaths {
		text, err := os.ReadFile(filepath.Join("../../../internal/collector", file))
		require.NoError(t, err)
		for _, line := range lines {
			before, _, found := strings.Cut(string(text), line)
			require.True(t, found, "%s has no line %q", file, line)
			number := strings.Count(before, "\n") + 1
			assert.True(t, ran[fmt.Sprint(file, ":", number)], "%s:%d did not run: %s", file, number, line)
		}
	}
}

// command runs a command and returns what it prints.
func command(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	c := exec.Command(name, arguments...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	require.NoError(t, err, "%s %v", name, arguments)
	return strings.TrimSpace(string(out))
}

// linesRun returns the lines of a profile's blocks that ran, as "file:line".
func linesRun(t *testing.T, profile, prefix string) map[string]bool {
	file, err := os.Open(profile)
	require.NoError(t, err)
	defer file.Close()
	ran := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		name, rest, _ := strings.Cut(strings.TrimPrefix(lines.Text(), prefix), ":")
		var first, last, column, statements, count int
		n, _ := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &first, &column, &last, &column, &statements, &count)
		for line := first; n == 6 && count > 0 && line <= last; line++ {
			ran[fmt.Sprint(name, ":", line)] = true
		}
	}
	require.NotEmpty(t, ran)
	return ran
}
