package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// loadPresentation is how a run's figures are judged and given.
type loadPresentation struct {
	thresholds         []string
	bounds             []load.Threshold // the thresholds, once check has read them
	output             string
	histogram, picture string
}

func (p *loadPresentation) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&p.thresholds, "threshold", nil,
		"a bound such as p99<200ms, failed<1% or completeness>=0.999; may be repeated; exit code 99 where one is crossed")
	flags.StringVar(&p.output, "output", outputText, "text or json")
	flags.Var(textfile.PathFlag(&p.histogram, ""), "histogram", "write the latencies here: .csv, .hgrm or .hlog (HdrHistogram)")
	flags.Var(textfile.PathFlag(&p.picture, ""), "picture", "draw the latencies here: .png or .svg")
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
		return fmt.Errorf("--picture draws a .png or .svg, not %s", p.picture)
	}
	if p.histogram != "" {
		if err := load.WriteHistogram(io.Discard, p.histogram, load.NewTally().Latencies(), time.Time{},
			time.Time{}); err != nil {
			return fmt.Errorf("--histogram: %w", err)
		}
	}
	return checkOutput(p.output)
}

// topologyCounter asks a collector how many queries a topology counted.
type topologyCounter struct{ collector, topology string }

func (c *topologyCounter) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.collector, "collector", "",
		"address of a collector's HTTP, host:port or a URL, which is asked at the end how many queries the topology counted")
	flags.StringVar(&c.topology, "topology", "bullet", "name of the topology at the collector")
}

// between is nil where no collector is named, or none knows; why is said.
func (c *topologyCounter) between(ctx context.Context, say *terminal, began, end time.Time) *load.Active {
	if c.collector == "" {
		return nil
	}
	asked, err := load.NewCollectorActivity(c.collector, c.topology)
	if err != nil {
		say.Say("how many queries the topology counted is not known: %v", err)
		return nil
	}
	defer asked.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	active, err := asked.Within(ctx, began, end)
	switch {
	case err != nil:
		say.Say("how many queries the topology counted is not known: %v", err)
	case active == nil:
		say.Say("how many queries the topology counted is not known: the collector at %s has stored no slice of bullet_active_queries of topology %s between %s and %s",
			c.collector, c.topology, began.Format(time.TimeOnly), end.Format(time.TimeOnly))
	}
	return active
}

func newLoadMergeCommand() *cobra.Command {
	var presented loadPresentation
	var counter topologyCounter
	command := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Add up what several clients did of one load run",
		Long: `Add up what the clients of load --part kept with --outcomes, and report it as load does: latencies are those of all queries together, no
average of averages. Each part must be there once. How late each client was, and whether it submitted its share, stands beside.`,
		Example: `  bullet-metrics load merge part-1.jsonl part-2.jsonl --threshold 'p99<35s' --threshold 'failed<1%'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("name the files that load --part wrote with --outcomes")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := presented.check(); err != nil {
				return usageError{err}
			}
			figures, err := mergeParts(files)
			if err != nil {
				return err
			}
			figures.active = counter.between(cmd.Context(), newTerminal("load", os.Stderr), figures.began, figures.end)
			return figures.give(cmd.OutOrStdout(), presented)
		},
	}
	presented.addFlags(command.Flags())
	counter.addFlags(command.Flags())
	return command
}

// mergeParts reads the parts of a run and adds them up.
func mergeParts(files []string) (*loadFigures, error) {
	type part struct {
		*load.PartRun
		file string
	}
	var parts []part
	for _, file := range files {
		p, err := readPart(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		parts = append(parts, part{p, file})
	}
	slices.SortStableFunc(parts, func(a, b part) int { return a.Part.Number - b.Part.Number })
	var runs []*load.PartRun
	for _, p := range parts {
		runs = append(runs, p.PartRun)
	}
	if err := load.CheckParts(runs); err != nil {
		return nil, err
	}
	merged := load.MergeParts(runs)
	f := &loadFigures{Run: runs[0].Run, tally: merged.Tally, moments: merged.Moments, began: merged.Began,
		end: merged.End, peakInFlight: merged.MostInFlight}
	f.Part, f.Processors = load.Part{}, 0
	var urls, limits []string
	for _, p := range parts {
		if !slices.Contains(urls, p.URL) {
			urls = append(urls, p.URL)
		}
		alone := load.NewTally()
		for _, o := range p.Outcomes {
			alone.Add(o)
		}
		t := alone.Result()
		f.parts = append(f.parts, partResult{Part: p.Part.String(), File: p.file, Due: t.Submitted() + t.NotSubmitted,
			Submitted: t.Submitted(), Lateness: millis(t.Lateness), Processors: p.Processors})
		// what was due is counted by the client's clock, which rounds
		if due := t.Submitted() + t.NotSubmitted; due+1 < p.Scheduled() {
			limits = append(limits, fmt.Sprintf("the client of part %s was ended early: %d of its %d queries came due",
				p.Part, due, p.Scheduled()))
		}
		if limit := clientLimit("the client of part "+p.Part.String(), t.Lateness.P99, p.Processors); limit != "" {
			limits = append(limits, limit)
		}
	}
	f.URL, f.limit = strings.Join(urls, ", "), strings.Join(limits, "; ")
	return f, nil
}

func readPart(file string) (*load.PartRun, error) {
	from, err := textfile.Open(file)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return load.ReadPart(from)
}
