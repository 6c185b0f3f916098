package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/httpapi"
)

func newQueryCommand() *cobra.Command {
	var q httpapi.Question
	var output outputForm
	command := &cobra.Command{
		Use:   "query DIR EXPR",
		Short: "Evaluate PromQL over a data directory that no collector uses",
		Long: `Evaluate PromQL over a data directory that no collector uses, for example after a replay. Query a running collector
over its HTTP API instead.

Times are Unix seconds or RFC 3339. The default time is that of the newest slice. With --start, --end and --step the
result is a range. JSON is the answer of Prometheus' HTTP API, errors included.`,
		Example: `  bullet-metrics query data bullet_active_queries
  bullet-metrics query data 'rate(storm_acked_total[2m])' --start 1795199800 --end 1795199940 --step 10s --output json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Errorf(
					"query takes two arguments, a directory and an expression, not %d; quote the expression", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Expression = args[1]
			if err := errors.Join(output.check(), checkTimes(q)); err != nil {
				return usageError{err}
			}
			return runQuery(cmd.Context(), cmd.OutOrStdout(), args[0], q, output.form == outputJSON)
		},
	}
	command.Flags().StringVar(&q.Time, "time", "", "evaluation time (default the newest slice)")
	command.Flags().StringVar(&q.Start, "start", "", "start of a range")
	command.Flags().StringVar(&q.End, "end", "", "end of a range")
	command.Flags().StringVar(&q.Step, "step", "",
		"interval between two points of a range: seconds, or a duration such as 1m")
	output.addFlag(command.Flags())
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

// runQuery prints the answer to a question about a data directory. An error of the API is an error of the command, and
// a bad expression is wrong usage.
func runQuery(ctx context.Context, out io.Writer, dir string, q httpapi.Question, asJSON bool) (err error) {
	store, err := datadir.OpenStore(dir)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = errors.Join(err, store.Close(closing))
	}()
	reply, err := httpapi.Ask(ctx, store, q)
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
	_, err = io.WriteString(out, text)
	return err
}
