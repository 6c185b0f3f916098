package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

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
	all := []runstore.Listed{}
	for _, run := range runs {
		all = append(all, run.Listed())
	}
	return output.write(out, all, runstore.ListText(all, unreadable))
}
