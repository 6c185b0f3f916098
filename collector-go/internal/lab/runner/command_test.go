package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// script creates a command that writes its words, one per line, and exits with a code.
func script(t *testing.T, dir, name, code string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nfor word; do echo \"$word\"; done > "+path+
		".words\necho written to stderr >&2\nexit "+code+"\n"), 0o755))
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
	l := NewCommand(CommandOptions{Submit: []string{submit, "jar", "{conf}", "--name={name}", "{settings}",
		"-w{workers}"}, Kill: []string{kill, "{name}"},
		Conf: conf, Collector: "c:1", Gateway: "g:1", DRPC: []string{"d:1", "d:2"}, MostQueries: 10}, nil)
	defer l.Stop(nil)
	trial := runstore.PlannedTrial{Workers: 3, Settings: []runstore.Entry{{Key: "a", Value: "1"}, {Key: "b", Value: "x y"}}}
	launched, err := l.Launch(t.Context(), trial, "t-01")
	require.NoError(t, err)
	assert.Equal(t, "jar\n"+conf+"\n--name=t-01\n-c\na=1\n-c\nb=x y\n-w3\n", words(t, submit))
	assert.Equal(t, []string{"a=1", "b=x y"}, launched.Arguments.Settings)
	assert.Equal(t, "bullet.topology.name: x\n", string(launched.Settings))
	assert.NotEqual(t, launched.Ports.Source, launched.Ports.Queries, "they go through DRPC")
	require.NoError(t, l.End(t.Context(), filepath.Join(dir, "logs"), false))
	assert.Equal(t, "t-01\n", words(t, kill))
	require.NoError(t, os.Remove(kill+".words"))
	require.NoError(t, l.End(t.Context(), filepath.Join(dir, "logs"), false), "it is ended once")
	assert.NoFileExists(t, kill+".words")
}

// A killed run could not end its topology. The run that resumes it does so before it submits its own topology.
func TestWhatAKilledRunLeftIsEndedFirst(t *testing.T) {
	dir := t.TempDir()
	log, conf := filepath.Join(dir, "log"), filepath.Join(dir, "bullet.yaml")
	require.NoError(t, os.WriteFile(conf, nil, 0o644))
	command := func(code string) []string {
		return []string{"sh", "-c", "echo $0 >> " + log + "; exit " + code}
	}
	kill, submit := append(command("1"), "kill {name}"), append(command("0"), "submit {name}")
	trials := []runstore.Trial{{PlannedTrial: runstore.PlannedTrial{Number: 1}},
		{PlannedTrial: runstore.PlannedTrial{Number: 2}}}
	begun := func(trial int, name string) runstore.Event {
		return runstore.Event{Kind: runstore.TrialStarted, Trial: trial, Text: name}
	}
	events := []runstore.Event{{Kind: runstore.RunStarted}, begun(1, "t-01"), {Kind: runstore.TrialFinished, Trial: 1},
		begun(2, "t-02"), {Kind: runstore.StepFinished, Trial: 2}}
	left := LeftoverOf(&runstore.Run{Trials: trials, Events: events})
	require.NotNil(t, left)
	assert.Equal(t, "t-02", left.Name)
	for _, end := range []runstore.EventKind{runstore.TrialFinished, runstore.TrialFailed, runstore.RunInterrupted,
		runstore.RunFinished} {
		assert.Nil(t, LeftoverOf(&runstore.Run{Trials: trials,
			Events: append(events, runstore.Event{Kind: end, Trial: 2})}), "%s came after its end", end)
	}
	said := &saying{}
	l := NewCommand(CommandOptions{Submit: submit, Kill: kill, Conf: conf, Collector: "c:1", Gateway: "g:1",
		Leftover: left}, said)
	_, err := l.Launch(t.Context(), runstore.PlannedTrial{}, "t-02-launch2")
	require.NoError(t, err, "that nothing was there to be ended ends nothing")
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Equal(t, "kill t-02\nsubmit t-02-launch2\n", string(text))
	assert.Contains(t, said.text, "topology t-02 could not be killed; if it still runs, kill it by hand")
	require.NoError(t, l.Stop(nil))

	// If only the end of the last trial was not recorded, nothing is launched any more.
	require.NoError(t, os.Remove(log))
	require.NoError(t, NewCommand(CommandOptions{Kill: kill, Conf: conf, Leftover: left}, said).Stop(nil))
	text, err = os.ReadFile(log)
	require.NoError(t, err)
	assert.Equal(t, "kill t-02\n", string(text))
}

// saying is a Progress that keeps what is printed.
type saying struct{ text string }

func (s *saying) Say(format string, args ...any) { s.text += fmt.Sprintf(format, args...) + "\n" }
func (*saying) Show(string, ...any)              {}

func TestACommandThatFailsShowsItsOutput(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "bullet.yaml")
	require.NoError(t, os.WriteFile(conf, nil, 0o644))
	l := NewCommand(CommandOptions{Submit: []string{script(t, dir, "submit", "3")},
		Kill: []string{script(t, dir, "kill", "4")}, Conf: conf, Collector: "c:1", Gateway: "g:1"}, nil)
	defer l.Stop(nil)
	_, err := l.Launch(t.Context(), runstore.PlannedTrial{}, "t-01")
	require.ErrorContains(t, err, "submit topology t-01")
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "written to stderr")
	require.ErrorContains(t, l.End(t.Context(), dir, true), "kill it by hand")
}

// An unreachable load host is detected before a topology is submitted.
func TestLoadHostsThatCannotBeReachedSubmitNothing(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "bullet.yaml")
	require.NoError(t, os.WriteFile(conf, nil, 0o644))
	submit, kill := script(t, dir, "submit", "0"), script(t, dir, "kill", "0")
	l := NewCommand(CommandOptions{Submit: []string{submit}, Kill: []string{kill}, Conf: conf, Collector: "c:1",
		Gateway: "g:1", MostQueries: 10, LoadHosts: []string{"load1", "load2"},
		LoadCommand: []string{"sh", "-c", "echo {host} is away >&2; exit 255"},
		Load:        runstore.Load{Class: "raw", QueryLimit: 10, QueryDurationMs: 1000, MatchingPerSecond: 1}}, &saying{})
	_, err := l.Launch(t.Context(), runstore.PlannedTrial{}, "t-01")
	require.ErrorContains(t, err, "load host load1: the client has ended: sh -c ")
	require.ErrorContains(t, err, "exit status 255; it wrote:\nload1 is away")
	require.ErrorContains(t, err, "load2 is away", "all that cannot be are named at once")
	assert.NoFileExists(t, submit+".words")
	require.NoError(t, l.End(t.Context(), filepath.Join(dir, "logs"), false))
	assert.NoFileExists(t, kill+".words", "there is nothing to be ended")
	require.NoError(t, l.Stop(nil))
}
