package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// renamedFlags are the flags that had another name before, where one name had two meanings. This release still accepts
// the old names, the next does not.
var renamedFlags = []struct{ command, old, now string }{
	{"bench ingest", "target", "grpc"},
	{"bench query", "target", "grpc"},
	{"bench senders", "target", "grpc"},
	{"canary", "collector", "grpc"},
	{"grafana export", "dir", "out"},
	{"grafana export", "url", "datasource-url"},
	{"load", "limit", "query-limit"},
}

// nowCalled is the annotation of an old name, with the new one.
const nowCalled = "now called"

// addOldNames adds the old names of renamed flags, hidden. Both names share one value. pflag's own way to deprecate a
// flag would print its warning to stdout, into the result of the command.
func addOldNames(root *cobra.Command) {
	for _, r := range renamedFlags {
		command, _, err := root.Find(strings.Fields(r.command))
		if err != nil {
			panic(err)
		}
		old := *command.Flags().Lookup(r.now)
		old.Name, old.Hidden = r.old, true
		old.Annotations = withAnnotation(nil, nowCalled, r.now)
		command.Flags().AddFlag(&old)
	}
}

// takeOldNames warns of each old name on the command line, and marks the flag of the new name as given.
func takeOldNames(command *cobra.Command) {
	command.Flags().Visit(func(f *pflag.Flag) {
		if now := f.Annotations[nowCalled]; now != nil {
			command.Flags().Lookup(now[0]).Changed = true
			fmt.Fprintf(command.ErrOrStderr(), "%s: --%s is now --%s; the next release accepts only the new name\n",
				command.CommandPath(), f.Name, now[0])
		}
	})
}
