package searchrunner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/searchfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

const searched = `optimize: bolts
experiment: trial.yaml
target: {queries: 300, records_per_second: 500, latency: 200ms, completeness: 99%}
budget: {trials: 50}
noise: 5%
settings:
  - {name: bullet.topology.filter.bolt.parallelism, as: filter, from: 1, to: 6, step: 1, cost: 1, easier: more}
  - {name: topology.worker.childopts, as: heap, written: "-Xmx{}m", values: [64, 128, 256], cost: 0.001, easier: more}
start: [1, 64]
`

const experimented = `experiment: trial
title: A trial
analysis: queries
goals:
  - {figure: filter_latency, statistic: max, at_most: 500ms}
  - {figure: source_lag, at_most: 1000}
topology: {conf: conf.yaml, settings: {bullet.topology.custom.topology.worker.childopts: -Xmx9m, topology.workers: 3}}
grid: [{axis: bolts, setting: x, values: [1, 2]}]
steps: {values: [10, 20], warm_up: 10s, sustain: 1m, search: step, expected_capacity: 10}
load: {duration: 10s}
launch:
  local: {workers: 2, worker_heap: 384MiB}
  slice_width: 5s
`

// opened returns a search from the texts of two files.
func opened(t *testing.T, searched, experimented string) (*Search, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"search.yaml": searched, "trial.yaml": experimented,
		"conf.yaml": "bullet.topology.name: x\nbullet.topology.custom.topology.acker.executors: 2\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	file, err := searchfile.ReadFile(filepath.Join(dir, "search.yaml"))
	require.NoError(t, err)
	return Open(file)
}

func open(t *testing.T) *Search {
	s, err := opened(t, searched, experimented)
	require.NoError(t, err)
	return s
}

func search(t *testing.T, s *Search) *optimize.Search {
	found, err := optimize.New(s.Space, s.File.OptimizeTarget(), s.File.Options())
	require.NoError(t, err)
	return found
}

// cluster is an engine that holds 100 queries for each filter bolt, if the heap is larger than 64 MiB.
type cluster struct {
	space  optimize.Space
	played []string
	// before is called before each trial ends, with the number of trials that have started. Its error is the error of
	// the trial.
	before func(ctx context.Context, begun int) error
	// clock is the simulated time.
	clock time.Time
}

func (c *cluster) Play(ctx context.Context, o Order) (Outcome, error) {
	c.played = append(c.played, fmt.Sprintf("%d %s", o.Number, o.Label))
	c.clock = c.clock.Add(2 * time.Minute)
	if c.before != nil {
		if err := c.before(ctx, len(c.played)); err != nil {
			return Outcome{}, err
		}
	}
	v := c.space.Variables(o.Point)
	used := 300 / v["filter"] / 100 * (1 + 20/v["heap"])
	outcome := unmeasured(tuning.OK)
	outcome.LatencyMs, outcome.Completeness, outcome.Noise = tuning.Figure(200*used*used*used*used), 1, 0.05
	if used > 1 {
		outcome.Verdict, outcome.Limiter = tuning.Fail, tuning.LimitedByFilterCPU
	}
	return outcome, nil
}

type said struct {
	lines []string
	each  func(line string)
}

func (s *said) Say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	s.lines = append(s.lines, line)
	if s.each != nil {
		s.each(line)
	}
}

func runner(t *testing.T, s *Search, dir string, c *cluster, say *said) *Runner {
	t.Helper()
	c.space = s.Space
	r, err := NewRunner(s, dir, c, say)
	require.NoError(t, err)
	r.now = func() time.Time { return c.clock }
	return r
}

// complete runs a search without interruption.
func complete(t *testing.T, s *Search) (*Runner, []string) {
	c := &cluster{}
	r := runner(t, s, t.TempDir(), c, &said{})
	require.NoError(t, r.Search(t.Context(), search(t, s)))
	return r, c.played
}

func TestASearchIsRunToItsProof(t *testing.T) {
	s := open(t)
	r, played := complete(t, s)
	result, err := search(t, s).Result(r.Finished())
	require.NoError(t, err)
	assert.True(t, result.Proven)
	assert.Equal(t, "filter=4 heap=64", result.Best.Text)
	assert.Less(t, len(played), 18)
	assert.Equal(t, "1 filter=1 heap=64", played[0])
	assert.Equal(t, float64(120), r.Finished()[0].Seconds)
	assert.DirExists(t, filepath.Join(r.dir, TrialsDir, "01-filter=1-heap=64"))

	data, err := searchfile.ReadSpace(filepath.Join(r.dir, SpaceFile))
	require.NoError(t, err)
	from, err := s.File.Simulation(data)
	require.NoError(t, err)
	assert.Len(t, from.Rows, len(played), "each trial is data")
	assert.Equal(t, tuning.Figure(120), from.Rows[0].Seconds)
}

