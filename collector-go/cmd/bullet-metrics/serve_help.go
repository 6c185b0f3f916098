package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// serveGroups are the groups of serve's flags, by what their names begin with; the last takes what no other does.
var serveGroups = []struct {
	title    string
	prefixes []string
}{
	{"Common flags", []string{"config", "check", "data-dir", "grpc-listen", "http-listen", "http-external-url"}},
	{"Security (docs/security.md)", []string{"grpc-", "http-"}},
	{"Slices", []string{"slice-"}},
	{"Disk", []string{"journal-", "store-embedded-"}},
	{"Network stores (docs/stores)", []string{"store-"}},
	{"Rules and alerts (docs/alerting.md)", []string{"rules-", "alertmanager-", "nimbus-"}},
	{"Query limits", []string{"query-"}},
	{"Sender limits", []string{"limits-"}},
	{"Process", nil},
}

// serveUsage prints the flags in groups: there are some fifty.
func serveUsage(command *cobra.Command) error {
	out := command.OutOrStderr()
	fmt.Fprintf(out, "Usage:\n  %s\n\nExamples:\n%s\n", command.UseLine(), command.Example)
	for i, flags := range grouped(command.LocalFlags()) {
		if flags.HasAvailableFlags() {
			fmt.Fprintf(out, "\n%s:\n%s", serveGroups[i].title, flags.FlagUsagesWrapped(helpColumns))
		}
	}
	return nil
}

// grouped is each group's flags; each flag is in the first that takes it.
func grouped(all *pflag.FlagSet) []*pflag.FlagSet {
	sets := make([]*pflag.FlagSet, len(serveGroups))
	for i := range sets {
		sets[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
		sets[i].SortFlags = false
	}
	all.VisitAll(func(f *pflag.Flag) { sets[groupOf(f.Name)].AddFlag(f) })
	return sets
}

func groupOf(name string) int {
	for i, group := range serveGroups {
		for _, prefix := range group.prefixes {
			if name == prefix || strings.HasSuffix(prefix, "-") && strings.HasPrefix(name, prefix) {
				return i
			}
		}
	}
	return len(serveGroups) - 1
}
