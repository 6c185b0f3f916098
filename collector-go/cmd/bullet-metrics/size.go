package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/sheet"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// sizeOptions are the flags of size.
type sizeOptions struct {
	recordsPerS, queryRecordsPerS float64
	queries                       int
	extrapolate                   bool
	from                          []string
	cpu                           string
	goals                         queryFlags
	machine                       machineFlags
	show                          presentation
}

func newSizeCommand() *cobra.Command {
	var o sizeOptions
	command := &cobra.Command{
		Use:   "size --records-per-s V --queries N --limit 200ms --from FILES",
		Short: "The configuration for a load, as Bullet YAML, from measurements",
		Long: `Tell the configuration that a record rate and a number of simultaneous queries take, as Bullet's settings.

--from names CSV files, with commas between them or one after the other: a table of data volumes (as for analyze data) and a grid of
queries (as for analyze queries), and, for components that neither moves, a table of components (as for analyze resources). What
lies outside of the measurements is refused, with by how much, unless --extrapolate is given.`,
		Example: "  bullet-metrics tune size --records-per-s 300000 --queries 300 --limit 200ms --from volumes.csv,grid.csv > bullet_settings.yaml",
		Args:    cobra.ArbitraryArgs,
	}
	command.RunE = func(cmd *cobra.Command, args []string) error {
		o.from = append(o.from, args...)
		return runTune(func() error { return o.validate(cmd) }, o.run)(cmd, nil)
	}
	flags := command.Flags()
	flags.Float64Var(&o.recordsPerS, "records-per-s", 0, "records a second that the topology is to take")
	flags.IntVar(&o.queries, "queries", 0, "simultaneous RAW queries that it is to hold")
	flags.StringSliceVar(&o.from, "from", nil, "CSV files of measurements")
	flags.Float64Var(&o.queryRecordsPerS, "query-records-per-s", 0, "record rate at which the grid of queries was measured; 0 where it is not known or a column of it")
	flags.BoolVar(&o.extrapolate, "extrapolate", false, "draw the fits on beyond what was measured")
	o.goals.addFlags(command)
	o.machine.addFlags(flags)
	addCPU(flags, &o.cpu)
	o.show.addFlags(flags, "yaml", "json", "table", "markdown")
	return command
}

func (o *sizeOptions) validate(cmd *cobra.Command) error {
	var wrong []error
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
		wrong = append(wrong, errors.New("--from is missing; name a table of data volumes and a grid of queries"))
	}
	return errors.Join(append(wrong, o.goals.goals().Validate(), o.machine.machine().Validate(), checkCPU(o.cpu), o.show.validate())...)
}

func (o *sizeOptions) run(out io.Writer) error {
	demand := tuning.Demand{RecordsPerS: o.recordsPerS, Queries: o.queries, Goals: o.goals.goals(), Machine: o.machine.machine(),
		Extrapolate: o.extrapolate, QueryTestRecordsPerS: tuning.Unknown}
	evidence, err := o.read(&demand)
	if err != nil {
		return err
	}
	if o.queryRecordsPerS > 0 {
		demand.QueryTestRecordsPerS = tuning.Figure(o.queryRecordsPerS)
	}
	result, err := tuning.Size(demand, evidence)
	if err != nil {
		return fmt.Errorf("size: %w", err)
	}
	return o.write(out, result)
}

// read takes each file for what its columns say it is.
func (o *sizeOptions) read(demand *tuning.Demand) (evidence tuning.Measurements, err error) {
	seen := map[sheet.Measurement]string{}
	for _, path := range o.from {
		about, err := sheet.About(path)
		if err != nil {
			return evidence, err
		}
		if earlier, twice := seen[about]; twice {
			return evidence, usageError{fmt.Errorf("%s and %s are both tables of %s; give one of a kind", earlier, path, about)}
		}
		seen[about] = path
		if err := o.readOne(about, path, demand, &evidence); err != nil {
			return evidence, err
		}
	}
	for _, needed := range []sheet.Measurement{sheet.OfData, sheet.OfQueries} {
		if seen[needed] == "" {
			return evidence, usageError{fmt.Errorf("--from %s has no table of %s; name one more file", strings.Join(o.from, ","), needed)}
		}
	}
	return evidence, nil
}

// readOne reads a file, and judges it by itself, so that a fault names its line.
func (o *sizeOptions) readOne(about sheet.Measurement, path string, demand *tuning.Demand, evidence *tuning.Measurements) error {
	switch about {
	case sheet.OfData:
		table, rows, err := sheet.Data(path, sheet.CPU(o.cpu))
		if err != nil {
			return err
		}
		evidence.Volumes = rows
		_, err = tuning.AnalyzeData(rows, demand.Goals.Confidence)
		return table.Locate(err, nil)
	case sheet.OfQueries:
		table, err := sheet.Queries(path)
		if err != nil {
			return err
		}
		evidence.Points, demand.QueryTestRecordsPerS = table.Points, table.RecordsPerS
		_, err = tuning.AnalyzeQueries(table.Points, demand.Goals)
		return table.Locate(err, nil)
	default:
		table, err := sheet.Resources(path, sheet.CPU(o.cpu))
		if err != nil {
			return err
		}
		evidence.Others = table.Components
		_, err = table.Analyze(demand.Machine)
		return err
	}
}

// sizedJSON is the sizing as data, with the YAML that it stands for.
type sizedJSON struct {
	*tuning.Sizing
	YAML string `json:"yaml"`
}

func (o *sizeOptions) write(out io.Writer, result *tuning.Sizing) error {
	if o.show.output != "yaml" && o.show.output != "json" {
		return o.show.write(out, result, report.OfSizing(result))
	}
	if o.show.figures != "" {
		if err := report.WriteCharts(report.OfSizing(result).Charts, o.show.figures); err != nil {
			return fmt.Errorf("write the figures: %w", err)
		}
	}
	text := []byte(result.YAML())
	if o.show.output == "json" {
		encoded, err := json.MarshalIndent(sizedJSON{result, result.YAML()}, "", "  ")
		if err != nil {
			return err
		}
		text = append(encoded, '\n')
	}
	_, err := out.Write(text)
	return err
}
