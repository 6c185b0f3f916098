package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor/examine"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/stormconfig"
)

// usualCollector is the collector that is checked by default, and noCollector skips it.
const (
	usualCollector = "http://127.0.0.1:9320"
	noCollector    = "none"
)

// doctorOptions are the command's flags.
type doctorOptions struct {
	jar, settings, topology, bullet string
	output                          outputForm
	nimbus, logs                    []string
	wait                            time.Duration
	to                              asking
}

func newDoctorCommand() *cobra.Command {
	var o doctorOptions
	command := &cobra.Command{
		Use:   "doctor [--bullet-conf FILE] [--jar PATH] [--topology NAME] [--collector URL] [--nimbus HOST:PORT] [--log FILE]",
		Short: "Check why the metrics of a topology do not arrive, and print a fix for each problem",
		Long: `Check the path of a topology's metrics from the plugin to the collector, and print a fix for each problem.

Only what you name is checked. The collector is checked by default, at ` + usualCollector + `. The result of a
check is FAIL, waiting (not expected yet), OK or unknown. The exit code is 1 if a check failed, and 0 otherwise.

With --bullet-conf, the command also connects from this machine to the collector addresses of the plugin. --nimbus
checks the settings of a running topology. --log checks the messages of the plugin in the log of a worker or of a
submission. They begin with "bullet-metrics:".`,
		Example: `  bullet-metrics doctor --jar build/bullet-metrics-storm.jar --bullet-conf bullet_settings.yaml
  bullet-metrics doctor --bullet-conf bullet_settings.yaml --topology bullet --nimbus nimbus:6627 --wait 3m
  bullet-metrics doctor --collector https://collector.example:9320 --tls-ca ca.pem --token-file token --output json
  bullet-metrics doctor --log logs/workers-artifacts/bullet-1-1700000000/6700/worker.log`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return usageError{err}
			}
			report, err := o.examine(cmd.Context())
			if err != nil {
				return err
			}
			return printReport(cmd.OutOrStdout(), report, o.output)
		},
	}
	flags := command.Flags()
	flags.Var(textfile.PathFlag(&o.jar, ""), "jar", "the plugin's jar")
	flags.Var(textfile.PathFlag(&o.settings, ""), "bullet-conf",
		"YAML file with the settings of Bullet, or of a topology without Bullet")
	o.to.addFlags(flags, "", "HTTP address of the collector, HOST:PORT or URL; \"none\" skips it (default "+usualCollector+")")
	flags.StringVar(&o.topology, "topology", "", "name of the topology; optional if the collector knows only one")
	flags.StringVar(&o.bullet, "bullet", "", "version of Bullet, such as 1.3")
	flags.StringSliceVar(&o.nimbus, "nimbus", nil,
		"Thrift addresses of Nimbus, HOST:PORT, without SASL; the first that answers is used")
	flags.Var(textfile.RepeatedPathFlag(&o.logs), "log", "log of a worker or of the submission; may be repeated")
	flags.DurationVar(&o.wait, "wait", 0,
		"how long to repeat the checks until nothing is waiting, for example after a submission")
	o.output.addFlag(flags)
	return command
}

func (o *doctorOptions) check() error {
	switch {
	case o.to.collector == noCollector && o.topology != "" && len(o.nimbus) == 0:
		return errors.New("--topology requires a collector or --nimbus")
	case o.to.collector == noCollector && o.jar == "" && o.settings == "" && len(o.nimbus) == 0 && len(o.logs) == 0:
		return errors.New("nothing to check; set --bullet-conf, --jar, --collector, --nimbus or --log")
	case o.wait < 0:
		return fmt.Errorf("--wait is %s: it must not be negative", o.wait)
	}
	for _, at := range o.nimbus {
		if err := address.HostPort(at).Server("nimbus:6627"); err != nil {
			return fmt.Errorf("--nimbus %w", err)
		}
	}
	if o.bullet != "" {
		if _, err := stormconfig.ParseVersion(o.bullet); err != nil {
			return fmt.Errorf("--bullet: %w", err)
		}
	}
	return o.output.check()
}

// retryEvery is the time between two runs of the checks with --wait.
const retryEvery = 2 * time.Second

// examine runs the checks until no result can change by waiting, or --wait is over.
func (o *doctorOptions) examine(ctx context.Context) (doctor.Report, error) {
	asked, assumed, err := o.collector()
	if err != nil {
		return doctor.Report{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()
	for {
		report := doctor.Examine(o.facts(ctx, asked, assumed))
		if !report.Waits() {
			return report, nil
		}
		select {
		case <-waiting.Done():
			return report, nil
		case <-ticker.C:
		}
	}
}

// collector returns the client of the collector to query, or nil for none. assumed reports whether the default was used
// although nothing says that there is a collector; then it is not a failure if none answers.
func (o *doctorOptions) collector() (asked *client.Client, assumed bool, err error) {
	to := o.to
	switch to.collector {
	case noCollector:
		return nil, false, nil
	case "":
		to.collector = usualCollector
		assumed = o.topology == "" && (o.jar != "" || o.settings != "" || len(o.nimbus) > 0 || len(o.logs) > 0)
	}
	asked, err = to.client()
	return asked, assumed, err
}

func (o *doctorOptions) facts(ctx context.Context, asked *client.Client, assumed bool) doctor.Facts {
	facts := doctor.Facts{Bullet: o.bullet}
	if o.jar != "" {
		facts.Jar = examine.Jar(o.jar)
	}
	if o.settings != "" {
		facts.Settings = examine.Settings(o.settings)
		facts.Ports, facts.Unreadable = examine.Connection(ctx, facts.Settings)
	}
	if len(o.nimbus) > 0 {
		facts.Cluster = examine.Cluster(ctx, o.nimbus, o.topology)
	}
	for _, path := range o.logs {
		facts.Logs = append(facts.Logs, examine.Log(path))
	}
	if asked != nil {
		facts.Collector = examine.Collector(ctx, asked, o.topology, time.Now())
		facts.Collector.Assumed = assumed
	}
	return facts
}

// printReport prints the findings. The error states how many checks failed.
func printReport(out io.Writer, r doctor.Report, output outputForm) error {
	err := output.writeLine(out, r, r.Text())
	if failed := r.Failed(); err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d checks failed", failed, len(r.Findings))
	}
	return err
}
