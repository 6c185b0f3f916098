package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/input"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

func newTuneCommand() *cobra.Command {
	return group("tune", "Run experiments, analyze measurements and size topologies",
		"Run experiments on a Bullet topology, analyze the measurements, and find the configuration that a load needs.",
		newTunePlanCommand(), newTuneRunCommand(), newTuneListCommand(), newTuneOptimizeCommand(),
		newTunePredictCommand(), newAnalyzeCommand(), newSizeCommand(), newReportCommand(), newCompareCommand())
}

// presentation is how a result is written.
type presentation struct {
	output  string
	figures string
	forms   []string
}

func (p *presentation) addFlags(flags *pflag.FlagSet, forms ...string) {
	p.forms = forms
	addOutput(flags, &p.output, "output format: "+strings.Join(forms, ", "), forms)
	flags.Var(textfile.PathFlag(&p.figures, ""), "figures", "directory for the figures, as SVG and PNG")
}

func (p *presentation) validate() error {
	if !slices.Contains(p.forms, p.output) {
		return fmt.Errorf("unknown --output %q; choose one of %s", p.output, strings.Join(p.forms, ", "))
	}
	return nil
}

// write writes what an analysis found, and its figures.
func (p *presentation) write(out io.Writer, result any, d *document.Document) error {
	if err := p.writeFigures(d); err != nil {
		return err
	}
	text := ""
	switch p.output {
	case "json":
		return printJSON(out, result)
	case "html":
		page, err := d.HTML()
		if err != nil {
			return fmt.Errorf("write the result as HTML: %w", err)
		}
		text = string(page)
	case "markdown":
		text = d.Markdown(filepath.ToSlash(p.figures))
	default:
		text = d.Text()
	}
	_, err := io.WriteString(out, text)
	return err
}

// writeFigures writes a document's figures, where a directory for them was given.
func (p *presentation) writeFigures(d *document.Document) error {
	if p.figures == "" {
		return nil
	}
	if err := chart.WriteFigures(d.Drawings(), p.figures); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	return nil
}

// machineFlags are what one machine has to give; unknown memory is 0.
type machineFlags struct{ cores, memoryMiB float64 }

func (m *machineFlags) addFlags(flags *pflag.FlagSet) {
	flags.Float64Var(&m.cores, "cores-per-machine", 47, "usable CPU cores per machine")
	flags.Float64Var(&m.memoryMiB, "memory-per-machine-mib", 0,
		"usable memory per machine, in MiB; 0 considers CPU only")
}

func (m *machineFlags) machine() tuning.Machine {
	machine := tuning.Machine{CPUCores: tuning.Figure(m.cores), MemoryMiB: tuning.Figure(m.memoryMiB)}
	if m.memoryMiB == 0 {
		machine.MemoryMiB = tuning.Unknown
	}
	return machine
}

func addConfidence(flags *pflag.FlagSet) *float64 {
	return flags.Float64("confidence", tuning.DefaultConfidence, "confidence level of the intervals, as a ratio")
}

func addCPU(flags *pflag.FlagSet) *string {
	return flags.String("cpu", "",
		"meaning of a column cpu_cores: total (all instances of a component) or each (one instance); other columns do not need it")
}

func checkCPU(cpu string) error {
	if !slices.Contains([]csvtable.CPU{csvtable.CPUUnsaid, csvtable.CPUTotal, csvtable.CPUEach}, csvtable.CPU(cpu)) {
		return fmt.Errorf("--cpu must be total or each, not %q", cpu)
	}
	return nil
}

// asUsage makes wrong usage of what only another command line mends.
func asUsage(err error) error {
	var outside tuning.OutOfRange
	var tables input.WrongTables
	if errors.As(err, &tables) || errors.As(err, &outside) || errors.Is(err, csvtable.ErrCPUUnsaid) ||
		errors.Is(err, csvtable.ErrCPUSaidTwice) {
		return usageError{err}
	}
	return err
}

// runTune runs a command between the checks of its flags and the writing of its result.
func runTune(checks, run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := checks(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w; %s --help lists the flags", err, cmd.CommandPath())}
		}
		return asUsage(run(cmd, args))
	}
}

func newTuneListCommand() *cobra.Command {
	var output outputForm
	var last int
	command := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List runs with their verdicts and capacities",
		Long: "List runs with their verdicts and capacities, oldest first.\n\nDIR is the directory that contains the run directories. The default is " +
			runsDir + ", together\nwith the run of the demo in " + demoDir + ".",
		Example: "  bullet-metrics tune list",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{fmt.Errorf("%s takes one directory at most", cmd.CommandPath())}
			}
			dir := runsDir
			if len(args) == 1 {
				dir = args[0]
			}
			return listRuns(cmd.OutOrStdout(), dir, output, last)
		},
	}
	output.addForms(command.Flags(), "output format: table, json", "table", outputJSON)
	command.Flags().IntVar(&last, "last", 0, "list only this many runs, the newest; 0 lists all")
	return command
}

func listRuns(out io.Writer, dir string, output outputForm, last int) error {
	runs, unreadable, err := runstore.List(dir)
	if dir == runsDir {
		if demo, wrong := runstore.Read(demoDir); wrong == nil {
			runs, err = append(runs, demo), nil
			slices.SortStableFunc(runs, func(a, b *runstore.Run) int {
				return cmp.Compare(a.Manifest.StartedMs, b.Manifest.StartedMs)
			})
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there are no runs in %s; name the directory of your runs, or start one with bullet-metrics tune run", dir)
	}
	if err != nil {
		return err
	}
	if last > 0 && len(runs) > last {
		runs = runs[len(runs)-last:]
	}
	all := tuning.Each(runs, (*runstore.Run).Listed)
	return output.write(out, all, runstore.ListText(all, unreadable))
}
