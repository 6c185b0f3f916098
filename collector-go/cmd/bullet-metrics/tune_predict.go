package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/predict"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// predictOptions are the flags of predict.
type predictOptions struct {
	from, set   []string
	queries     []float64
	recordsPerS float64
	gridRecords float64
	limit       time.Duration
	check       bool
	confidence  *float64
	machine     machineFlags
	show        presentation
}

func newTunePredictCommand() *cobra.Command {
	var o predictOptions
	command := &cobra.Command{
		Use:   "predict [FILE] --from RUNS|TABLES | predict --check RUNS|TABLES...",
		Short: "What a configuration would do that was never run, from earlier runs, as intervals",
		Long: `Predict capacity, filter latency, CPU, garbage collection, heap and machines of a configuration that was never run, each as an interval, with how far
the question reaches beyond what was measured.

--from names runs' directories, directories of runs, and CSV files (as for analyze queries, data and concurrency). FILE is an experiment, of which every configuration and step
is predicted, or a Bullet settings YAML. Without FILE the configuration is that of the last run of --from; --set lays settings over it. What is not given of the load is the run's.

With --check the arguments are runs and tables: each step of theirs is predicted from all others, each capacity from the other configurations. The exit code is 99 where fewer
than 90% lie inside their intervals, or the median error of the capacity is not below 15%.`,
		Example: `  bullet-metrics tune predict --from out/tune --set bullet.topology.filter.bolt.parallelism=6 --queries 400,800
  bullet-metrics tune predict topology/experiments/test5.yaml --from out/tune --queries 600
  bullet-metrics tune predict --check out/tune`,
		Args: cobra.ArbitraryArgs,
	}
	command.RunE = func(cmd *cobra.Command, args []string) error {
		return runTune(func() error { return o.validate(args) }, func(out io.Writer) error { return o.run(args, out) })(
			cmd, nil)
	}
	flags := command.Flags()
	flags.Var(textfile.PathListFlag(&o.from), "from", "directories of runs and CSV files of measurements")
	flags.StringArrayVar(&o.set, "set", nil,
		"a setting laid over the configuration, key=value; may be given several times")
	flags.Float64SliceVar(&o.queries, "queries", nil,
		"simultaneous queries, one or several numbers; of an experiment in the place of its steps")
	flags.Float64Var(&o.recordsPerS, "records-per-s", 0,
		"records a second; 0 for those of the runs, or of the experiment")
	flags.Float64Var(&o.gridRecords, "query-records-per-s", 0,
		"record rate at which tables of queries were measured that have none; 0 where that is not known")
	flags.DurationVar(&o.limit, "limit", 0,
		"the most that the mean filter latency may be, of the capacity; 0 for the runs' goal, 200ms where they have none")
	flags.BoolVar(&o.check, "check", false,
		"predict every step of the arguments from the others, and state errors and coverage")
	o.confidence = addConfidence(flags)
	o.machine.addFlags(flags)
	o.show.addFlags(flags, "table", "json", "markdown", "html")
	return command
}

func (o *predictOptions) validate(args []string) error {
	wrong := []error{o.show.validate(), tuning.CheckConfidence(*o.confidence), o.machine.machine().Validate()}
	switch {
	case o.check && len(args) == 0:
		wrong = append(wrong, errors.New("--check takes runs' directories, directories of runs, or CSV files"))
	case o.check && len(o.from)+len(o.set)+len(o.queries) > 0:
		wrong = append(wrong, errors.New("--check takes its runs as arguments, without --from, --set and --queries"))
	case !o.check && len(o.from) == 0:
		wrong = append(wrong, errors.New("--from is missing; name runs' directories, or CSV files of measurements"))
	case !o.check && len(args) > 1:
		wrong = append(wrong,
			fmt.Errorf("one FILE may be given, an experiment or Bullet's settings, not %d; name runs with --from",
				len(args)))
	}
	if o.limit < 0 {
		wrong = append(wrong, errors.New("--limit must be positive, such as 200ms"))
	}
	if !(o.recordsPerS >= 0 && o.gridRecords >= 0) || math.IsInf(o.recordsPerS+o.gridRecords, 0) {
		wrong = append(wrong, errors.New("--records-per-s and --query-records-per-s must be positive numbers"))
	}
	for _, n := range o.queries {
		if !(n >= 0) || math.IsInf(n, 0) {
			wrong = append(wrong, errors.New("--queries must be at least 0"))
		}
	}
	_, err := settingsOf(o.set)
	return errors.Join(append(wrong, err)...)
}

// settingsOf reads key=value.
func settingsOf(set []string) (predict.Settings, error) {
	settings := predict.Settings{}
	for _, s := range set {
		key, value, found := strings.Cut(s, "=")
		if !found || key == "" {
			return nil, fmt.Errorf("--set %q is no key=value", s)
		}
		settings[key] = value
	}
	return settings, nil
}

