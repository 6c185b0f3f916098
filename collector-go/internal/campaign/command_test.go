package campaign

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
)

// script is a command that keeps its words, one a line, and ends with a code.
func script(t *testing.T, dir, name, code string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nfor word; do echo \"$word\"; done > "+path+".words\necho told on stderr >&2\nexit "+code+"\n"), 0o755))
	return path
}

func words(t *testing.T, script string) string {
	t.Helper()
	text, err := os.ReadFile(script + ".words")
	require.NoError(t, err)
	return string(text)
}

func TestCommandsAreFilledInAndRun(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "bullet.yaml")
	require.NoError(t, os.WriteFile(conf, []byte("bullet.topology.name: x\n"), 0o644))
	submit, kill := script(t, dir, "submit", "0"), script(t, dir, "kill", "0")
	l := NewCommand(CommandOptions{Submit: []string{submit, "jar", "{conf}", "--name={name}", "{settings}", "-w{workers}"}, Kill: []string{kill, "{name}"},
		Conf: conf, Collector: "c:1", Gateway: "g:1", DRPC: []string{"d:1", "d:2"}, MostQueries: 10}, nil)
	defer l.Stop(nil)
	trial := rundir.PlannedTrial{Workers: 3, Settings: []rundir.Entry{{Key: "a", Value: "1"}, {Key: "b", Value: "x y"}}}
	launched, err := l.Launch(t.Context(), trial, "t-01")
	require.NoError(t, err)
	assert.Equal(t, "jar\n"+conf+"\n--name=t-01\n-c\na=1\n-c\nb=x y\n-w3\n", words(t, submit))
	assert.Equal(t, []string{"a=1", "b=x y"}, launched.Arguments.Settings)
	assert.Equal(t, "bullet.topology.name: x\n", string(launched.Settings))
	assert.IsType(t, &inTurn{}, launched.Ports.Queries)
	require.NoError(t, l.End(t.Context(), filepath.Join(dir, "logs"), false))
	assert.Equal(t, "t-01\n", words(t, kill))
	require.NoError(t, os.Remove(kill+".words"))
	require.NoError(t, l.End(t.Context(), filepath.Join(dir, "logs"), false), "it is ended once")
	assert.NoFileExists(t, kill+".words")
}

func TestACommandThatFailsTellsItsOutput(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "bullet.yaml")
	require.NoError(t, os.WriteFile(conf, nil, 0o644))
	l := NewCommand(CommandOptions{Submit: []string{script(t, dir, "submit", "3")}, Kill: []string{script(t, dir, "kill", "4")}, Conf: conf, Collector: "c:1", Gateway: "g:1"}, nil)
	defer l.Stop(nil)
	_, err := l.Launch(t.Context(), rundir.PlannedTrial{}, "t-01")
	require.ErrorContains(t, err, "submit topology t-01")
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "told on stderr")
	require.ErrorContains(t, l.End(t.Context(), dir, true), "end it by hand")
}
