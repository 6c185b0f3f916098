package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/input"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// analysis is a subcommand of tune analyze, in a file of its own. The page with its sample is in docs/analysis.md or
// docs/tune (analysisPages).
type analysis struct {
	name, short string
	example     string // arguments behind its name
	columns     string // of its CSV file, as the help of --input names them
	// prepare adds its own flags; check, which may be nil, and run follow once they are parsed.
	prepare func(*pflag.FlagSet) (check func() error, run analyze)
}

// analyze reads a file or the directory of a run: what is found is written as JSON, shown as a document.
type analyze func(path string) (found any, shown *document.Document, err error)

// analyses are all subcommands of tune analyze.
var analyses = []analysis{resourcesAnalysis, concurrencyAnalysis, queriesAnalysis, dataAnalysis, scalingAnalysis}

func newAnalyzeCommand() *cobra.Command {
	return group("analyze", "Analyze a run, or measurements in a CSV file",
		`Analyze a run, or measurements in a CSV file: verdicts, capacities and fits.

The exit code is 0 for every result, even for a table with FAIL. It is 1 if the file cannot be analyzed, and 2 for
wrong usage.`, tuning.Each(analyses, analysis.command)...)
}

func (a analysis) command() *cobra.Command {
	path := ""
	var show presentation
	command := &cobra.Command{Use: a.name, Short: a.short, Example: "  bullet-metrics tune analyze " + a.name + " " +
		a.example, Args: noArguments}
	flags := command.Flags()
	flags.Var(textfile.PathFlag(&path, ""), "input", "run directory, or CSV file with the columns "+a.columns)
	show.addFlags(flags, "table", "json", "markdown")
	check, run := a.prepare(flags)
	command.RunE = runTune(func(*cobra.Command, []string) error {
		wrong := show.validate()
		if path == "" {
			wrong = errors.Join(errors.New("--input is missing; name a CSV file with measurements, or a run directory"), wrong)
		}
		if check != nil {
			wrong = errors.Join(wrong, check())
		}
		return wrong
	}, func(cmd *cobra.Command, _ []string) error {
		found, shown, err := run(path)
		if err != nil {
			return err
		}
		return show.write(cmd.OutOrStdout(), found, shown)
	})
	return command
}

var concurrencyAnalysis = analysis{
	name: "concurrency", short: "Calculate the completeness of each step, the capacity, and the cost of a query",
	example: "--input steps.csv --expected 10 --tolerance 0.01",
	columns: "simultaneous_queries, average_cpu_ms_per_minute, average_result_size; optional: workers, total_cpu_ms_per_minute, average_gc_ms_per_minute, verdict",
	prepare: prepareConcurrency,
}

func prepareConcurrency(flags *pflag.FlagSet) (func() error, analyze) {
	goals, confidence := tuning.DefaultGoals(), addConfidence(flags)
	flags.Float64Var(&goals.ExpectedResultSize, "expected", goals.ExpectedResultSize,
		"records in the answer to a query if none is lost")
	flags.Float64Var(&goals.Tolerance, "tolerance", goals.Tolerance,
		"share of these records that may be missing on average, as a ratio")
	check := func() error { return errors.Join(goals.Validate(), tuning.CheckConfidence(*confidence)) }
	return check, func(path string) (any, *document.Document, error) {
		table, own, err := input.Concurrency(path)
		if err != nil {
			return nil, nil, err
		}
		if own != nil && !flags.Changed("expected") {
			goals.ExpectedResultSize = float64(own.ExpectedResultSize)
		}
		if own != nil && !flags.Changed("tolerance") {
			goals.Tolerance = own.Tolerance()
		}
		result, err := tuning.AnalyzeConcurrency(table.Rows, goals, *confidence)
		if err != nil {
			return nil, nil, table.Locate(err)
		}
		result.Notes = append(result.Notes, table.Notes...)
		return result, report.OfConcurrency(result), nil
	}
}

var queriesAnalysis = analysis{
	name: "queries", short: "Calculate the capacity and the knee of each configuration, and queries per core",
	example: "--input grid.csv --limit 200ms --figures figures",
	columns: "filter_bolts, queries, average_latency_ms, topology_cpu_cores; optional: topology_memory_mib, used_cpu_cores, records_per_s, verdict",
	prepare: prepareQueries,
}

func prepareQueries(flags *pflag.FlagSet) (func() error, analyze) {
	var q queryFlags
	q.addFlags(flags)
	return func() error { return q.goals().Validate() }, func(path string) (any, *document.Document, error) {
		table, err := input.Queries(path)
		if err != nil {
			return nil, nil, err
		}
		result, err := tuning.AnalyzeQueries(table.Rows, table.Goals(q.goals(), flags.Changed("limit")))
		if err != nil {
			return nil, nil, table.Locate(err)
		}
		result.Notes = append(result.Notes, table.Notes...)
		return result, report.OfQueries(result), nil
	}
}

// queryFlags are what a configuration is to hold.
type queryFlags struct {
	limit      time.Duration
	headroom   float64
	confidence *float64
}

