package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/runbook"
)

// oneOfValues is the annotation of a flag that takes one of a few values, with these values.
const oneOfValues = "values"

// testedStorms are the releases of Storm that make compat runs the plugin on.
var testedStorms = []string{"1.0.3", "1.2.4", "2.1.0", "2.2.0", "2.4.0", "2.6.4", "2.8.3"}

// completedValues are values that a shell completes, by flag.
var completedValues = map[string][]string{
	"alert":            runbook.Names(),
	"class":            tuning.Texts(load.Classes()),
	"classes":          tuning.Texts(load.Classes()),
	"cpu":              {string(csvtable.CPUTotal), string(csvtable.CPUEach)},
	"grpc-acknowledge": {config.AcknowledgeJournal, config.AcknowledgeForwarded},
	"log-format":       {"text", "json"},
	"log-level":        {"debug", "info", "warn", "error"},
	"storm":            testedStorms,
	"storm-version":    testedStorms,
	"target":           {targetGateway, targetDRPC},
}

// completedFiles are the extensions of the files that a flag takes; none for a directory. A flag with another path
// completes all files.
var completedFiles = map[string][]string{
	"build-dir": nil, "dashboards-dir": nil, "data-dir": nil, "dir": nil, "figures": nil, "out": nil, "resume": nil,
	"runs": nil, "runs-dir": nil,
	"bullet-conf": {"yaml", "yml"}, "config": {"yaml", "yml"}, "from": {"csv"}, "histogram": {"csv", "hgrm", "hlog"},
	"input": {"csv"}, "jar": {"jar"}, "outcomes": {"jsonl"}, "picture": {"png", "svg"}, "rules-files": {"yaml", "yml"},
	"simulate": {"yaml", "yml"}, "tls-ca": {"pem", "crt"}, "tls-cert": {"pem", "crt"}, "tls-key": {"pem", "key"},
}

// completedArguments are the same for the arguments of a command.
var completedArguments = map[string][]string{
	"export blocks": nil, "fsck": nil, "query": nil, "tune compare": nil, "tune list": nil, "tune report": nil,
	"load merge": {"jsonl"}, "replay": {"jsonl"},
	"tune optimize": {"yaml", "yml"}, "tune plan": {"yaml", "yml"}, "tune predict": {"yaml", "yml"},
	"tune run": {"yaml", "yml"},
}

// addCompletions tells cobra what a shell completes. cobra keeps this for each flag that was ever made, so that only a
// command line that completes something needs it.
func addCompletions(command *cobra.Command) {
	path := strings.TrimPrefix(command.CommandPath(), command.Root().Name()+" ")
	if extensions, known := completedArguments[path]; known {
		command.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			if extensions == nil {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return extensions, cobra.ShellCompDirectiveFilterFileExt
		}
	}
	command.LocalFlags().VisitAll(func(f *pflag.Flag) {
		complete := completionOf(f)
		if complete != nil {
			_ = command.RegisterFlagCompletionFunc(f.Name, complete) // fails for a flag that is not there
		}
	})
	for _, below := range command.Commands() {
		addCompletions(below)
	}
}

// completionOf returns how the value of a flag is completed; nil for the shell's own completion of files.
func completionOf(f *pflag.Flag) cobra.CompletionFunc {
	values, extensions := completedValues[f.Name], completedFiles[f.Name]
	_, isListed := completedFiles[f.Name]
	_, isPath := f.Value.(textfile.FlagValue)
	switch {
	case f.Annotations[oneOfValues] != nil:
		values = f.Annotations[oneOfValues]
	case isListed && extensions == nil:
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case isListed:
		return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
	case isPath || strings.HasSuffix(f.Name, "-file"):
		return nil
	}
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}
