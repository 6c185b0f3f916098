package searchrunner

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// OutcomeOf derives the outcome of a trial from its run directory. It returns an error if nothing was measured, with
// one exception: a worker that ran out of heap before the first step is a FAIL of the configuration. A verdict of
// LIMITED becomes FAIL if a setting of the space relieves that limiter, because the search is meant to change that
// setting.
func (s *Search) OutcomeOf(run *runstore.Run) (Outcome, error) {
	t := run.Trials[0]
	if len(t.Steps) == 0 {
		if ranOutOfHeap(filepath.Join(t.Dir, runstore.LogsDir)) {
			o := unmeasured(tuning.Fail)
			o.Limiter, o.Reasons = tuning.LimitedByRestart,
				[]string{"a worker ran out of heap before anything was measured: java.lang.OutOfMemoryError in its log"}
			return o, nil
		}
		if t.Error == "" {
			t.Error = "nothing was measured"
		}
		return Outcome{}, errors.New(t.Error)
	}
	step := t.Steps[len(t.Steps)-1]
	o := unmeasured(step.Verdict)
	o.Reasons = append(o.Reasons, step.Reasons...)
	o.LatencyMs = measured(step, s.latency.Figure, s.latency.Statistic)
	o.Completeness, o.CatchUp = step.Clients.Completeness(), step.CatchUpRatio
	o.CPUCores, o.HostIdle, o.RecordsPerSecond = step.CPUCores, step.HostIdle, step.RecordsPerSecond
	if l := step.Limitation; l != nil && l.Known() && o.Verdict != tuning.OK {
		o.Limiter = l.Limiters[0]
	}
	if o.Verdict == tuning.Limited && s.relieved(o.Limiter) {
		o.Verdict = tuning.Fail // the limiter is one of the settings of this search
	}
	o.Noise = s.noise(t, step)
	return o, nil
}

// measured returns a figure that a goal of the step has measured, or Unknown.
func measured(step runstore.Step, figure tuning.GoalFigure, statistic tuning.Statistic) tuning.Figure {
	for _, o := range step.Figures {
		if o.Goal.Figure == figure && o.Goal.Statistic == statistic {
			return o.Measured
		}
	}
	return tuning.Unknown
}

// relieved reports whether a setting of the space relieves a limiter.
func (s *Search) relieved(l tuning.Limiter) bool {
	return slices.ContainsFunc(s.Space.Settings, func(each optimize.Setting) bool {
		return slices.Contains(each.Relieves, l)
	})
}

// noise returns the relative standard deviation of the trial's latency: the noise stated in the search file, or the
// trial's own if that is larger. The trial's own noise is the standard error of the mean filter latency over the slices
// of its step. One trial cannot show how launches differ, so a quiet trial without a stated noise returns Unknown.
func (s *Search) noise(t runstore.Trial, step runstore.Step) tuning.Figure {
	stated := tuning.Unknown
	if s.File.Noise != nil {
		stated = tuning.Figure(*s.File.Noise)
	}
	figures, err := t.Figures()
	if err != nil || figures == nil || s.latency.Figure != tuning.FilterLatency {
		return stated // a trial that was interrupted after its step has no figures
	}
	own := spread(figures.FilterLatencySeconds, runstore.Span{From: step.MeasuredFromMs, To: step.EndMs})
	if stated.Known() || own > optimize.UnstatedNoise {
		return tuning.Greater(stated, own)
	}
	return tuning.Unknown
}

// spread returns the relative standard error of the mean over the slices of a span. It is unknown for fewer than two
// slices.
func spread(tasks []runstore.Slices, within runstore.Span) tuning.Figure {
	bySlice := map[int64][]tuning.Figure{}
	for _, task := range tasks {
		low, high := within.Within(task)
		for i := low; i < high; i++ {
			bySlice[task.TimesMs[i]] = append(bySlice[task.TimesMs[i]], task.Values[i])
		}
	}
	var means []tuning.Figure
	for _, values := range bySlice {
		if m := runstore.Average(values); m.Known() {
			means = append(means, m)
		}
	}
	mean, squares, n := runstore.Average(means), 0.0, float64(len(means))
	for _, m := range means {
		squares += float64((m - mean) * (m - mean))
	}
	if n < 2 || !(mean > 0) {
		return tuning.Unknown
	}
	return tuning.Figure(math.Sqrt(squares/(n-1)/n)) / mean
}

// Used is the mean resource usage of the trials of a configuration.
type Used struct {
	CPUCores         tuning.Figure `json:"cpu_cores"`
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
	// HostIdle is the idle share of the host on which everything ran. It is unknown if workers ran on other hosts.
	HostIdle tuning.Figure `json:"host_idle"`
}

// Used returns the mean resource usage of the stored trials of a configuration.
func (s *Search) Used(kept []Kept, p optimize.Point) Used {
	var cores, records, idle []tuning.Figure
	for _, k := range kept {
		if at, found := s.Space.At(k.Settings); found && k.Outcome != nil && slices.Equal(at, p) {
			cores, records, idle = append(cores, k.Outcome.CPUCores), append(records, k.Outcome.RecordsPerSecond),
				append(idle, k.Outcome.HostIdle)
		}
	}
	used := Used{runstore.Average(cores), runstore.Average(records), runstore.Average(idle)}
	if s.base.Launch.Local == nil {
		used.HostIdle = tuning.Unknown
	}
	return used
}

// Findings returns sentences about the resource usage, and about whether twice the load fits on the host.
func (u Used) Findings() (all []string) {
	if u.CPUCores.Known() {
		all = append(all, fmt.Sprintf("Its workers took %s cores at %s records/s.", tuning.TwoDigits(u.CPUCores),
			tuning.Digits(u.RecordsPerSecond)))
	}
	if u.HostIdle.Known() {
		text := fmt.Sprintf("%.0f%% of the host was idle", 100*float64(u.HostIdle))
		if busy := 2 * (1 - u.HostIdle); busy > 1 {
			text += fmt.Sprintf(": twice the load has no room on it, which would be %.0f%% busy", 100*float64(busy))
		}
		all = append(all, text+".")
	}
	return all
}

// ranOutOfHeap reports whether a stored worker log has an OutOfMemoryError.
func ranOutOfHeap(logs string) bool {
	files, _ := filepath.Glob(filepath.Join(logs, "worker*"))
	return slices.ContainsFunc(files, func(path string) bool {
		text, err := os.ReadFile(path)
		return err == nil && bytes.Contains(text, []byte("java.lang.OutOfMemoryError"))
	})
}
