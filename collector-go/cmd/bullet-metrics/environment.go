package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/checklist"
)

// variablePrefix is what the environment variables of flags begin with. A variable that no flag has is ignored, since
// other programs may use the prefix.
const variablePrefix = "BULLET_METRICS_"

// variableOf returns the environment variable of a flag: BULLET_METRICS_DATA_DIR of --data-dir.
func variableOf(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// byVariable is the annotation of a flag that an environment variable has set.
const byVariable = "environment variable"

// takeEnvironment sets the flags of a command that were not given from environment variables. An empty variable counts
// as not set, because a compose file or a unit may pass one on that nobody has set.
func takeEnvironment(command *cobra.Command) (err error) {
	command.Flags().VisitAll(func(f *pflag.Flag) {
		variable := variableOf(f.Name)
		value := os.Getenv(variable)
		if value == "" || f.Changed || f.Hidden || !hasVariable(f) || err != nil {
			return
		}
		f.Annotations = withAnnotation(f.Annotations, byVariable, variable)
		if wrong := command.Flags().Set(f.Name, value); wrong != nil {
			err = flagFault(command, wrong)
		}
	})
	forgetVariables(command.Root())
	return err
}

// hasVariable reports whether a flag is set by a variable, unlike those that print something and do nothing else.
func hasVariable(f *pflag.Flag) bool { return f.Name != "help" && f.Name != "version" }

// forgetVariables removes the variables of all flags from the environment, once the command has taken them. A collector
// that a benchmark or an experiment starts would otherwise take settings that nobody meant for it.
func forgetVariables(command *cobra.Command) {
	command.Flags().VisitAll(func(f *pflag.Flag) {
		if hasVariable(f) {
			_ = os.Unsetenv(variableOf(f.Name)) // fails for invalid names only
		}
	})
	for _, below := range command.Commands() {
		forgetVariables(below)
	}
}

// isTyped reports whether a flag is on the command line itself.
func isTyped(flags *pflag.FlagSet, name string) bool {
	return flags.Changed(name) && flags.Lookup(name).Annotations[byVariable] == nil
}

// namingVariables adds to each fault the environment variable that has set the flag, or the setting, which the fault is
// about.
func namingVariables(command *cobra.Command, err error) error {
	var all []error
	found := false
	for _, fault := range checklist.Split(err) {
		command.Flags().VisitAll(func(f *pflag.Flag) {
			variable := f.Annotations[byVariable]
			if variable != nil && isAbout(fault.Error(), f.Name) && !strings.Contains(fault.Error(), variable[0]) {
				fault, found = fmt.Errorf("%w (set by %s)", fault, variable[0]), true
			}
		})
		all = append(all, fault)
	}
	if !found {
		return err
	}
	return errors.Join(all...)
}

// isAbout reports whether a text names a flag, or the setting of a flag of serve.
func isAbout(text, flag string) bool {
	return strings.Contains(text, "--"+flag) ||
		strings.Contains(flag, "-") && strings.Contains(strings.NewReplacer(".", "-", "_", "-").Replace(text), flag)
}

func withAnnotation(all map[string][]string, key string, values ...string) map[string][]string {
	if all == nil {
		all = map[string][]string{}
	}
	all[key] = values
	return all
}

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
