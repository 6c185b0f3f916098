package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// dataDirFlag is --data-dir of a command that reads the data directory of a collector. The first argument may name it
// instead.
type dataDirFlag struct{ path string }

func (d *dataDirFlag) addFlag(flags *pflag.FlagSet) {
	flags.Var(textfile.PathFlag(&d.path, ""), "data-dir", "data directory of a collector, if no argument names it")
}

// oneDataDir takes the directory from the only argument, or from the flag.
func (d *dataDirFlag) oneDataDir(cmd *cobra.Command, args []string) (string, error) {
	switch {
	case len(args) == 1 && isTyped(cmd.Flags(), "data-dir"):
		return "", usageError{fmt.Errorf("%s: two data directories, %q and --data-dir %q; name one",
			cmd.CommandPath(), args[0], d.path)}
	case len(args) == 1:
		return args[0], nil
	case d.path == "":
		return "", usageError{fmt.Errorf("%s takes one argument (data directory), or --data-dir; see %[1]s --help",
			cmd.CommandPath())}
	}
	return d.path, nil
}

// dataDirArgument accepts a data directory as the only argument.
func dataDirArgument(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil // the flag names it
	}
	return oneArgument("data directory")(cmd, args)
}
