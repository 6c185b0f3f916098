package main

import (
	"errors"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

func newAnalyzeCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "analyze",
		Short: "Verdicts, capacities and fits of a run, or of measurements in a CSV file",
		Long: `Verdicts, capacities and fits of measurements that you have already, from a CSV file or from the directory of a run.

A result is a result: a table with FAIL in it is exit code 0. 1 is a file that cannot be judged, 2 wrong usage.`,
		Args: cobra.ArbitraryArgs,
		RunE: subcommands,
	}
	command.SuggestionsMinimumDistance = 2
	command.AddCommand(newAnalyzeResources(), newAnalyzeConcurrency(), newAnalyzeQueries(), newAnalyzeData(), newAnalyzeScaling())
	return command
}

// spoutFlags are Storm's settings that bound what is on its way.
type spoutFlags struct{ batchSize, maxPending, partitions int }

func newAnalyzeResources() *cobra.Command {
	var in input
	var show presentation
	var machine machineFlags
	var cpu string
	var spouts spoutFlags
	command := &cobra.Command{
		Use:     "resources",
		Short:   "Add up and audit a table of components; machines needed and what limits them",
		Example: "  bullet-metrics tune analyze resources --input resources.csv --cores-per-machine 47 --memory-per-machine-mib 245760",
		Args:    noArguments,
		RunE: runTune(func() error {
			return errors.Join(in.validate(), show.validate(), checkCPU(cpu), machine.machine().Validate(), spouts.validate())
		}, func(out io.Writer) error {
			result, err := readComponents(in.path, cpu, machine.machine())
			if err != nil {
				return err
			}
			if spouts.maxPending > 0 || spouts.partitions > 0 {
				result.CountPending(spouts.batchSize, spouts.maxPending, spouts.partitions)
			}
			return show.write(out, result, report.OfResources(result))
		}),
	}
	flags := command.Flags()
	in.addFlag(flags, "component, parallelism, cpu_cores_total or cpu_cores_each (or cpu_cores with --cpu), on_heap_mib, off_heap_mib, total_memory_mib")
	machine.addFlags(flags)
	addCPU(flags, &cpu)
	flags.IntVar(&spouts.maxPending, "max-spout-pending", 0, "topology.max.spout.pending; 0 where it is not set")
	flags.IntVar(&spouts.batchSize, "batch-size", 1, "records that the spout emits as one tuple")
	flags.IntVar(&spouts.partitions, "kafka-partitions", 0, "partitions that the spouts read; 0 where it is not Kafka")
	show.addFlags(flags, "table", "json", "markdown")
	return command
}

func (s spoutFlags) validate() error {
	if s.batchSize < 1 || s.maxPending < 0 || s.partitions < 0 {
		return errors.New("--batch-size must be at least 1, --max-spout-pending and --kafka-partitions at least 0")
	}
	return nil
}

func newAnalyzeConcurrency() *cobra.Command {
	var in input
	var show presentation
	goals, confidence := tuning.DefaultGoals(), 0.0
	var command *cobra.Command
	command = &cobra.Command{
		Use:     "concurrency",
		Short:   "Completeness of each step, capacity, and what a query costs",
		Example: "  bullet-metrics tune analyze concurrency --input steps.csv --expected 10 --tolerance 0.01",
		Args:    noArguments,
		RunE: runTune(func() error {
			return errors.Join(in.validate(), show.validate(), goals.Validate(), tuning.CheckConfidence(confidence))
		}, func(out io.Writer) error {
			table, own, err := readSteps(in.path)
			if err != nil {
				return err
			}
			if own != nil && !command.Flags().Changed("expected") {
				goals.ExpectedResultSize = own.ExpectedResultSize
			}
			if own != nil && !command.Flags().Changed("tolerance") {
				goals.Tolerance = own.Tolerance
			}
			result, err := tuning.AnalyzeConcurrency(table.rows, goals, confidence)
			if err != nil {
				return table.locate(err)
			}
			result.Notes = append(result.Notes, table.notes...)
			return show.write(out, result, report.OfConcurrency(result))
		}),
	}
	flags := command.Flags()
	in.addFlag(flags, "simultaneous_queries, average_cpu_ms_per_minute, average_result_size and, if known, workers, total_cpu_ms_per_minute, average_gc_ms_per_minute, verdict")
	flags.Float64Var(&goals.ExpectedResultSize, "expected", goals.ExpectedResultSize, "records that a query returns when none is lost")
	flags.Float64Var(&goals.Tolerance, "tolerance", goals.Tolerance, "share of them that may be missing on average, as a ratio")
	addConfidence(flags, &confidence)
	show.addFlags(flags, "table", "json", "markdown")
	return command
}

// queryFlags are what a configuration is to hold.
type queryFlags struct {
	limit                time.Duration
	headroom, confidence float64
}

