package stack

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sh starts a shell script; the test kills what is left of it.
func sh(t *testing.T, script string, holdStdin bool) *Process {
	t.Helper()
	p, err := command{name: "script", path: "/bin/sh", args: []string{"-c", script},
		log: filepath.Join(t.TempDir(), "logs", "script.log"), holdStdin: holdStdin}.start()
	require.NoError(t, err)
	t.Cleanup(func() {
		select {
		case <-p.Done():
		default:
			p.kill()
		}
	})
	return p
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

const never = 20 * time.Second

func TestReadyIsTheFirstJSONLine(t *testing.T) {
	p := sh(t, `echo starting; echo '{"ready":true}'; echo '{"later":1}'; exec sleep 60`, false)
	var line map[string]any
	require.NoError(t, p.awaitReady(t.Context(), never, &line))
	assert.Equal(t, map[string]any{"ready": true}, line)
	assert.True(t, p.stop(never, nil), "sleep ends at SIGTERM")
}

func TestAProcessThatDiesReportsWhy(t *testing.T) {
	p := sh(t, `echo 'no such heap' >&2; exit 3`, false)
	err := p.awaitReady(t.Context(), never, nil)
	require.Error(t, err)
	assert.Contains(t, err.Error(), "exit status 3")
	assert.Contains(t, err.Error(), "no such heap", "the end of its log is shown")
	assert.Contains(t, err.Error(), p.log)
}

func TestALongSilenceNamesTheLog(t *testing.T) {
	p := sh(t, `exec sleep 60`, false)
	err := p.awaitReady(t.Context(), time.Millisecond, nil)
	require.ErrorContains(t, err, "no answer within 1ms")
	require.ErrorContains(t, err, p.log)
}

func TestStopEscalatesToTheWholeGroup(t *testing.T) {
	p := sh(t, `trap '' TERM; sleep 60 & echo "{\"child\":$!}"; while :; do wait; done`, false)
	var child struct{ Child int }
	require.NoError(t, p.awaitReady(t.Context(), never, &child))
	assert.False(t, p.stop(10*time.Millisecond, nil))
	assert.True(t, awaitGone([]identity{{Pid: child.Child, StartTicks: startOf(child.Child)}}, never),
		"the child is gone with its group")
}

func TestHasteCutsTheGraceShort(t *testing.T) {
	p := sh(t, `trap '' TERM; echo '{}'; while :; do read -r _ </dev/zero; done`, false)
	require.NoError(t, p.awaitReady(t.Context(), never, &struct{}{}))
	hasten := make(chan struct{})
	close(hasten)
	started := time.Now()
	assert.False(t, p.stop(time.Hour, hasten))
	assert.Less(t, time.Since(started), never)
}

func TestStdinEndsWithTheStop(t *testing.T) {
	p := sh(t, `trap '' TERM; echo '{}'; cat >/dev/null`, true)
	require.NoError(t, p.awaitReady(t.Context(), never, &struct{}{}))
	assert.True(t, p.stop(never, nil), "cat ends with its stdin")
}

// startOf returns the start time of a process, 0 if the process has ended.
func startOf(pid int) uint64 {
	stat, err := measure.ProcessStat(pid)
	if err != nil {
		return 0
	}
	return stat.Starttime
}

func TestLogTailIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("line\n", 10_000)+"last\n"), 0o644))
	lines := strings.Split(logTail(path), "\n")
	assert.Len(t, lines, tailLines)
	assert.Equal(t, "  last", lines[tailLines-1])
}
