package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/httpapi"
)

// queryCommand are the command's flags.
type queryCommand struct {
	question httpapi.Question
	data     dataDirFlag
	to       collectorFlags
	output   outputForm
}

func newQueryCommand() *cobra.Command {
	var o queryCommand
	command := &cobra.Command{
		Use:   "query [DIR] EXPR",
		Short: "Evaluate PromQL over a running collector, or over a data directory that no collector uses",
		Long: `Evaluate PromQL over the running collector at --collector. With --data-dir or DIR, the command reads a data directory
that no collector uses, for example after a replay.

Times are Unix seconds or RFC 3339. The default time is now for a collector, and that of the newest slice for a
directory. With --start, --end and --step the result is a range. JSON is the answer of Prometheus' HTTP API, errors
included.`,
		Example: `  bullet-metrics query 'sum by (topology) (bullet_active_queries)'
  bullet-metrics query --data-dir data bullet_active_queries
  bullet-metrics query --data-dir data 'rate(storm_acked_total[2m])' --start 1795199800 --end 1795199940 --step 10s --output json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usageError{fmt.Errorf(
					"query takes an expression, or a directory and an expression, not %d arguments; quote the expression",
					len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.question.Expression = args[len(args)-1]
			if err := checkTimes(o.question); err != nil {
				return usageError{err}
			}
			if info, err := os.Stat(args[len(args)-1]); err == nil && info.IsDir() {
				return usageError{fmt.Errorf("query: %s is a directory; add an expression", args[len(args)-1])}
			}
			ask, err := o.source(cmd, args[:len(args)-1])
			if err != nil {
				return err
			}
			return printReply(cmd.OutOrStdout(), cmd.ErrOrStderr(), ask, o.output.form == outputJSON)
		},
	}
	flags := command.Flags()
	o.data.addFlag(flags)
	o.to.addFlags(flags, usualCollector, "HTTP address of a running collector, HOST:PORT or URL")
	flags.StringVar(&o.question.Time, "time", "", "evaluation time (default the newest slice, or now for a collector)")
	flags.StringVar(&o.question.Start, "start", "", "start of a range")
	flags.StringVar(&o.question.End, "end", "", "end of a range")
	flags.StringVar(&o.question.Step, "step", "",
		"interval between two points of a range: seconds, or a duration such as 1m")
	o.output.addFlag(flags)
	return command
}

func checkTimes(q httpapi.Question) error {
	switch {
	case q.IsRange() && q.Time != "":
		return errors.New("--time selects one time; it cannot be combined with --start, --end and --step")
	case q.IsRange() && (q.Start == "" || q.End == "" || q.Step == ""):
		return errors.New("a range requires --start, --end and --step")
	}
	return nil
}

// source returns what is asked: a collector or a data directory. What is on the command line takes precedence over
// environment variables.
func (o *queryCommand) source(cmd *cobra.Command, dirs []string) (func() (*httpapi.Reply, error), error) {
	flags := cmd.Flags()
	isDir := len(dirs) > 0 || isTyped(flags, "data-dir")
	if isDir && isTyped(flags, "collector") {
		return nil, usageError{errors.New("query takes either --collector or a data directory")}
	}
	if !isDir && (o.data.path == "" || flags.Changed("collector")) {
		asked, err := o.to.client()
		if err != nil {
			return nil, err
		}
		return func() (*httpapi.Reply, error) {
			path, form := o.question.Form()
			asked.Timeout = queryTimeout
			code, body, err := asked.Post(cmd.Context(), path, form)
			if err != nil {
				return nil, advised(err, ", or set --data-dir for a data directory")
			}
			return httpapi.ParseReply(code, body)
		}, nil
	}
	dir, err := o.data.oneDataDir(cmd, dirs)
	if err != nil {
		return nil, err
	}
	return func() (*httpapi.Reply, error) { return askDirectory(cmd.Context(), dir, o.question) }, nil
}

// queryTimeout bounds a query of a collector, which has a limit of its own (query.timeout).
const queryTimeout = 10 * time.Minute

func askDirectory(ctx context.Context, dir string, q httpapi.Question) (reply *httpapi.Reply, err error) {
	store, err := datadir.OpenStore(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, within(ctx, 10*time.Second, store.Close)) }()
	return httpapi.Ask(ctx, store, q)
}

// printReply prints the answer to a question, and a hint to hints if the answer is empty. An error of the API is an
// error of the command, and a bad expression is wrong usage.
func printReply(out, hints io.Writer, ask func() (*httpapi.Reply, error), asJSON bool) error {
	reply, err := ask()
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	if asJSON {
		if _, err := fmt.Fprintf(out, "%s\n", reply.Body); err != nil {
			return err
		}
	}
	switch {
	case reply.Code == http.StatusBadRequest:
		return usageError{fmt.Errorf("query: %s", reply.Error)}
	case reply.Code != http.StatusOK:
		return fmt.Errorf("query: %s", reply.Error)
	case asJSON:
		return nil
	}
	text, err := reply.Text()
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	if text == "" {
		_, err = fmt.Fprintln(hints, "query: no series has a value at this time. Check the name of the metric, use a longer range, such as [2m], or set --time or --start, --end and --step; last_over_time(METRIC[1d]) finds older values")
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

// What queries go through.
const (
	targetGateway = "gateway"
	targetDRPC    = "drpc"
)

// queryTarget are the flags of commands that submit queries: where to, and who makes the records that they look for.
type queryTarget struct{ target, url, function, source string }

func (q *queryTarget) addFlags(flags *pflag.FlagSet, url string) {
	flags.StringVar(&q.target, "target", targetGateway,
		"endpoint for the queries: gateway (Bullet's query endpoint) or drpc (Storm's DRPC over HTTP)")
	flags.StringVar(&q.url, "url", "", "address of the endpoint, HOST:PORT or URL"+url)
	flags.StringVar(&q.function, "function", "bullet-query", "name of the DRPC function")
	flags.StringVar(&q.source, "source", "",
		"address that controls the topology's record source; \"none\" if there is none (default the address of --url for gateway, none for drpc)")
}

// complete fills in the source that follows from the target, and checks the addresses. source is "" for none then.
func (q *queryTarget) complete() error {
	if q.source == "" && q.target == targetGateway {
		q.source = q.url
	}
	if q.source == "none" {
		q.source = ""
	}
	for _, flag := range []struct{ name, value string }{{"--url", q.url}, {"--source", q.source}} {
		if flag.value == "" {
			continue
		}
		if _, err := address.URL(flag.value).Parse(load.Address("127.0.0.1:9901")); err != nil {
			return fmt.Errorf("%s %w", flag.name, err)
		}
	}
	return nil
}

func (q *queryTarget) check() error {
	if q.target != targetGateway && q.target != targetDRPC {
		return fmt.Errorf("--target must be %s or %s, not %q", targetGateway, targetDRPC, q.target)
	}
	return nil
}

// open returns what submits queries, over so many connections, and what closes it.
func (q *queryTarget) open(connections int) (load.Submitter, func()) {
	if q.target == targetDRPC {
		return load.Target{DRPC: []string{q.url}, Function: q.function}.Open(connections)
	}
	return load.Target{Gateway: q.url}.Open(connections)
}
