package runner

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// SpaceFile is the file of a search's run directory that has the finished trials as a space file.
const SpaceFile = "space.yaml"

// Search is the Chooser of tune optimize. It derives the outcomes of a run's trials from the run directory, and asks
// optimize.Search for the next configuration. With Grid, it chooses every configuration once instead.
//
// A trial that cannot be measured is chosen once more. If that fails too, the configuration counts as FAIL, but only if
// another trial was measured after it: that shows that the configuration is at fault and not the cluster. If no trial
// would follow, an earlier configuration is measured again to show it. Several failures in a row end the run, because
// then the cluster is broken. These trials run again when the run is resumed.
type Search struct {
	*optimize.Search
	File *experimentfile.File
	Grid bool
}

// mostFailed is how often a configuration that cannot be measured is tried. mostFailing is how many trials in a row may
// fail to be measured.
const (
	mostFailed  = 2
	mostFailing = 3
)

// NewSearch returns the search of an experiment file that has a search section.
func NewSearch(file *experimentfile.File, grid bool) (*Search, error) {
	s, err := optimize.New(file.Space(), file.Target(), file.Options())
	if err != nil {
		return nil, fmt.Errorf("%s: search: %w", file.Path(), err)
	}
	return &Search{Search: s, File: file, Grid: grid}, nil
}

// trial is a finished trial of a run. failed states that it could not be measured.
type trial struct {
	optimize.Trial
	failed bool
	run    runstore.Trial
}

// count returns how many trials of a configuration were measured, and how many could not be measured.
func count(all []trial, p optimize.Point) (measured, failed int) {
	for _, t := range all {
		switch {
		case !slices.Equal(t.Point, p):
		case t.failed:
			failed++
		default:
			measured++
		}
	}
	return measured, failed
}

// trials returns the finished trials of a run whose configurations belong to the search's space. Settings may have lost
// values since an earlier part of the run.
func (s *Search) trials(run *runstore.Run) (all []trial) {
	why, began, seconds := map[int]string{}, map[int]int64{}, map[int]float64{}
	for _, e := range run.Events {
		switch e.Kind {
		case runstore.TrialPlanned:
			why[e.Planned.Number] = e.Text
		case runstore.TrialStarted:
			began[e.Trial] = e.AtMs
		case runstore.TrialFinished, runstore.TrialFailed:
			seconds[e.Trial] = float64(e.AtMs-began[e.Trial]) / 1000
		}
	}
	for _, t := range run.Trials {
		p, found := s.File.SearchPoint(t.PlannedTrial)
		if !found || t.State != runstore.Finished && t.State != runstore.Failed {
			continue
		}
		each := s.outcome(t)
		each.Point, each.Why, each.Seconds, each.run = p, why[t.Number], seconds[t.Number], t
		all = append(all, each)
	}
	for i, t := range all {
		isMeasured := func(later trial) bool { return !later.failed }
		if measured, failed := count(all, t.Point); measured == 0 && failed >= mostFailed &&
			slices.ContainsFunc(all[i:], isMeasured) {
			all[i].Verdict = tuning.Fail
		}
	}
	return all
}

// Trials returns the finished trials of a run as the search sees them.
func (s *Search) Trials(run *runstore.Run) []optimize.Trial {
	return tuning.Each(s.trials(run), func(t trial) optimize.Trial { return t.Trial })
}

// Left returns the configurations that a grid still has to measure.
func (s *Search) Left(run *runstore.Run) (left []optimize.Point) {
	all := s.trials(run)
	return slices.DeleteFunc(s.Points(), func(p optimize.Point) bool {
		measured, failed := count(all, p)
		return measured > 0 || failed >= mostFailed
	})
}

// failing returns how many of the last trials could not be measured.
func failing(all []trial) (n int) {
	for n < len(all) && all[len(all)-1-n].failed {
		n++
	}
	return n
}

// Again implements Chooser.
func (s *Search) Again(run *runstore.Run) int {
	if n := failing(s.trials(run)); n >= mostFailing {
		return n
	}
	return 0
}

