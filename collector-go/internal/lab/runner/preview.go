package runner

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Preview is what a run of an experiment would do, how long it takes, and what changed since the last run.
type Preview struct {
	File        string            `json:"file"`
	Plan        runstore.Plan     `json:"plan"`
	AboutS      float64           `json:"about_s"`
	MostS       float64           `json:"at_most_s"`
	LastRun     string            `json:"last_run,omitempty"`
	Differences []tuning.Change   `json:"differences"`
	Moved       []tuning.Variable `json:"moved_variables"`
	Unreadable  []string          `json:"unreadable_runs,omitempty"`
	// configurations is the number of configurations of a search; 0 if the experiment is none.
	configurations int
}

// NewPreview reads an experiment file, and looks for the last run of the experiment in the directory runs, which may be
// missing.
func NewPreview(path, runs string) (*Preview, error) {
	file, _, err := experimentfile.Read(path)
	if err != nil {
		return nil, err
	}
	p := &Preview{File: path, Plan: file.Plan(), Differences: []tuning.Change{}, Moved: []tuning.Variable{}}
	if file.Search != nil && len(file.Search.Settings) > 0 {
		search, err := NewSearch(file, false)
		if err != nil {
			return nil, err
		}
		p.configurations = search.Configurations()
	}
	about, most := p.Plan.Estimate()
	p.AboutS, p.MostS = about.Seconds(), most.Seconds()
	settings, err := measure.Settings(file.Conf(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: topology.conf: %w", path, err)
	}
	earlier, unreadable, err := runstore.List(runs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, problem := range unreadable {
		p.Unreadable = append(p.Unreadable, problem.Error())
	}
	if last := runstore.Last(earlier, p.Plan.Experiment); last != nil {
		p.compare(last, settings, file.Manifest())
	}
	return p, nil
}

// compare finds the differences from an earlier run, as far as they are known before the run.
func (p *Preview) compare(last *runstore.Run, settings []runstore.Entry, stated runstore.Manifest) {
	p.LastRun = last.Dir
	statedThen := runstore.Manifest{Records: last.Manifest.Records, Cluster: last.Manifest.Cluster,
		Machine: stated.Machine, Versions: runstore.Versions{Kafka: stated.Versions.Kafka}}
	if p.Plan.Launch == runstore.CommandLaunch {
		statedThen.Versions.Kafka = last.Manifest.Versions.Kafka
	}
	p.Differences = tuning.DiffSettings(runstore.Values(last.Plan, last.Manifest.BulletSettings, statedThen),
		runstore.Values(p.Plan, settings, stated))
	p.Moved = tuning.Moved(p.Differences)
}

// Text returns the preview as text.
func (p *Preview) Text() string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	plan := p.Plan
	line("%s: %s", plan.Experiment, plan.Title)
	for _, about := range strings.Split(strings.TrimSpace(plan.About), "\n") {
		line("  %s", about)
	}
	line("\nGoals of each step")
	for _, goal := range plan.Goals {
		line("  %s", goal)
	}
	if plan.Launch == "local" {
		line("  at least %g%% of the host idle, or the step is inconclusive", 100*float64(plan.MinHostIdle))
	} else {
		line("  worker hosts are not measured, so no step is inconclusive because of them")
	}
	line("  a missed goal %s", map[bool]string{true: "fails the run (exit code 99)",
		false: "ends the search for the capacity, and does not fail the run"}[plan.FailFails])
	line("\nLoad")
	line("  %s", plan.Load.Describe(plan.Axis))
	if n := len(plan.LoadHosts); n > 0 {
		line("  load clients on %d hosts share the queries: %s", n, strings.Join(plan.LoadHosts, ", "))
	}
	if volume := plan.Volume(); volume != "" {
		line("  data volume: %s", volume)
	}
	line("\nTrials")
	p.trials(&out)
	if p.configurations > 0 {
		line("  tune optimize chooses its trials from %s", tuning.Counted(p.configurations, "configuration"))
	}
	line("\nTime")
	line("  each step %s warm-up and %s measured%s; search: %s", load.DurationOf(plan.WarmUpMs), load.DurationOf(plan.SustainMs),
		catchUp(plan.Load), plan.Search.Text())
	line("  about %s, or at most %s if every step is repeated", rounded(p.AboutS), rounded(p.MostS))
	p.differences(line)
	return out.String()
}

func (p *Preview) trials(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, t := range p.Plan.Trials {
		label := t.Label
		if t.Repeat > 1 {
			label += fmt.Sprintf(" (repeat %d)", t.Repeat)
		}
		values := tuning.Each(t.Steps, func(s runstore.PlannedStep) string {
			return strconv.FormatFloat(s.Value, 'f', -1, 64) // never 1e+06
		})
		needed, again := p.Plan.Needs(len(t.Steps))
		count := fmt.Sprintf("%d of %d steps", needed, len(t.Steps))
		if again > 0 {
			count += fmt.Sprintf(", %d of them twice", again)
		}
		fmt.Fprintf(table, "  %d\t%s\t%s: %s\t%s\n", t.Number, label, p.Plan.Axis.Unit(), strings.Join(values, ", "),
			count)
	}
	table.Flush()
}

func (p *Preview) differences(line func(string, ...any)) {
	for _, problem := range p.Unreadable {
		line("\nUnreadable run: %s", problem)
	}
	switch {
	case p.LastRun == "":
		line("\nThis is the first run of %s.", p.Plan.Experiment)
	case len(p.Differences) == 0:
		line("\nNo differences from the last run, %s.", p.LastRun)
	default:
		line("\nDifferences from the last run, %s", p.LastRun)
		for _, change := range p.Differences {
			for _, each := range change.Lines() {
				line("  %s", each)
			}
		}
		line("  changed controlled variables: %s", cmp.Or(strings.Join(tuning.Texts(p.Moved), ", "), "none"))
	}
}

func rounded(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(10 * time.Second)
}

func catchUp(l runstore.Load) string {
	if !l.CatchUpFactor.Known() {
		return ""
	}
	return fmt.Sprintf(", then %s with %g times the records", load.DurationOf(l.CatchUpMs), float64(l.CatchUpFactor))
}
