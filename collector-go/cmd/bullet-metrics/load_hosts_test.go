package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// hostsExperiment has a client on each of three hosts, all of them this machine, of which each notes its process.
const hostsExperiment = `experiment: hosts
title: Queries from three hosts
analysis: queries
goals: [{figure: filter_latency, statistic: mean, at_most: 200ms}]
topology: {conf: conf.yaml}
steps: {axis: queries_per_second, values: [30, 31, 32], warm_up: 1s, sustain: 3s, start_up: 1s, start_up_queries: 6, inconclusive_repeats: 0}
load: {source: none, bql: "SELECT * FROM STREAM(1000, TIME)", duration: 1s}
launch:
  slice_width: 1s
  slice_lateness: 1s
  command: {submit: ["true", "{name}"], kill: ["true"], collector: "127.0.0.1:1", gateway: GATEWAY, workers: 1}
  load:
    command: [sh, -c, "echo $$ > DIR/{host}.pid; exec PROGRAM load client"]
    hosts: [load1, load2, load3]
`

// countingGateway answers each query at once, and shows each to whom it is set.
type countingGateway struct {
	mu    sync.Mutex
	asked int
	seen  func() // nil for nobody
}

func (g *countingGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	g.mu.Lock()
	g.asked++
	if g.seen != nil {
		g.seen()
	}
	g.mu.Unlock()
	_, _ = io.WriteString(w, `{"records":[{"a":1}],"meta":{}}`)
}

// watch has seen called with each query from now on.
func (g *countingGateway) watch(seen func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen = seen
}

// wellTopology is a collector to which a topology reports that is well, and takes the same records all the time.
type wellTopology struct{ began time.Time }

func (w wellTopology) Slices(_ context.Context, selector string, from, to time.Time) ([]measure.Series, error) {
	s := measure.Series{Labels: map[string]string{"worker": "w:1", "pid": "1", "task": "1"}}
	if newest := time.Now().Add(-time.Second); newest.Before(to) {
		to = newest
	}
	for at := from.Truncate(time.Second).Add(time.Second); !at.After(to); at = at.Add(time.Second) {
		value := tuning.Figure(at.Sub(w.began).Seconds())
		switch {
		case strings.HasPrefix(selector, "bullet_filter_latency"):
			value = 0.004
		case strings.HasPrefix(selector, "bullet_source_lag"):
			value = 0
		}
		s.Slices.TimesMs, s.Slices.Values = append(s.Slices.TimesMs, at.UnixMilli()), append(s.Slices.Values, value)
	}
	return []measure.Series{s}, nil
}

func (wellTopology) Collection(context.Context, string, time.Time, time.Time) (*collection.Collection, error) {
	return nil, errors.New("it is not reported")
}

func (wellTopology) AnnotationsWithin(context.Context, string, time.Time, time.Time) ([]measure.Annotation, error) {
	return nil, errors.New("there are none")
}

func (wellTopology) Newest(context.Context, string, time.Time) ([]measure.Newest, error) {
	return []measure.Newest{{Labels: map[string]string{"worker": "w:1"},
		EndMs: time.Now().Add(-time.Second).Truncate(time.Second).UnixMilli()}}, nil
}

// withoutCluster launches as the experiment's file says, and has a topology that is well in the cluster's place.
type withoutCluster struct{ *runner.Command }

func (l withoutCluster) Launch(ctx context.Context, t runstore.PlannedTrial, name string) (*runner.Launched, error) {
	launched, err := l.Command.Launch(ctx, t, name)
	if err == nil {
		launched.Ports.Slices, launched.Ports.Annotations = wellTopology{time.Now()}, nil
		launched.Ports.Calculator, launched.Ports.Facts = nil, nil
	}
	return launched, err
}

// sayings calls said with every line that stays.
type sayings struct{ said func(line string) }

func (s sayings) Say(format string, args ...any) { s.said(fmt.Sprintf(format, args...)) }
func (sayings) Show(string, ...any)              {}