// Next implements Chooser. It also records the trials so far in the space file, so that they can be searched even if
// the run is interrupted.
func (s *Search) Next(run *runstore.Run) (*runstore.PlannedTrial, string, error) {
	if err := s.Record(run); err != nil {
		return nil, "", err
	}
	all := s.trials(run)
	if n := failing(all); n >= mostFailing {
		return nil, "", fmt.Errorf("%d trials in a row could not be measured; fix the cause and run the same command again, "+
			"which repeats these trials: %s", n, all[len(all)-1].run.Error)
	}
	next, more, err := s.propose(run, all)
	if err != nil || !more {
		return nil, "", err
	}
	planned := s.File.SearchTrial(next.Point)
	planned.Number, planned.Configuration, planned.Repeat = len(run.Trials)+1, 1, 1
	for _, t := range run.Trials {
		if t.Label == planned.Label {
			planned.Configuration, planned.Repeat = t.Configuration, t.Repeat+1
		} else if planned.Repeat == 1 {
			planned.Configuration = max(planned.Configuration, t.Configuration+1)
		}
	}
	return &planned, next.Why, nil
}

// propose returns the next configuration.
func (s *Search) propose(run *runstore.Run, all []trial) (next optimize.Proposal, more bool, err error) {
	trials := s.Trials(run)
	if s.Grid {
		if left := s.Left(run); len(left) > 0 {
			return optimize.Proposal{Point: left[0],
				Why: fmt.Sprintf("the grid of %d configurations", s.Configurations())}, true, nil
		}
	} else if next, more, err = s.Search.Next(trials); more || err != nil || s.Spent(trials) {
		return next, more, err
	}
	if failing(all) == 0 {
		return next, false, nil
	}
	last := all[len(all)-1]
	if _, failed := count(all, last.Point); failed < mostFailed {
		return next, false, nil
	}
	next = optimize.Proposal{Point: last.Point, Why: "shows whether the cluster still works, because " + last.run.Label +
		" could not be measured"}
	for _, t := range all {
		if !t.failed {
			next.Point = t.Point
		}
	}
	return next, true, nil
}

// Record writes the finished trials of a run as a space file into its directory.
func (s *Search) Record(run *runstore.Run) error {
	trials := s.Trials(run)
	source := fmt.Sprintf("%s of %s on a cluster, stored in %s", tuning.Counted(len(trials), "trial"),
		filepath.Base(s.File.Path()), run.Dir)
	return disk.WriteAside(disk.System{}, run.Dir, filepath.Join(run.Dir, SpaceFile), s.File.Recorded(source, trials))
}

// outcome derives the outcome of a trial from its last step. A worker that ran out of heap before the first step is a
// FAIL of the configuration. A verdict of LIMITED becomes FAIL if a setting of the search relieves that limiter,
// because the search is meant to change that setting. Figures that were not measured are Unknown and never 0, because
// the search would take a latency of 0 ms for an excellent one.
func (s *Search) outcome(t runstore.Trial) trial {
	o := trial{Trial: optimize.Unmeasured(nil)}
	o.Verdict, o.Noise = tuning.Inconclusive, tuning.Unknown
	if len(t.Steps) == 0 {
		if o.failed = !ranOutOfHeap(filepath.Join(t.Dir, runstore.LogsDir)); !o.failed {
			o.Verdict, o.Limiter = tuning.Fail, tuning.LimitedByRestart
		}
		return o
	}
	step := t.Steps[len(t.Steps)-1]
	o.Verdict, o.Completeness, o.CatchUp = step.Verdict, step.Clients.Completeness(), step.CatchUpRatio
	latency := s.File.LatencyGoal()
	for _, f := range step.Figures {
		if f.Goal.Figure == latency.Figure && f.Goal.Statistic == latency.Statistic {
			o.LatencyMs = f.Measured
		}
	}
	if l := step.Limitation; l != nil && l.Known() && o.Verdict != tuning.OK {
		o.Limiter = l.Limiters[0]
	}
	if o.Verdict == tuning.Limited && slices.ContainsFunc(s.File.Space().Settings, func(each optimize.Setting) bool {
		return slices.Contains(each.Relieves, o.Limiter)
	}) {
		o.Verdict = tuning.Fail
	}
	o.Noise = s.noise(t, step)
	return o
}

