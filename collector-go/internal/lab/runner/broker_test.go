package runner_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// brokered is a topology that reads its records from a broker. The gateway reports only the record maker, which is
// never late. Only the collector reports what the topology read.
type brokered struct {
	*fakeTopology
	carries float64       // the highest rate that it can read, records/s
	mute    time.Duration // how long its workers do not report
	live    float64       // rate of a foreign source, records/s
	made    []making
}

// making is a record rate from a moment on.
type making struct {
	from time.Time
	rate float64
}

// join replaces the topology's ports by the brokered topology.
func (b *brokered) join(ports *measure.Ports) measure.Environment {
	ports.Slices, ports.Facts, ports.Source = b, b, b
	if b.live > 0 {
		b.made = []making{{b.began, b.live}}
		ports.Source = nil
	}
	return measure.Environment{HostOfRun: b.live > 0}
}

// Topology implements measure.Facts. It knows nothing yet, so the series of the source are the only sign of a broker.
func (*brokered) Topology(context.Context, string) (t measure.Topology, err error) {
	return t, errors.New("not there yet")
}

func (b *brokered) SetControl(ctx context.Context, c load.Control) error {
	rate := c.RecordsPerSecond
	for _, p := range c.Probes {
		rate += p.PerSecond
	}
	b.mu.Lock()
	b.made = append(b.made, making{time.Now(), rate})
	b.mu.Unlock()
	return b.fakeTopology.SetControl(ctx, c)
}

// at returns how many records were read up to a moment, and how many waited.
func (b *brokered) at(moment time.Time) (read, waited float64) {
	for i, m := range b.made {
		end := moment
		if i+1 < len(b.made) && b.made[i+1].from.Before(end) {
			end = b.made[i+1].from
		}
		if seconds := end.Sub(m.from).Seconds(); seconds > 0 {
			taken := min(waited+m.rate*seconds, b.carries*seconds)
			read, waited = read+taken, waited+m.rate*seconds-taken
		}
	}
	return read, waited
}

func (b *brokered) Slices(ctx context.Context, selector string, from, to time.Time) ([]measure.Series, error) {
	if time.Since(b.began) < b.mute {
		return nil, nil
	}
	series, err := b.fakeTopology.Slices(ctx, selector, from, to)
	if err != nil || len(series) == 0 || !strings.HasPrefix(selector, "bullet_source_") {
		return series, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, ms := range series[0].Slices.TimesMs {
		read, waited := b.at(time.UnixMilli(ms))
		if strings.HasPrefix(selector, "bullet_source_lag") {
			read = waited
		}
		series[0].Slices.Values[i] = tuning.Figure(read)
	}
	return series, nil
}

// The producer makes any requested rate. The catch-up ratio comes from what the topology read, not from what the
// producer made.
func TestCatchingUpThroughABroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var topology *brokered
		w.broker = func(f *fakeTopology) *brokered {
			topology = &brokered{fakeTopology: f, carries: 500 + 10*1.2}
			return topology
		}
		dir := begin(t, strings.Replace(volumes, "repeats: 2", "repeats: 1", 1))
		result, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, "holds 200, fails at 400", result.Rows[0].Capacity.String())
		steps := reread(t, dir).Trials[0].Steps
		require.Len(t, steps, 3)
		for i, want := range []float64{5, 2.5, 1.25} {
			assert.InDelta(t, want, float64(steps[i].CatchUpRatio), 0.05)
			assert.InDelta(t, steps[i].Value+10*1.2, float64(steps[i].RecordsPerSecond), 2)
			assert.InDelta(t, float64(steps[i].RecordsPerSecond)*1843/(1<<20), float64(steps[i].MiBPerSecond), 0.001)
			if notes := steps[i].Notes; steps[i].Verdict == tuning.Fail {
				assert.Len(t, notes, 1, "this time the limit is noted")
			} else {
				assert.Empty(t, notes)
			}
			_, waited := topology.at(time.UnixMilli(steps[i].StartMs))
			assert.LessOrEqual(t, waited, 2*512.0, "step %d began with what the one before left", i+1)
		}
	})
}

const overload = `experiment: overload
title: Too much, then less
analysis: data
goals:
  - {figure: source_lag, at_most: 600}
on_fail: bracket
topology: {conf: x.yaml}
steps: {axis: records_per_second, values: [100, 700, 200], warm_up: 5s, sustain: 15s}
load: {queries: 5, duration: 10s, matching_per_second: 1.2}
launch: {local: {workers: 1, worker_heap: 384MiB}, slice_width: 5s, slice_lateness: 2s}
`

// Records that a step left unread must not count in the next step. The run waits until they are read, and notes what
// is left after the limit.
func TestAStepBeginsWithNothingUnread(t *testing.T) {
	for name, c := range map[string]struct {
		carries float64
		want    []tuning.Verdict
		read    float64
		note    string
	}{
		"read in time": {512, []tuning.Verdict{tuning.OK, tuning.Fail, tuning.OK}, 212, ""},
		"never read": {5, []tuning.Verdict{tuning.Fail, tuning.Fail, tuning.Fail}, 5,
			"records of earlier load were still unread when the step began"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.broker = func(f *fakeTopology) *brokered { return &brokered{fakeTopology: f, carries: c.carries} }
				dir := begin(t, overload)
				_, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
				require.NoError(t, err)
				steps := reread(t, dir).Trials[0].Steps
				require.Len(t, steps, 3)
				for i, want := range c.want {
					assert.Equal(t, want, steps[i].Verdict, "%v", steps[i].Reasons)
				}
				assert.InDelta(t, min(712, c.carries), float64(steps[1].RecordsPerSecond), 2,
					"what was read, not what was made")
				assert.InDelta(t, c.read, float64(steps[2].RecordsPerSecond), 2)
				assert.Contains(t, strings.Join(steps[2].Notes, "; "), c.note)
				assert.Equal(t, c.note == "", len(steps[2].Notes) == 0)
			})
		})
	}
}

