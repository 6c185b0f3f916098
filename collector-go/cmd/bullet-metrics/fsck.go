package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
)

func newFsckCommand() *cobra.Command {
	var output outputForm
	var repair bool
	var data dataDirFlag
	command := &cobra.Command{
		Use:   "fsck [DIR]",
		Short: "Check a data directory for damage, and repair its store",
		Long: `Check a data directory that no collector uses. Every record of the journal and every page of the store has a checksum.

Each damaged place is listed with its file and the time of the missing samples or slices. All other data remain
readable. A collector also starts on a damaged directory, and skips the same places.

The check also lists what prevents a start: files that a newer program wrote, and stores that are ahead of the journal
because its newest files were removed or emptied. Files of a newer program are not changed.

--repair rewrites the store without the damaged places, so that queries no longer warn. Stores that are ahead of the
journal keep their data and continue from the end of the journal.

The exit code is 0 if nothing is damaged, and 1 otherwise.`,
		Example: "  bullet-metrics fsck --data-dir /var/lib/bullet-metrics\n  bullet-metrics fsck --data-dir /var/lib/bullet-metrics --repair",
		Args:    dataDirArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := data.oneDataDir(cmd, args)
			if err != nil {
				return err
			}
			report, err := datadir.Check(dir, repair)
			if err != nil {
				return fmt.Errorf("fsck: %w", err)
			}
			if err := output.write(cmd.OutOrStdout(), report, report.Text()); err != nil {
				return err
			}
			if report.Damaged > 0 {
				return fmt.Errorf("fsck: %d damaged places in %s", report.Damaged, dir)
			}
			return nil
		},
	}
	command.Flags().BoolVar(&repair, "repair", false, "rewrite the store without the damaged places")
	data.addFlag(command.Flags())
	output.addFlag(command.Flags())
	return command
}
