package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// loadPresentation is how a run's figures are judged and given.
type loadPresentation struct {
	thresholds         []string
	bounds             []load.Threshold // the thresholds, once check has read them
	output             outputForm
	histogram, picture string
}

func (p *loadPresentation) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&p.thresholds, "threshold", nil,
		"bound such as p99<200ms, failed<1% or completeness>=0.999; may be repeated; the exit code is 99 if one is crossed")
	p.output.addFlag(flags)
	flags.Var(textfile.PathFlag(&p.histogram, ""), "histogram",
		"file for the latencies: .csv, .hgrm or .hlog (HdrHistogram)")
	flags.Var(textfile.PathFlag(&p.picture, ""), "picture", "file for a chart of the latencies: .png or .svg")
}

func (p *loadPresentation) check() error {
	for _, text := range p.thresholds {
		threshold, err := load.ParseThreshold(text)
		if err != nil {
			return err
		}
		p.bounds = append(p.bounds, threshold)
	}
	if kind := filepath.Ext(p.picture); p.picture != "" && kind != ".png" && kind != ".svg" {
		return fmt.Errorf("--picture %s: use a file name that ends in .png or .svg", p.picture)
	}
	if p.histogram != "" {
		if err := load.WriteHistogram(io.Discard, p.histogram, load.NewTally().Latencies(), time.Time{},
			time.Time{}); err != nil {
			return fmt.Errorf("--histogram: %w", err)
		}
	}
	return nil
}

// give writes a run's figures as they are to be presented. Crossed thresholds are an error.
func (p *loadPresentation) give(out io.Writer, run *load.Report) error {
	if err := errors.Join(p.writeHistogram(run), p.draw(run)); err != nil {
		return err
	}
	figures := run.Figures(p.bounds)
	if err := p.output.write(out, figures, figures.Text(run.Title())); err != nil {
		return err
	}
	switch crossed := figures.Crossed(); crossed {
	case 0:
		return nil
	case 1:
		return missed("a threshold was crossed")
	default:
		return missed(fmt.Sprintf("%d thresholds were crossed", crossed))
	}
}

func (p *loadPresentation) writeHistogram(run *load.Report) error {
	if p.histogram == "" {
		return nil
	}
	file, err := os.Create(p.histogram)
	if err != nil {
		return err
	}
	if err := errors.Join(load.WriteHistogram(file, p.histogram, run.Tally.Latencies(), run.Began, run.End),
		file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", p.histogram, err)
	}
	return nil
}

func (p *loadPresentation) draw(run *load.Report) error {
	if p.picture == "" {
		return nil
	}
	figure := report.LatencyChart("load", run.Title(), load.Points(run.Tally.Latencies()))
	draw := figure.PNG
	if filepath.Ext(p.picture) == ".svg" {
		draw = figure.SVG
	}
	picture, err := draw()
	if err != nil {
		return fmt.Errorf("draw %s: %w", p.picture, err)
	}
	return os.WriteFile(p.picture, picture, 0o644)
}

// topologyCounter asks a collector how many queries a topology counted.
type topologyCounter struct{ collector, topology string }

func (c *topologyCounter) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.collector, "collector", "",
		"HTTP address of a collector, HOST:PORT or URL; it reports how many queries the topology counted")
	flags.StringVar(&c.topology, "topology", "bullet", "name of the topology in the collector")
}

func newLoadMergeCommand() *cobra.Command {
	var presented loadPresentation
	var counter topologyCounter
	command := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Combine the results of several load clients",
		Long: `Combine the --outcomes files of all parts of a run, and report them as load does.

Latencies are those of all queries together, not an average of averages. Give the file of each part once. The report
also states how late each client was, and whether it submitted its share.`,
		Example: `  bullet-metrics load merge part-1.jsonl part-2.jsonl --threshold 'p99<35s' --threshold 'failed<1%'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("name the --outcomes files of all parts")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := presented.check(); err != nil {
				return usageError{err}
			}
			report, err := load.MergeFiles(files)
			if err != nil {
				return err
			}
			report.Active = load.CountedBy(cmd.Context(), counter.collector, counter.topology, report.Began, report.End,
				newTerminal("load", os.Stderr))
			return presented.give(cmd.OutOrStdout(), report)
		},
	}
	presented.addFlags(command.Flags())
	counter.addFlags(command.Flags())
	return command
}
