package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// built is what this program was built from, with and for.
type built struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersionCommand() *cobra.Command {
	var output outputForm
	command := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program, its Go version and its platform",
		Example: "  bullet-metrics version --output json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := built{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			return output.writeLine(cmd.OutOrStdout(), b,
				fmt.Sprintf("bullet-metrics %s (%s, %s/%s)\n", b.Version, b.Go, b.OS, b.Arch))
		},
	}
	output.addFlag(command.Flags())
	return command
}