// ranOutOfHeap reports whether a stored worker log has an OutOfMemoryError.
func ranOutOfHeap(logs string) bool {
	files, _ := filepath.Glob(filepath.Join(logs, "worker*"))
	return slices.ContainsFunc(files, func(path string) bool {
		text, err := os.ReadFile(path)
		return err == nil && bytes.Contains(text, []byte("java.lang.OutOfMemoryError"))
	})
}

// noise returns the relative standard deviation of the trial's latency: the noise stated in the file, or the trial's
// own if that is larger. The trial's own noise is the standard error of the mean filter latency over the slices of its
// step. One trial cannot show how launches differ, so a quiet trial without a stated noise returns Unknown.
func (s *Search) noise(t runstore.Trial, step runstore.Step) tuning.Figure {
	stated := tuning.Unknown
	if share := s.File.Search.Noise; share.Given {
		stated = tuning.Figure(share.Value)
	}
	figures, err := t.Figures()
	if err != nil || figures == nil || s.File.LatencyGoal().Figure != tuning.FilterLatency {
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
	var means []float64
	for _, values := range bySlice {
		if m := runstore.Average(values); m.Known() {
			means = append(means, float64(m))
		}
	}
	mean, deviation := stat.MeanStdDev(means, nil)
	if len(means) < 2 || !(mean > 0) {
		return tuning.Unknown
	}
	return tuning.Figure(stat.StdErr(deviation, float64(len(means))) / mean)
}

// Used is the mean resource usage of the trials of a configuration.
type Used struct {
	CPUCores         tuning.Figure `json:"cpu_cores"`
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
	// HostIdle is the idle share of the host on which everything ran. It is unknown if workers ran on other hosts.
	HostIdle tuning.Figure `json:"host_idle"`
}

// Used returns the mean resource usage of the measured trials of a configuration.
func (s *Search) Used(run *runstore.Run, p optimize.Point) Used {
	var cores, records, idle []tuning.Figure
	for _, t := range s.trials(run) {
		if n := len(t.run.Steps); n > 0 && slices.Equal(t.Point, p) {
			step := t.run.Steps[n-1]
			cores, records, idle = append(cores, step.CPUCores), append(records, step.RecordsPerSecond),
				append(idle, step.HostIdle)
		}
	}
	used := Used{runstore.Average(cores), runstore.Average(records), runstore.Average(idle)}
	if run.Plan.Launch != runstore.LocalLaunch {
		used.HostIdle = tuning.Unknown
	}
	return used
}

// Findings returns sentences about the resource usage, and about whether twice the load fits on the host.
func (u Used) Findings() (all []string) {
	if u.CPUCores.Known() {
		all = append(all, fmt.Sprintf("Its workers used %s CPU cores at %s records/s.", tuning.TwoDigits(u.CPUCores),
			tuning.Digits(u.RecordsPerSecond)))
	}
	if u.HostIdle.Known() {
		text := fmt.Sprintf("The host was %.0f%% idle", 100*float64(u.HostIdle))
		if busy := 2 * (1 - u.HostIdle); busy > 1 {
			text += fmt.Sprintf(", so it cannot carry twice the load, which would need %.0f%% of it", 100*float64(busy))
		}
		all = append(all, text+".")
	}
	return all
}

// CheckTerms returns an error if the trials of a run are not comparable with those that the search would add.
func (s *Search) CheckTerms(run *runstore.Run) error {
	file, err := experimentfile.Parse(run.Manifest.ExperimentPath, run.Experiment)
	if err == nil && !s.File.SameTerms(file) {
		err = fmt.Errorf("%s has trials with another target, load or launch than %s; choose another directory with "+
			"--out, or restore the file", run.Dir, s.File.Path())
	}
	return err
}