// grid is the record rate of tables that have none.
func (o *predictOptions) grid() tuning.Figure {
	if o.gridRecords > 0 {
		return tuning.Figure(o.gridRecords)
	}
	return tuning.Unknown
}

// defaultLimit is the document's.
const defaultLimit = 200 * time.Millisecond

func (o *predictOptions) run(args []string, out io.Writer) error {
	from := o.from
	if o.check {
		from = args
	}
	sources, err := predict.Open(o.grid(), from...)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if o.limit > 0 || s.LimitMs == 0 {
			limit := o.limit
			if limit == 0 {
				limit = defaultLimit
			}
			s.LimitMs = float64(limit.Microseconds()) / 1000
		}
	}
	if o.check {
		return o.validateModel(sources, out)
	}
	asked, err := o.asked(args)
	if err != nil {
		return err
	}
	answers, err := predict.Predict(predict.Worlds(sources), asked, *o.confidence)
	if err != nil {
		return fmt.Errorf("%w%s", err, predict.LeftOut(sources))
	}
	return o.show.write(out, answers, answers.Document())
}

func (o *predictOptions) validateModel(sources []*predict.Source, out io.Writer) error {
	check, err := predict.Validate(sources, *o.confidence)
	if err != nil {
		return err
	}
	if err := o.show.write(out, check, check.Document()); err != nil {
		return err
	}
	if missed := check.Missed(); len(missed) > 0 {
		return predictionsMissed{missed}
	}
	return nil
}

// predictionsMissed is that a check missed its goals.
type predictionsMissed struct{ missed []string }

func (e predictionsMissed) Error() string { return strings.Join(e.missed, "; ") }

// ExitCode states that a goal was missed.
func (predictionsMissed) ExitCode() int { return exitMissed }

// asked are the questions of the flags and the file.
func (o *predictOptions) asked(args []string) ([]predict.Scenario, error) {
	over, err := settingsOf(o.set)
	if err != nil {
		return nil, err
	}
	base := predict.Scenario{Over: over, Records: tuning.Unknown, LimitMs: float64(o.limit.Microseconds()) / 1000,
		Machine: o.machine.machine()}
	if o.recordsPerS > 0 {
		base.Records = tuning.Figure(o.recordsPerS)
	}
	if len(args) == 0 {
		return o.loads(base, []float64{0}), nil
	}
	entries, err := measure.Settings(args[0], nil)
	if err != nil {
		return nil, err
	}
	settings := predict.Settings{}
	for _, e := range entries {
		settings[e.Key] = e.Value
	}
	if _, is := settings["experiment"]; is {
		return o.experiment(args[0], base)
	}
	base.Settings = settings
	return o.loads(base, []float64{0}), nil
}

// loads asks for each number of queries of the flag, or of others where it is not given.
func (o *predictOptions) loads(base predict.Scenario, others []float64) (all []predict.Scenario) {
	queries := o.queries
	if len(queries) == 0 {
		queries = others
	}
	for _, n := range queries {
		base.Queries = n
		all = append(all, base)
	}
	return all
}

// experiment asks for every configuration and step of an experiment's plan.
func (o *predictOptions) experiment(path string, base predict.Scenario) (all []predict.Scenario, err error) {
	file, _, err := experimentfile.Read(path)
	if err != nil {
		return nil, err
	}
	entries, err := measure.Settings(file.Conf(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: topology.conf: %w", path, err)
	}
	plan := file.Plan()
	for _, t := range plan.Trials {
		if t.Repeat > 1 {
			continue
		}
		a, settings := base, predict.Settings{}
		for _, e := range entries {
			settings[e.Key] = e.Value
		}
		for _, e := range t.Settings {
			settings = settings.Over(predict.Settings{e.Key: e.Value})
		}
		a.Label, a.Settings, a.Workers, a.HeapMiB = t.Label, settings, float64(t.Workers), float64(t.WorkerHeapMiB)
		if !a.Records.Known() && plan.Load.RecordsPerSecond > 0 {
			a.Records = plan.Load.RecordsPerSecond
		}
		a.Queries = float64(plan.Load.Queries)
		all = append(all, o.steps(a, plan, t)...)
	}
	return all, nil
}

func (o *predictOptions) steps(a predict.Scenario, plan runstore.Plan, t runstore.PlannedTrial,
) (all []predict.Scenario) {
	if plan.Axis == runstore.RecordsPerSecond && o.recordsPerS == 0 {
		for _, s := range t.Steps {
			a.Records = tuning.Figure(s.Value)
			all = append(all, o.loads(a, []float64{a.Queries})...)
		}
		return all
	}
	var values []float64
	for _, s := range t.Steps {
		if plan.Axis == runstore.Queries {
			values = append(values, s.Value)
		}
	}
	if len(values) == 0 {
		values = []float64{a.Queries}
	}
	return o.loads(a, values)
}
