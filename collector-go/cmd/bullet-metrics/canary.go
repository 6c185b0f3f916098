package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/canary"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// canaryOptions are the command's flags.
type canaryOptions struct {
	queryTarget
	classes  []string
	own      ownQueries
	canary   canary.Options
	sender   sender.Options
	duration time.Duration
	output   outputForm
}

func newCanaryCommand() *cobra.Command {
	host, _ := os.Hostname() // "" if it is unknown
	o := canaryOptions{canary: canary.DefaultOptions(),
		sender: sender.DefaultOptions("", "bullet", cmp.Or(host, "canary"), "canary")}
	command := &cobra.Command{
		Use:   "canary",
		Short: "Run one query of each class continuously and record its latency",
		Long: `Run one query of each class at a fixed rate, and send the results to a collector.

The results are the latency (bullet_query_latency_seconds by class, a native histogram), the completeness of the
answers (bullet_query_result_completeness_ratio) and the outcomes (bullet_query_outcomes_total). A table is printed
every minute and every hour.

The queries of the classes look for records that the topology's record source makes for them. A Bullet of your own has
no such source. Use --query to run your own BQL, and --expect-records and --expect-field to state what its answers
must contain.

The canary continues if the collector, the gateway or the topology is unavailable. Ctrl-C ends it.`,
		Example: `  bullet-metrics canary --url 127.0.0.1:9901 --grpc 127.0.0.1:4320 --topology bullet
  bullet-metrics canary --url gateway.example:9901 --classes raw,group --every 30s --output json
  bullet-metrics canary --url bullet.example:5555 --query "SELECT * FROM STREAM(5000, TIME) WHERE country = 'x' LIMIT 3" \
      --expect-records 3 --expect-field country
  bullet-metrics canary --target drpc --url drpc.example:3774 --grpc collector.example:4320 --tls --tls-ca ca.pem --token-file token`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(o.own.texts) > 0 && !cmd.Flags().Changed("classes") {
				o.classes = nil
			}
			if err := o.complete(); err != nil {
				return usageError{err}
			}
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	o.queryTarget.addFlags(flags, "; required")
	o.own.addFlags(flags,
		"replaces the classes unless --classes is given; NAME=BQL sets the label \"class\"; may be repeated")
	flags.StringSliceVar(&o.classes, "classes", tuning.Texts(load.Classes()), "classes of queries")
	flags.DurationVar(&o.canary.Every, "every", o.canary.Every, "interval between two queries of a class")
	flags.DurationVar(&o.canary.Query.Duration, "query-duration", o.canary.Query.Duration,
		"maximum duration of a query in the topology")
	flags.Float64Var(&o.canary.Query.PerSecond, "matching-per-second", o.canary.Query.PerSecond,
		"matching records per second that the source makes for each class")
	flags.IntVar(&o.canary.MostInFlight, "most-in-flight", o.canary.MostInFlight,
		"maximum number of queries of a class in flight; further ones count as missed")
	flags.DurationVar(&o.canary.Grace, "timeout", o.canary.Grace,
		"how long to wait for an answer after the end of the query")
	flags.DurationVar(&o.duration, "duration", 0, "stop after this time; 0 means never")
	flags.StringVar(&o.sender.Address, "grpc", "",
		"gRPC address of the collector, HOST:PORT; if not set, nothing is sent")
	flags.StringVar(&o.sender.Topology, "topology", o.sender.Topology,
		"name of the topology, in the label \"topology\"")
	flags.StringVar(&o.sender.Host, "host", o.sender.Host, "name of this canary, in the label \"worker\" as NAME:0")
	flags.BoolVar(&o.sender.TLS.Enabled, "tls", false, "use TLS to connect to the collector")
	flags.Var(textfile.PathFlag(&o.sender.TLS.CA, ""), "tls-ca",
		"PEM file with the CA of the collector's certificate (default the system CAs)")
	flags.Var(textfile.PathFlag(&o.sender.TLS.Cert, ""), "tls-cert",
		"PEM file with this client's certificate, if the collector requires one")
	flags.Var(textfile.PathFlag(&o.sender.TLS.Key, ""), "tls-key", "PEM file with the private key of --tls-cert")
	flags.StringVar(&o.sender.TLS.ServerName, "tls-server-name", "",
		"host name in the collector's certificate (default the host of --grpc)")
	flags.Var(textfile.PathFlag(&o.sender.TokenFile, ""), "token-file", "file with a token that has the scope write")
	o.output.addForms(flags, "output format: text, or json with one line per minute, hour and class",
		outputText, outputJSON)
	return command
}

func (o *canaryOptions) complete() (err error) {
	if tls := o.sender.TLS; !tls.Enabled && tls.CA+tls.Cert+tls.Key+tls.ServerName != "" {
		return errors.New("--tls-ca, --tls-cert, --tls-key and --tls-server-name require --tls")
	}
	if err := o.check(); err != nil {
		return err
	}
	if o.url == "" {
		return errors.New("--url is required, for example --url 127.0.0.1:9901 for Bullet's query endpoint, " +
			"or --target drpc --url 127.0.0.1:3774 for Storm's DRPC over HTTP")
	}
	if err := o.queryTarget.complete(); err != nil {
		return err
	}
	o.canary.Classes = nil
	for _, name := range o.classes {
		class, err := load.ParseClass(name)
		if err != nil {
			return fmt.Errorf("--classes: %w", err)
		}
		o.canary.Classes = append(o.canary.Classes, class)
	}
	if o.canary.Own, err = o.own.queries(o.canary.Query.Duration); err != nil {
		return err
	}
	if len(o.canary.Classes)+len(o.canary.Own) == 0 {
		return errors.New("set --classes to at least one class, or --query")
	}
	if len(o.canary.Classes) == 0 {
		o.source = "" // nothing is made for queries of somebody's own
	}
	o.canary.Query.NoSource = o.source == ""
	o.sender.Version = version
	if o.sender.Address != "" {
		if err := o.sender.Validate(); err != nil {
			return err
		}
	}
	return o.canary.Validate()
}

func (o *canaryOptions) run(ctx context.Context, out, said io.Writer) error {
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	connections := (len(o.canary.Classes) + len(o.canary.Own)) * o.canary.MostInFlight
	target, closing := o.open(min(connections, 1000))
	defer closing()
	return canary.Deliver(ctx, o.canary, target, o.source, o.sender,
		&canary.Lines{Out: out, Said: said, JSON: o.output.form == outputJSON})
}