// A killed process leaves its files. A new process continues in the same way and repeats the interrupted trial.
func TestAKilledSearchGoesOn(t *testing.T) {
	s := open(t)
	_, expected := complete(t, s)
	require.Greater(t, len(expected), 3)
	for _, during := range []bool{true, false} {
		for at := 1; at < len(expected); at++ {
			dir := t.TempDir()
			ctx, kill := context.WithCancelCause(t.Context())
			killed := errors.New("killed")
			c, say := &cluster{}, &said{}
			if during {
				c.before = func(ctx context.Context, begun int) error {
					if begun == at {
						kill(killed)
					}
					return ctx.Err()
				}
			} else {
				say.each = func(line string) {
					if strings.HasPrefix(line, fmt.Sprintf("trial %d: OK", at)) ||
						strings.HasPrefix(line, fmt.Sprintf("trial %d: FAIL", at)) {
						kill(killed)
					}
				}
			}
			assert.ErrorIs(t, runner(t, s, dir, c, say).Search(ctx, search(t, s)), killed)
			assert.Equal(t, expected[:at], c.played, "nothing further is begun")

			again := &cluster{}
			r := runner(t, s, dir, again, &said{})
			from := at
			if during {
				from = at - 1
			}
			assert.Len(t, r.Finished(), from)
			require.NoError(t, r.Search(t.Context(), search(t, s)))
			assert.Equal(t, expected[from:], again.played)
			entries, err := os.ReadDir(filepath.Join(dir, TrialsDir))
			require.NoError(t, err)
			assert.Len(t, entries, len(expected), "a trial that was cut off has one directory")
		}
	}
}

func TestABudgetAndATimeLimitEndASearch(t *testing.T) {
	short := strings.Replace(searched, "trials: 50", "time: 7m", 1)
	s, err := opened(t, short, experimented)
	require.NoError(t, err)
	dir, c := t.TempDir(), &cluster{}
	require.NoError(t, runner(t, s, dir, c, &said{}).Search(t.Context(), search(t, s)))
	assert.Len(t, c.played, 3, "a fourth of two minutes would exceed seven")

	s, err = opened(t, searched, experimented) // a change of the budget keeps the trials
	require.NoError(t, err)
	c = &cluster{}
	r := runner(t, s, dir, c, &said{})
	r.Deadline = c.clock.Add(3 * time.Minute)
	assert.ErrorIs(t, r.Search(t.Context(), search(t, s)), ErrTime)
	assert.Len(t, c.played, 2, "none is begun after three minutes, and none is cut off")
	assert.Len(t, r.Finished(), 5)
}

func TestOneTrialThatCannotBeMeasuredIsTriedAgain(t *testing.T) {
	s, c, say := open(t), &cluster{}, &said{}
	c.before = func(_ context.Context, begun int) error {
		if begun == 2 {
			return errors.New("the topology did not come up")
		}
		return nil
	}
	r := runner(t, s, t.TempDir(), c, say)
	require.NoError(t, r.Search(t.Context(), search(t, s)))
	assert.Contains(t, strings.Join(say.lines, "\n"), "trial 2 could not be measured: the topology did not come up")
	_, label, _ := strings.Cut(c.played[1], " ")
	assert.Equal(t, "3 "+label, c.played[2])
	result, err := search(t, s).Result(r.Finished())
	require.NoError(t, err)
	assert.True(t, result.Proven)
	assert.Equal(t, "the topology did not come up", r.kept[1].Outcome.Error)
}

// If no trial can be measured, the cluster is at fault and no configuration counts as failed.
func TestACommonFaultEndsTheSearchAndLeavesNoVerdict(t *testing.T) {
	s, c, dir := open(t), &cluster{}, t.TempDir()
	c.before = func(_ context.Context, begun int) error {
		if begun > 1 {
			return errors.New("address already in use")
		}
		return nil
	}
	err := runner(t, s, dir, c, &said{}).Search(t.Context(), search(t, s))
	assert.ErrorContains(t, err, "3 trials in a row could not be measured")
	assert.ErrorContains(t, err, "address already in use")
	assert.Len(t, c.played, 4)

	again := &cluster{}
	r := runner(t, s, dir, again, &said{})
	assert.Len(t, r.Finished(), 1)
	require.NoError(t, r.Search(t.Context(), search(t, s)))
	assert.Equal(t, c.played[1:], again.played[:3], "they are played again, in their own directories")
	for _, k := range r.kept {
		assert.Empty(t, k.Outcome.Error)
	}
}