// A source in the topology reports its current lag. Near its capacity the topology would need a step to work off 2 s
// of lag. A step that repeats the last OK after a FAIL would then be judged by that lag.
func TestAStepOfASourceInTheTopologyBeginsWithNothingOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.carries["overload"] = 512
		dir := begin(t, strings.Replace(overload, "[100, 700, 200]", "[100, 538, 500]", 1))
		_, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		steps := reread(t, dir).Trials[0].Steps
		require.Len(t, steps, 3)
		assert.InDelta(t, 38*20, float64(steps[1].RecordsLag), 60, "of 550 records/s 512 were made")
		assert.Less(t, steps[2].RecordsLag, int64(60), "512 records/s are made as they are due, and nothing beside")
		assert.Empty(t, steps[2].Notes)
	})
}

// A source that was paused while unread records were read makes records again afterwards, at the same rate as before.
func TestAPausedSourceGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var topology *brokered
		w.broker = func(f *fakeTopology) *brokered {
			topology = &brokered{fakeTopology: f, carries: 512}
			return topology
		}
		byQueries := strings.NewReplacer("axis: records_per_second, values: [100, 700, 200]", "values: [1, 2]",
			"{queries: 5, ", "{records_per_second: 700, ").Replace(overload)
		dir := begin(t, byQueries)
		_, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		var rates []float64
		for _, m := range topology.made {
			rates = append(rates, math.Round(m.rate))
		}
		assert.Equal(t, []float64{712, 712, 12, 712, 12, 712}, rates,
			"set for the trial and its warm-up, then for each step once what was unread is read")
		steps := reread(t, dir).Trials[0].Steps
		require.Len(t, steps, 2)
		assert.InDelta(t, 512, float64(steps[1].RecordsPerSecond), 2)
	})
}

const liveData = `experiment: live
title: Live data on somebody's cluster
analysis: queries
goals:
  - {figure: filter_latency, statistic: mean, at_most: 200ms}
  - {figure: source_lag, at_most: 100}
on_fail: bracket
topology: {conf: x.yaml}
steps: {values: [0, 10], warm_up: 5s, sustain: 15s}
load: {source: none, duration: 10s}
launch:
  command: {submit: [storm, "{name}"], kill: [storm], collector: "c:1", gateway: "g:1", workers: 1}
  slice_width: 5s
  slice_lateness: 2s
`

// The records cannot be controlled; their rate is the collector's figure. The host is that of tune run, so its lack of
// idle CPU says nothing.
func TestRecordsThatNobodySteers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, say := newWorld(), &journal{}
		w.starved = func() bool { return true }
		w.broker = func(f *fakeTopology) *brokered {
			return &brokered{fakeTopology: f, carries: 1000, live: 300, mute: 4 * time.Minute}
		}
		dir := begin(t, liveData)
		result, err := goOn(t, t.Context(), dir, w, say, runner.Options{Wait: 5 * time.Minute})
		require.NoError(t, err)
		assert.Equal(t, tuning.OK, result.Verdict, result.Notes)
		run := reread(t, dir)
		for _, step := range run.Trials[0].Steps {
			assert.Equal(t, tuning.OK, step.Verdict, step.Reasons)
			assert.InDelta(t, 300, float64(step.RecordsPerSecond), 1)
			assert.False(t, step.RecordsPerSecondAsked.Known())
			assert.Zero(t, step.Clients.MissingRecords)
			assert.Contains(t, fmt.Sprint(*step.Limitation), "worker hosts: not measured")
		}
		for _, e := range run.Events {
			assert.NotEqual(t, runstore.RateCalibrated, e.Kind)
		}
		assert.Contains(t, say.text(), "300 records/s, tune run's host idle 0%")
		opened, err := report.OpenRunReport(dir)
		require.NoError(t, err)
		assert.Contains(t, opened.Caveats, report.WorkerHosts)
	})
}

// Workers that take longer than the file allows end the trial. The error points to the cluster and not to logs on this
// machine.
func TestWorkersAreWaitedForAsLongAsTheFileSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.broker = func(f *fakeTopology) *brokered {
			return &brokered{fakeTopology: f, carries: 1000, live: 300, mute: time.Hour}
		}
		result, err := goOn(t, t.Context(), begin(t, liveData), w, &journal{}, runner.Options{Wait: 5 * time.Minute})
		require.NoError(t, err)
		require.Equal(t, runstore.ExitFailed, result.ExitCode)
		assert.Contains(t, result.Trials[0].Error, "waited 5m0s for 1 workers to report")
		assert.Contains(t, result.Trials[0].Error, "check the logs of the workers")
		assert.Contains(t, result.Trials[0].Error, "(0 report)")
	})
}
