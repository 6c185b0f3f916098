package main

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/input"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// sizeOptions are the flags of size.
type sizeOptions struct {
	recordsPerS, queryRecordsPerS float64
	queries                       int
	extrapolate                   bool
	from                          []string
	cpu                           *string
	goals                         queryFlags
	machine                       machineFlags
	show                          presentation
	limitGiven                    bool
}

func newSizeCommand() *cobra.Command {
	var o sizeOptions
	command := &cobra.Command{
		Use:   "size --records-per-s V --queries N --limit 200ms --from FILES|RUNDIRS",
		Short: "Find the configuration for a load from measurements, as Bullet's settings",
		Long: `Find the configuration for a record rate and a number of simultaneous queries, and print it as Bullet's settings.

--from takes run directories and CSV files, separated by commas or spaces:
  - a run of data volumes (analysis: data, such as Test 6), or its table (as for analyze data)
  - a run of filter bolts by queries (analysis: queries, such as Test 7), or its table (as for analyze queries)
  - optionally, a table of the components that do not differ in these measurements (as for analyze resources)

A load outside the measurements is refused unless --extrapolate is given. The error states how far outside it is. A run
also provides the latency limit (unless --limit is set), the record rate and the class of the queries.`,
		Example: `  bullet-metrics tune size --records-per-s 300000 --queries 300 --from out/tune/test6-20261121-101500,out/tune/test7-20261121-153000
  bullet-metrics tune size --records-per-s 300000 --queries 300 --limit 200ms --from volumes.csv,grid.csv > bullet_settings.yaml`,
		Args: cobra.ArbitraryArgs,
	}
	command.RunE = runTune(o.validate, o.run)
	flags := command.Flags()
	flags.Float64Var(&o.recordsPerS, "records-per-s", 0, "records per second that the topology must process")
	flags.IntVar(&o.queries, "queries", 0, "number of simultaneous RAW queries that the topology must hold")
	flags.Var(textfile.PathListFlag(&o.from), "from", "run directories, and CSV files with measurements")
	flags.Float64Var(&o.queryRecordsPerS, "query-records-per-s", 0,
		"records per second at which the grid of queries was measured; 0 takes it from the run or a column, or means unknown")
	flags.BoolVar(&o.extrapolate, "extrapolate", false, "extend the fits beyond the measurements")
	o.goals.addFlags(flags)
	o.machine.addFlags(flags)
	o.cpu = addCPU(flags)
	o.show.addFlags(flags, "yaml", "json", "table", "markdown")
	return command
}

func (o *sizeOptions) validate(cmd *cobra.Command, args []string) error {
	o.from = append(o.from, args...)
	var wrong []error
	o.limitGiven = cmd.Flags().Changed("limit")
	for _, name := range []string{"records-per-s", "queries"} {
		if !cmd.Flags().Changed(name) {
			wrong = append(wrong, fmt.Errorf("--%s is missing", name))
		}
	}
	if cmd.Flags().Changed("records-per-s") && !(o.recordsPerS > 0) || math.IsInf(o.recordsPerS, 0) {
		wrong = append(wrong, errors.New("--records-per-s must be a positive number"))
	}
	if o.queries < 0 {
		wrong = append(wrong, errors.New("--queries must be at least 0"))
	}
	if !(o.queryRecordsPerS >= 0) || math.IsInf(o.queryRecordsPerS, 0) {
		wrong = append(wrong, errors.New("--query-records-per-s must be a positive number"))
	}
	if len(o.from) == 0 {
		wrong = append(wrong,
			errors.New("--from is missing; name a run of data volumes and one of filter bolts by queries, or their tables as CSV files"))
	}
	return errors.Join(append(wrong, o.goals.goals().Validate(), o.machine.machine().Validate(), checkCPU(*o.cpu),
		o.show.validate())...)
}

func (o *sizeOptions) run(cmd *cobra.Command, _ []string) error {
	target := tuning.TargetLoad{RecordsPerS: o.recordsPerS, Queries: o.queries, Goals: o.goals.goals(),
		Machine: o.machine.machine(), Extrapolate: o.extrapolate, QueryTestRecordsPerS: tuning.Unknown}
	tables := input.Sizing{From: o.from, CPU: csvtable.CPU(*o.cpu), LimitGiven: o.limitGiven}
	evidence, err := tables.Read(&target)
	if err != nil {
		return err
	}
	if o.queryRecordsPerS > 0 {
		target.QueryTestRecordsPerS = tuning.Figure(o.queryRecordsPerS)
	}
	result, err := tuning.Size(target, evidence)
	if err != nil {
		return fmt.Errorf("size: %w", err)
	}
	result.Notes = append(result.Notes, tables.Notes...)
	return o.write(cmd.OutOrStdout(), result)
}

// sizedJSON is the sizing as data, with the YAML that it stands for.
type sizedJSON struct {
	*tuning.Sizing
	YAML string `json:"yaml"`
}

func (o *sizeOptions) write(out io.Writer, result *tuning.Sizing) error {
	if o.show.output == "json" {
		return o.show.write(out, sizedJSON{result, result.YAML()}, report.OfSizing(result))
	}
	if o.show.output != "yaml" {
		return o.show.write(out, result, report.OfSizing(result))
	}
	if err := o.show.writeFigures(report.OfSizing(result)); err != nil {
		return err
	}
	_, err := io.WriteString(out, result.YAML())
	return err
}
