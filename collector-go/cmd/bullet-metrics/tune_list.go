package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

func newTuneListCommand() *cobra.Command {
	var output string
	var last int
	command := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List runs with their verdicts and capacities",
		Long: "List runs with their verdicts and capacities, oldest first.\n\nDIR is the directory that contains the run directories. The default is " +
			runsDir + ", together\nwith the run of the demo in " + demoDir + ".",
		Example: "  bullet-metrics tune list",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "table" && output != "json" || len(args) > 1 {
				return usageError{fmt.Errorf("%s takes one directory at most, and --output table or json",
					cmd.CommandPath())}
			}
			dir := runsDir
			if len(args) == 1 {
				dir = args[0]
			}
			return listRuns(cmd.OutOrStdout(), dir, output, last)
		},
	}
	command.Flags().StringVar(&output, "output", "table", "output format: table, json")
	command.Flags().IntVar(&last, "last", 0, "list only this many runs, the newest; 0 lists all")
	return command
}

// listed is a line of the list.
type listed struct {
	Run        string `json:"run"`
	Experiment string `json:"experiment"`
	StartedMs  int64  `json:"started_ms"`
	Trials     string `json:"trials"`
	Verdict    string `json:"verdict"`
	// Volume is averaged over the run's measured time.
	Volume runstore.DataVolume `json:"data_volume"`
	Rows   []string            `json:"rows"`
	Result *runstore.Result    `json:"result"`
}

func listRuns(out io.Writer, dir, form string, last int) error {
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
	all := []listed{}
	for _, run := range runs {
		all = append(all, listedRun(run))
	}
	if form == "json" {
		return printJSON(out, all)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STARTED (UTC)\tEXPERIMENT\tVERDICT\tTRIALS\tTOOK\tRECORDS/S\tMIB/S\tCAPACITY\tDIRECTORY")
	for i, l := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			time.UnixMilli(l.StartedMs).UTC().Format("2006-01-02 15:04"), l.Experiment, l.Verdict, l.Trials,
			took(runs[i]),
			tuning.Digits(l.Volume.RecordsPerSecond), tuning.Digits(l.Volume.MiBPerSecond),
			strings.Join(l.Rows, "; "), l.Run)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, problem := range unreadable {
		fmt.Fprintf(out, "unreadable: %v\n", problem)
	}
	return nil
}

func listedRun(run *runstore.Run) listed {
	l := listed{Run: run.Dir, Experiment: run.Plan.Experiment, StartedMs: run.Manifest.StartedMs,
		Trials: run.TrialsText(), Verdict: "running or interrupted", Result: run.Result, Rows: run.Capacities(),
		Volume: run.Volume()}
	if run.Result != nil {
		l.Verdict = string(run.Result.Verdict)
	}
	return l
}

// took is how long a run was under way, from its start to its end, interruptions included.
func took(run *runstore.Run) string {
	if run.Result == nil {
		return "–"
	}
	return time.Duration((run.Result.FinishedMs - run.Manifest.StartedMs) * int64(time.Millisecond)).Round(
		time.Second).String()
}