func (q *queryFlags) addFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&q.limit, "limit", 200*time.Millisecond,
		"maximum mean filter latency; a run's own limit applies unless this flag is set")
	flags.Float64Var(&q.headroom, "headroom", tuning.DefaultHeadroom, "share of the capacity to leave free, as a ratio")
	q.confidence = addConfidence(flags)
}

func (q *queryFlags) goals() tuning.QueryGoals {
	return tuning.QueryGoals{LimitMs: float64(q.limit) / float64(time.Millisecond), Headroom: q.headroom,
		Confidence: *q.confidence}
}

var dataAnalysis = analysis{
	name: "data", short: "Calculate records, MiB and memory per core over data volumes, and audit the totals",
	example: "--input volumes.csv --output json",
	columns: "data_mib_per_s, records_per_s, total_cpu_cores, total_memory_mib; optional: used_cpu_cores; for the audit: component, parallelism, cpu_cores_each or cpu_cores_total, on_heap_mib, off_heap_mib",
	prepare: prepareData,
}

func prepareData(flags *pflag.FlagSet) (func() error, analyze) {
	cpu, confidence := addCPU(flags), addConfidence(flags)
	check := func() error { return errors.Join(checkCPU(*cpu), tuning.CheckConfidence(*confidence)) }
	return check, func(path string) (any, *document.Document, error) {
		table, err := input.Volumes(path, csvtable.CPU(*cpu))
		if err != nil {
			return nil, nil, err
		}
		result, err := tuning.AnalyzeData(table.Rows, *confidence)
		if err != nil {
			return nil, nil, table.Locate(err)
		}
		table.Lines(result.Audit)
		result.Notes = append(result.Notes, table.Notes...)
		return result, report.OfData(result), nil
	}
}

var scalingAnalysis = analysis{
	name: "scaling", short: "Compare a scaling curve with the ideal, a discounted projection and the Universal Scalability Law",
	example: "--input curve.csv --discount 0.25",
	columns: "nodes, cores, senders, used_cpu_cores or total_cpu_cores, and throughput, records_per_s or rows_per_s",
	prepare: prepareScaling,
}

func prepareScaling(flags *pflag.FlagSet) (func() error, analyze) {
	confidence := addConfidence(flags)
	discount := flags.Float64("discount", tuning.DefaultDiscount,
		"share of added capacity that the projection subtracts as overhead, as a ratio")
	check := func() error {
		var wrong error
		if !(*discount >= 0 && *discount < 1) {
			wrong = errors.New("--discount must be at least 0 and below 1")
		}
		return errors.Join(wrong, tuning.CheckConfidence(*confidence))
	}
	return check, func(path string) (any, *document.Document, error) {
		curve, names, err := input.Scaling(path)
		if err != nil {
			return nil, nil, err
		}
		result, err := tuning.AnalyzeScaling(curve.Rows, names, *discount, *confidence)
		if err != nil {
			return nil, nil, curve.Locate(err)
		}
		if curve.Run != nil { // of a file most columns are somebody else's
			result.Notes = append(result.Notes, curve.Notes...)
		}
		return result, report.OfScaling(result), nil
	}
}

var resourcesAnalysis = analysis{
	name: "resources", short: "Add up and audit a table of components, and calculate the machines that they need",
	example: "--input resources.csv --cores-per-machine 47 --memory-per-machine-mib 245760",
	columns: "component, parallelism, cpu_cores_total or cpu_cores_each (or cpu_cores with --cpu), on_heap_mib, off_heap_mib, total_memory_mib",
	prepare: prepareResources,
}

func prepareResources(flags *pflag.FlagSet) (func() error, analyze) {
	var machine machineFlags
	var spouts spoutFlags
	cpu := addCPU(flags)
	machine.addFlags(flags)
	flags.IntVar(&spouts.maxPending, "max-spout-pending", 0, "value of topology.max.spout.pending; 0 means not set")
	flags.IntVar(&spouts.batchSize, "batch-size", 1, "records per tuple that the spout emits")
	flags.IntVar(&spouts.partitions, "kafka-partitions", 0,
		"number of partitions that the spouts read; 0 means no Kafka")
	check := func() error { return errors.Join(checkCPU(*cpu), machine.machine().Validate(), spouts.validate()) }
	return check, func(path string) (any, *document.Document, error) {
		result, err := input.Resources(path, csvtable.CPU(*cpu), machine.machine())
		if err != nil {
			return nil, nil, err
		}
		if spouts.maxPending > 0 || spouts.partitions > 0 {
			result.CountPending(spouts.batchSize, spouts.maxPending, spouts.partitions)
		}
		return result, report.OfResources(result), nil
	}
}

// spoutFlags are Storm's settings that bound what is on its way.
type spoutFlags struct{ batchSize, maxPending, partitions int }

func (s spoutFlags) validate() error {
	if s.batchSize < 1 || s.maxPending < 0 || s.partitions < 0 {
		return errors.New("--batch-size must be at least 1, --max-spout-pending and --kafka-partitions at least 0")
	}
	return nil
}
