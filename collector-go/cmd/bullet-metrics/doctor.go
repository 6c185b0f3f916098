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

// usualCollector is asked where nobody names one; noCollector asks none.
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
		Short: "Check whether a topology's metrics get out, and say what to do where they do not",
		Long: `Check whether a topology's metrics get out, in the order in which that can fail, and say what to do where they do not. What is not
given is not looked at, but for the collector at ` + usualCollector + `. Each check is FAIL, waiting (for what cannot be there yet), OK or
unknown. The exit code is 1 when a check failed, and 0 otherwise.

With --bullet-conf it shakes hands with what listens at the plugin's addresses, from this machine. --nimbus shows what a running topology was
submitted with, and --log what the plugin says in a worker or at a submission: its lines have "bullet-metrics:".`,
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
	flags.Var(textfile.PathFlag(&o.settings, ""), "bullet-conf", "Bullet's settings, or a plain topology's, as YAML")
	o.to.addFlags(flags, "", "address of a running collector's HTTP, host:port or a URL; \"none\" asks none (default "+
		usualCollector+")")
	flags.StringVar(&o.topology, "topology", "",
		"the topology's name; may be left out where the collector knows one only")
	flags.StringVar(&o.bullet, "bullet", "", "version of Bullet, such as 1.3")
	flags.StringSliceVar(&o.nimbus, "nimbus", nil,
		"Nimbus' Thrift address, HOST:PORT, without SASL; of several the first that answers")
	flags.Var(textfile.RepeatedPathFlag(&o.logs), "log", "log of a worker, or of the submission; may be repeated")
	flags.DurationVar(&o.wait, "wait", 0, "wait this long for what is not there yet, as after a submission")
	o.output.addFlag(flags)
	return command
}

func (o *doctorOptions) check() error {
	switch {
	case o.to.collector == noCollector && o.topology != "" && len(o.nimbus) == 0:
		return errors.New("--topology is for a collector or --nimbus, and neither is asked")
	case o.to.collector == noCollector && o.jar == "" && o.settings == "" && len(o.nimbus) == 0 && len(o.logs) == 0:
		return errors.New("name what to look at: --bullet-conf, --jar, --collector, --nimbus or --log")
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

// lookAgain is how often what is waited for is looked at.
const lookAgain = 2 * time.Second

// examine looks until nothing is waited for, or the time for that is over.
func (o *doctorOptions) examine(ctx context.Context) (doctor.Report, error) {
	asked, assumed, err := o.collector()
	if err != nil {
		return doctor.Report{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	ticker := time.NewTicker(lookAgain)
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

// collector is whom to ask; nil for nobody. It is assumed where nobody named it, and nothing else states that one is
// meant.
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
		facts.Ports, facts.Unreadable = examine.Way(ctx, facts.Settings)
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

// printReport prints findings; the error states how many checks failed.
func printReport(out io.Writer, r doctor.Report, output outputForm) error {
	err := output.writeLine(out, r, r.Text())
	if failed := r.Failed(); err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d checks failed", failed, len(r.Findings))
	}
	return err
}