// A run whose queries processes of three hosts ask: what they ask together is the plan. One that was stopped for a
// while is found late, by its host's name; one that is killed ends the trial, with its name and how it ended.
func TestLoadHostsAskThePlanAndAreJudged(t *testing.T) {
	t.Parallel()
	gateway, dir := &countingGateway{}, t.TempDir()
	server := httptest.NewServer(gateway)
	defer server.Close()
	text := strings.NewReplacer("GATEWAY", server.URL, "DIR", dir, "PROGRAM",
		"env "+asProgram+"=1 "+os.Args[0]).Replace(hostsExperiment)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "conf.yaml"), []byte("a: 1\n"), 0o644))
	signal := func(host string, what syscall.Signal) {
		text, err := os.ReadFile(filepath.Join(dir, host+".pid"))
		assert.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if assert.NoError(t, err) {
			assert.NoError(t, syscall.Kill(pid, what))
		}
	}
	say := sayings{func(line string) {
		t.Log(line)
		n := 0
		switch {
		case strings.HasPrefix(line, "trial 1, 30 queries/s"): // the step that comes
			gateway.watch(func() {
				if n++; n == 20 { // in its midst
					signal("load2", syscall.SIGSTOP)
				} else if n == 40 { // of the others: most of a second
					signal("load2", syscall.SIGCONT)
				}
			})
		case strings.HasPrefix(line, "trial 1, 31 queries/s"):
			gateway.watch(func() {
				if n++; n == 20 {
					signal("load3", syscall.SIGKILL)
				}
			})
		}
	}}
	result, run := runOverHosts(t, dir, text, say)

	assert.Equal(t, exitFailed, result.ExitCode)
	assert.Contains(t, result.Trials[0].Error, "load host load3: the client has ended: sh -c ")
	assert.Contains(t, result.Trials[0].Error, "load client: signal: killed")
	assert.Equal(t, 1, strings.Count(result.Trials[0].Error, "signal: killed"))
	steps := run.Trials[0].Steps
	require.Len(t, steps, 2, "what was measured is kept")
	assertAsked(t, run, steps[0], 120)
	assertAsked(t, run, steps[1], 124)

	late := steps[1].Clients.Hosts[1]
	assert.Equal(t, "load2", late.Host)
	assert.Greater(t, float64(late.LatenessP99Ms), 200.0)
	assert.Equal(t, tuning.Limited, steps[1].Verdict)
	assert.Regexp(t, `the load client on load2 submitted its queries up to [0-9.,]+ ms late \(p99\)`,
		strings.Join(steps[1].Reasons, "\n"))
	for _, host := range []string{"load1", "load2", "load3"} {
		text, err := os.ReadFile(filepath.Join(dir, host+".pid"))
		require.NoError(t, err)
		assert.NoDirExists(t, "/proc/"+strings.TrimSpace(string(text)), "none is left")
	}
}

// runOverHosts runs an experiment into a directory.
func runOverHosts(t *testing.T, dir, text string, say measure.Progress) (*runstore.Result, *runstore.Run) {
	t.Helper()
	file, err := experimentfile.Parse(filepath.Join(dir, "hosts.yaml"), []byte(text))
	require.NoError(t, err)
	writer, err := runstore.Create(filepath.Join(dir, "run"), []byte(text), file.Plan(), runstore.Manifest{ID: "hosts"})
	require.NoError(t, err)
	defer writer.Close()
	run, err := runstore.Read(writer.Dir())
	require.NoError(t, err)
	command, err := (&engine{say: newTerminal("tune", os.Stdout)}).command(file, run)
	require.NoError(t, err)
	launcher := withoutCluster{command}
	options := runner.Options{Lateness: time.Second, Wait: time.Minute}
	result, err := runner.New(options, run, writer, launcher, say).Run(t.Context())
	require.NoError(t, err)
	require.NoError(t, launcher.Stop(nil))
	run, err = runstore.Read(writer.Dir())
	require.NoError(t, err)
	return result, run
}

// assertAsked checks that the hosts asked each of a step's queries once, each its part.
func assertAsked(t *testing.T, run *runstore.Run, step runstore.Step, queries int) {
	t.Helper()
	file, err := os.Open(filepath.Join(run.Trials[0].Dir, runstore.OutcomesFile))
	require.NoError(t, err)
	defer file.Close()
	var slots []int
	perHost := map[string]int{}
	next := int64(0)
	for _, e := range run.Events {
		if e.Kind == runstore.StepStarted && e.Step == step.Number+1 {
			next = e.AtMs
		}
	}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var o load.Outcome
		require.NoError(t, json.Unmarshal(lines.Bytes(), &o))
		if o.IntendedMs >= step.StartMs && o.IntendedMs < next {
			slots = append(slots, o.Slot)
			perHost[o.Host]++
			assert.Equal(t, load.Returned, o.End, o.Error)
		}
	}
	slices.Sort(slots)
	var all []int
	for i := range queries {
		all = append(all, i)
	}
	assert.Equal(t, all, slots)
	total := 0
	for i, host := range step.Clients.Hosts {
		assert.Equal(t, fmt.Sprintf("load%d", i+1), host.Host)
		assert.Equal(t, load.Part{Number: i + 1, Of: 3}.Share(queries), perHost[host.Host])
		assert.Positive(t, float64(host.CPULimitCores))
		assert.Zero(t, host.NotSubmitted)
		total += host.Submitted
	}
	assert.Len(t, step.Clients.Hosts, 3)
	assert.Equal(t, step.Clients.Submitted, total)
}
