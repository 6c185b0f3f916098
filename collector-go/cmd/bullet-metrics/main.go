// Command bullet-metrics watches and tunes Bullet on Apache Storm. Each subcommand is a file of this package, which
// joins the rooms under internal/ and decides nothing itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
)

// version is set by the linker: that of the file VERSION in a release, and VERSION-dev+COMMIT at the desk.
var version = "unknown"

func main() {
	// A second signal ends the process at once: the first one only asks.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:]))
}

// run is main without the process around it.
func run(ctx context.Context, args []string) int {
	root := newRootCommand()
	out := &checkedWriter{out: os.Stdout}
	root.SetOut(out)
	root.SetArgs(args)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		addCompletions(root)
	}
	err := execute(ctx, root)
	if err == nil && out.err != nil {
		err = fmt.Errorf("print the result: %w", out.err)
	}
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(os.Stderr, "bullet-metrics: %s\n", address.Hide(err.Error()))
	return exitCode(err)
}

// execute runs a command line.
func execute(ctx context.Context, root *cobra.Command) error {
	command, err := root.ExecuteContextC(ctx)
	if err != nil {
		err = namingVariables(command, err)
	}
	return err
}

// checkedWriter remembers that a write failed, since cobra exits with 0 if it could not print a help text.
type checkedWriter struct {
	out io.Writer
	err error
}

func (w *checkedWriter) Write(text []byte) (int, error) {
	n, err := w.out.Write(text)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// exitCoder is an error that knows the exit code it stands for.
type exitCoder interface{ ExitCode() int }

func exitCode(err error) int {
	var coder exitCoder
	if errors.As(err, &coder) {
		return coder.ExitCode()
	}
	return exitFailed
}

// usageError is a command line that cannot be meant.
type usageError struct{ error }

func (usageError) ExitCode() int { return exitUsage }

// group is a command that only has others.
func group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{Use: use, Short: short, Long: long, RunE: subcommands,
		Args: cobra.ArbitraryArgs} // so that an unknown command reaches RunE, as wrong usage
	command.SuggestionsMinimumDistance = 2
	command.AddCommand(commands...)
	return command
}

// subcommands runs a command that only has others.
func subcommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usageError{fmt.Errorf("unknown command %q of %s; did you mean %q?", args[0], cmd.CommandPath(), near[0])}
	}
	return usageError{fmt.Errorf("unknown command %q; see %s --help", args[0], cmd.CommandPath())}
}

// noArguments is cobra.NoArgs as wrong usage.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no arguments, got %q; write a flag before each value, see %[1]s --help", cmd.CommandPath(), args[0])}
	}
	return nil
}

// oneArgument requires exactly one argument.
func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError{fmt.Errorf("%s takes one argument (%s), got %d; see %[1]s --help",
				cmd.CommandPath(), what, len(args))}
		}
		return nil
	}
}

// helpColumns is the width at which the descriptions of flags are wrapped. The other texts of the help keep to it too.
const helpColumns = 120

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "bullet-metrics",
		Short:         "Metrics, alerts and capacity experiments for Bullet on Apache Storm",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs, // so that an unknown command reaches RunE, as wrong usage
		RunE:          subcommands,
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(flagFault)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", helpColumns)) +
		"{{if not .HasParent}}" + variablesFooter + "{{end}}")
	root.PersistentPreRunE = checkFlags
	addGroup(root, "Run it", newServeCommand(), newStatusCommand(), newDoctorCommand(), newWhyCommand(),
		newRunbookCommand(), group("storm", "Print settings for Storm and Bullet", "", newSnippetCommand()),
		group("grafana", "Write files for Grafana and Prometheus", "", newGrafanaExportCommand()))
	addGroup(root, "Tune it", newTuneCommand())
	addGroup(root, "Try it", newTourCommand(), newDemoCommand())
	addGroup(root, "Data", newQueryCommand(), newReplayCommand(), newExportCommand(), newFsckCommand())
	addGroup(root, "Measure it", newLoadCommand(), newCanaryCommand(), newBenchCommand())
	root.AddCommand(newVersionCommand())
	for _, further := range furtherCommands {
		root.AddCommand(further())
	}
	addOldNames(root)
	refuseUnknownHelp(root)
	return root
}

// furtherCommands are those of build tags.
var furtherCommands []func() *cobra.Command

const variablesFooter = `
Each flag is also an environment variable: BULLET_METRICS_DATA_DIR sets --data-dir. A flag takes precedence.
`

// addGroup adds commands under a title of the help.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
	for _, command := range commands {
		command.GroupID = title
	}
	root.AddCommand(commands...)
}

// refuseUnknownHelp makes the help of an unknown command wrong usage. cobra's own prints the help of the program.
func refuseUnknownHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.RunE = func(_ *cobra.Command, args []string) error {
		about, unknown, err := root.Find(args)
		if err != nil || len(unknown) > 0 {
			return errors.Join(err, subcommands(about, unknown))
		}
		about.InitDefaultHelpFlag()
		about.InitDefaultVersionFlag()
		return about.Help()
	}
}

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

// Exit codes, as docs/operating.md lists them. Scripts depend on them: a new meaning needs a new number.
const (
	exitDone        = 0
	exitFailed      = 1                   // the error is on stderr
	exitUsage       = 2                   // the command line or the configuration must be changed
	exitMissed      = runstore.ExitMissed // a goal or threshold was missed; k6 uses the same code
	exitInterrupted = 130                 // the code that shells expect after SIGINT
)

// missed is the error of a command that did its work, with the result that a goal or a threshold was missed.
type missed string

func (m missed) Error() string { return string(m) }

// ExitCode returns the code of a missed goal.
func (missed) ExitCode() int { return exitMissed }

// interrupted is the end of a run that somebody stopped.
type interrupted struct{}

func (interrupted) Error() string { return "interrupted" }

func (interrupted) ExitCode() int { return exitInterrupted }

// sameSignal is how long after the first signal another one counts as the same: make and timeout pass on what the
// terminal has sent already.
const sameSignal = time.Second

// onSignals ends ctx at the first signal and closes hasten at the second. The signals stay ours to the end: the
// children are in groups of their own, and only we can end them.
func onSignals(parent context.Context, say *terminal) (ctx context.Context, hasten <-chan struct{}) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	signals, requestCheckpoint := make(chan os.Signal, 2), make(chan struct{})
	signal.Ignore(syscall.SIGPIPE) // a reader that has gone must not end us before the children
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		first := time.Now()
		say.Say("stopping all processes (press Ctrl-C again to kill them)")
		cancel(interrupted{})
		for <-signals; time.Since(first) < sameSignal; <-signals {
		}
		say.Say("killing all processes")
		close(requestCheckpoint)
	}()
	if parent.Err() != nil {
		cancel(interrupted{})
	}
	return ctx, requestCheckpoint
}

// withoutTime leaves out of a log line what somebody at a terminal knows.
func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
		return slog.Attr{}
	}
	return a
}