func (q *queryFlags) addFlags(command *cobra.Command) {
	flags := command.Flags()
	flags.DurationVar(&q.limit, "limit", 200*time.Millisecond, "the most that the average filter latency may be")
	flags.Float64Var(&q.headroom, "headroom", tuning.DefaultHeadroom, "share of the capacity to leave free, as a ratio")
	addConfidence(flags, &q.confidence)
}

func (q *queryFlags) goals() tuning.QueryGoals {
	return tuning.QueryGoals{LimitMs: float64(q.limit) / float64(time.Millisecond), Headroom: q.headroom, Confidence: q.confidence}
}

func newAnalyzeQueries() *cobra.Command {
	var in input
	var show presentation
	var q queryFlags
	var command *cobra.Command
	command = &cobra.Command{
		Use:     "queries",
		Short:   "Capacity and knee of each configuration, and queries per core",
		Example: "  bullet-metrics tune analyze queries --input grid.csv --limit 200ms --figures figures",
		Args:    noArguments,
		RunE: runTune(func() error {
			return errors.Join(in.validate(), show.validate(), q.goals().Validate())
		}, func(out io.Writer) error {
			table, err := readGrid(in.path)
			if err != nil {
				return err
			}
			result, err := tuning.AnalyzeQueries(table.rows, table.goals(q.goals(), command.Flags().Changed("limit")))
			if err != nil {
				return table.locate(err)
			}
			result.Notes = append(result.Notes, table.notes...)
			return show.write(out, result, report.OfQueries(result))
		}),
	}
	in.addFlag(command.Flags(), "filter_bolts, queries, average_latency_ms, topology_cpu_cores and, if known, topology_memory_mib, records_per_s, verdict")
	q.addFlags(command)
	show.addFlags(command.Flags(), "table", "json", "markdown")
	return command
}

func newAnalyzeData() *cobra.Command {
	var in input
	var show presentation
	var cpu string
	confidence := 0.0
	command := &cobra.Command{
		Use:     "data",
		Short:   "Records, MiB and memory per core over data volumes; audit of the totals",
		Example: "  bullet-metrics tune analyze data --input volumes.csv --output json",
		Args:    noArguments,
		RunE: runTune(func() error {
			return errors.Join(in.validate(), show.validate(), checkCPU(cpu), tuning.CheckConfidence(confidence))
		}, func(out io.Writer) error {
			table, err := readVolumes(in.path, cpu)
			if err != nil {
				return err
			}
			result, err := tuning.AnalyzeData(table.rows, confidence)
			if err != nil {
				return table.locate(err)
			}
			table.lines(result.Audit)
			result.Notes = append(result.Notes, table.notes...)
			return show.write(out, result, report.OfData(result))
		}),
	}
	in.addFlag(command.Flags(), "data_mib_per_s, records_per_s, total_cpu_cores, total_memory_mib and, to audit these, component, parallelism, cpu_cores_each or cpu_cores_total, on_heap_mib, off_heap_mib")
	addCPU(command.Flags(), &cpu)
	addConfidence(command.Flags(), &confidence)
	show.addFlags(command.Flags(), "table", "json", "markdown")
	return command
}

func newAnalyzeScaling() *cobra.Command {
	var in input
	var show presentation
	discount, confidence := 0.0, 0.0
	command := &cobra.Command{
		Use:     "scaling",
		Short:   "A scaling curve beside the ideal, a discounted projection and the Universal Scalability Law",
		Example: "  bullet-metrics tune analyze scaling --input curve.csv --discount 0.25",
		Args:    noArguments,
		RunE: runTune(func() error {
			var wrong error
			if !(discount >= 0 && discount < 1) || math.IsNaN(discount) {
				wrong = errors.New("--discount must be at least 0 and below 1")
			}
			return errors.Join(in.validate(), show.validate(), wrong, tuning.CheckConfidence(confidence))
		}, func(out io.Writer) error {
			curve, names, err := readCurve(in.path)
			if err != nil {
				return err
			}
			result, err := tuning.AnalyzeScaling(curve.rows, names, discount, confidence)
			if err != nil {
				return curve.locate(err)
			}
			if curve.run != nil { // of a file most columns are somebody else's
				result.Notes = append(result.Notes, curve.notes...)
			}
			return show.write(out, result, report.OfScaling(result))
		}),
	}
	in.addFlag(command.Flags(), "nodes, cores, senders or total_cpu_cores, and throughput, records_per_s or rows_per_s")
	command.Flags().Float64Var(&discount, "discount", tuning.DefaultDiscount, "share of what is added that the projection takes for overhead, as a ratio")
	addConfidence(command.Flags(), &confidence)
	show.addFlags(command.Flags(), "table", "json", "markdown")
	return command
}
