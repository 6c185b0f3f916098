package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/predict"
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
		Short: "Predict the figures of a configuration that was never run, from earlier runs",
		Long: `Predict capacity, filter latency, CPU, garbage collection, heap and machines of a configuration that was never run.

Each figure is an interval. The answer also states how far the prediction is beyond the measurements.

--from takes run directories, directories that contain them, and CSV files (as for analyze queries, data and
concurrency). FILE is an experiment, or a YAML file with Bullet's settings. For an experiment, every configuration and
step is predicted. Without FILE, the configuration is that of the last run of --from. --set overrides its settings.
The record rate is that of the experiment or of the runs, unless you set it.

With --check, the arguments are runs and tables. Each step is predicted from all other steps, and each capacity from
the other configurations. The exit code is 99 if fewer than 90% of the figures lie inside their intervals. It is also
99 if the median error of the capacity is 15% or more.`,
		Example: `  bullet-metrics tune predict --from out/tune --set bullet.topology.filter.bolt.parallelism=6 --queries 400,800
  bullet-metrics tune predict topology/experiments/test5.yaml --from out/tune --queries 600
  bullet-metrics tune predict --check out/tune`,
		Args: cobra.ArbitraryArgs,
	}
	command.RunE = runTune(o.validate, o.run)
	flags := command.Flags()
	flags.Var(textfile.PathListFlag(&o.from), "from", "run directories, and CSV files with measurements")
	flags.StringArrayVar(&o.set, "set", nil, "setting that overrides the configuration, KEY=VALUE; may be repeated")
	flags.Float64SliceVar(&o.queries, "queries", nil,
		"numbers of simultaneous queries; they replace the steps of an experiment")
	flags.Lookup("queries").DefValue = "0, or the steps of the experiment"
	flags.Float64Var(&o.recordsPerS, "records-per-s", 0,
		"records per second; 0 takes the rate of the experiment or of the runs")
	flags.Float64Var(&o.gridRecords, "query-records-per-s", 0,
		"records per second at which tables of queries without this column were measured; 0 means unknown")
	flags.DurationVar(&o.limit, "limit", 0,
		"maximum mean filter latency at the capacity; 0 takes the goal of the runs, or 200ms if they have none")
	flags.BoolVar(&o.check, "check", false,
		"predict each step of the arguments from the other steps, and report errors and coverage")
	o.confidence = addConfidence(flags)
	o.machine.addFlags(flags)
	o.show.addFlags(flags, "table", "json", "markdown", "html")
	return command
}

func (o *predictOptions) validate(_ *cobra.Command, args []string) error {
	wrong := []error{o.show.validate(), tuning.CheckConfidence(*o.confidence), o.machine.machine().Validate()}
	switch {
	case o.check && len(args) == 0:
		wrong = append(wrong, errors.New("--check needs run directories, directories of runs, or CSV files"))
	case o.check && len(o.from)+len(o.set)+len(o.queries) > 0:
		wrong = append(wrong, errors.New("--check takes its runs as arguments and cannot be combined with --from, --set or --queries"))
	case !o.check && len(o.from) == 0:
		wrong = append(wrong, errors.New("--from is missing; name run directories, or CSV files with measurements"))
	case !o.check && len(args) > 1:
		wrong = append(wrong,
			fmt.Errorf("at most one FILE (an experiment or Bullet settings) is allowed, not %d; name runs with --from",
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
			return nil, fmt.Errorf("--set %q is not KEY=VALUE", s)
		}
		settings[key] = value
	}
	return settings, nil
}

// figureOf returns the value of a flag whose 0 means unknown.
func figureOf(value float64) tuning.Figure {
	if value > 0 {
		return tuning.Figure(value)
	}
	return tuning.Unknown
}

// defaultLimit is the document's.
const defaultLimit = 200 * time.Millisecond

func (o *predictOptions) run(cmd *cobra.Command, args []string) error {
	out := cmd.OutOrStdout()
	from := o.from
	if o.check {
		from = args
	}
	sources, err := predict.Open(figureOf(o.gridRecords), from...)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if o.limit > 0 || s.LimitMs == 0 {
			s.LimitMs = float64(cmp.Or(o.limit, defaultLimit).Microseconds()) / 1000
		}
	}
	if o.check {
		return o.validateModel(sources, out)
	}
	over, err := settingsOf(o.set)
	if err != nil {
		return err
	}
	base := predict.Scenario{Over: over, Records: figureOf(o.recordsPerS), Machine: o.machine.machine(),
		LimitMs: float64(o.limit.Microseconds()) / 1000}
	asked, err := predict.Scenarios(strings.Join(args, ""), base, o.queries)
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
	if wrong := check.Missed(); len(wrong) > 0 {
		return missed(strings.Join(wrong, "; "))
	}
	return nil
}