func TestAGridIsRunOverSeveralInvocations(t *testing.T) {
	s, dir := open(t), t.TempDir()
	points := search(t, s).Points()
	require.Len(t, points, 18)
	var played []string
	for range 3 {
		c := &cluster{}
		r := runner(t, s, dir, c, &said{})
		r.Deadline = c.clock.Add(15 * time.Minute) // enough time for eight trials
		if err := r.Grid(t.Context(), points); len(played) < 16 {
			assert.ErrorIs(t, err, ErrTime)
		} else {
			assert.NoError(t, err)
		}
		played = append(played, c.played...)
		assert.Equal(t, 18-len(played), r.Left(points))
	}
	var labels []string
	for _, each := range played {
		_, label, _ := strings.Cut(each, " ")
		labels = append(labels, label)
	}
	slices.Sort(labels)
	assert.Len(t, slices.Compact(labels), 18, "each once")
	assert.Len(t, played, 18)
}

// A topology that fails to start twice counts as FAIL if another configuration is measured after it.
func TestAConfigurationThatDoesNotComeUpFails(t *testing.T) {
	s, c := open(t), &cluster{}
	c.before = func(context.Context, int) error {
		if strings.HasSuffix(c.played[len(c.played)-1], " filter=3 heap=256") { // the proof relies on this trial
			return errors.New("no topology")
		}
		return nil
	}
	r := runner(t, s, t.TempDir(), c, &said{})
	require.NoError(t, r.Search(t.Context(), search(t, s)))
	result, err := search(t, s).Result(r.Finished())
	require.NoError(t, err)
	assert.True(t, result.Proven)
	assert.Equal(t, "filter=4 heap=64", result.Best.Text)

	grid := &cluster{}
	grid.before = func(_ context.Context, begun int) error {
		if strings.HasSuffix(grid.played[begun-1], " filter=1 heap=64") { // the first configuration
			return errors.New("no topology")
		}
		return nil
	}
	r = runner(t, s, t.TempDir(), grid, &said{})
	points := search(t, s).Points()
	require.NoError(t, r.Grid(t.Context(), points))
	assert.Len(t, grid.played, 19)
	assert.Equal(t, "2 filter=1 heap=64", grid.played[1], "once more")
	assert.Zero(t, r.Left(points))
	assert.Equal(t, tuning.Fail, r.Finished()[0].Verdict)
	assert.Equal(t, tuning.Inconclusive, s.Finished(r.kept[:2])[0].Verdict,
		"until another configuration was measured after it")
}

// A search replays the trials of a grid. It finds a configuration that costs no more than the best of the grid, in at
// most a third of the time.
func TestTheTrialsOfAGridAreASpaceForTheSearch(t *testing.T) {
	s, err := opened(t, strings.Replace(searched, "to: 6", "to: 12", 1), experimented)
	require.NoError(t, err)
	dir := t.TempDir()
	r := runner(t, s, dir, &cluster{}, &said{})
	require.NoError(t, r.Grid(t.Context(), search(t, s).Points()))
	grid, err := search(t, s).Result(r.Finished())
	require.NoError(t, err)
	data, err := searchfile.ReadSpace(filepath.Join(dir, SpaceFile))
	require.NoError(t, err)
	from, err := s.File.Simulation(data)
	require.NoError(t, err)
	found, err := optimize.Simulate(search(t, s), from)
	require.NoError(t, err)
	result, err := search(t, s).Result(found)
	require.NoError(t, err)
	assert.True(t, result.Proven)
	assert.LessOrEqual(t, result.Best.Cost, grid.Best.Cost)
	seconds := func(all []optimize.Trial) (sum float64) {
		for _, each := range all {
			sum += each.Seconds
		}
		return sum
	}
	assert.LessOrEqual(t, 3*seconds(found), seconds(r.Finished()))
}

func TestTrialsOnOtherTermsAreNotMixed(t *testing.T) {
	s, dir := open(t), t.TempDir()
	runner(t, s, dir, &cluster{}, &said{})
	for old, with := range map[string]string{"queries: 300": "queries: 301", "warm_up: 10s": "warm_up: 15s",
		"topology.workers: 3": "topology.workers: 2"} {
		other, err := opened(t, strings.Replace(searched, old, with, 1), strings.Replace(experimented, old, with, 1))
		require.NoError(t, err)
		_, err = NewRunner(other, dir, &cluster{}, &said{})
		assert.ErrorContains(t, err, "another target, load or launch", with)
		_, err = other.Load(dir)
		assert.ErrorContains(t, err, "another target, load or launch", "a dry run does not mix them either")
	}
	wider, err := opened(t, strings.Replace(searched, "to: 6", "to: 8", 1), experimented)
	require.NoError(t, err)
	_, err = NewRunner(wider, dir, &cluster{}, &said{})
	assert.NoError(t, err, "what may be tried, and what it costs, may change")
}

func TestADamagedTrialIsNamed(t *testing.T) {
	s, dir := open(t), t.TempDir()
	r := runner(t, s, dir, &cluster{}, &said{})
	require.NoError(t, r.Search(t.Context(), search(t, s)))
	path := filepath.Join(dir, TrialsDir, "01-filter=1-heap=64", KeptFile)
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o644))
	_, err := NewRunner(s, dir, &cluster{}, &said{})
	assert.ErrorContains(t, err, path)
}
