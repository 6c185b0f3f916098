package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
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
	examine.Sources
	output outputForm
	wait   time.Duration
	to     collectorFlags
}

func newDoctorCommand() *cobra.Command {
	var o doctorOptions
	command := &cobra.Command{
		Use:   "doctor [--bullet-conf FILE] [--jar PATH] [--topology NAME] [--collector URL] [--nimbus HOST:PORT] [--log FILE]",
		Short: "Check why the metrics of a topology do not arrive, and print a fix for each problem",
		Long: `Check the path of a topology's metrics from the plugin to the collector, and print a fix for each problem.

Only what you name is checked. The collector is checked by default, at ` + usualCollector + `. If you name neither it
nor the topology beside other things, nothing has to report yet. The result of a check is FAIL, waiting (not expected
yet), OK or unknown. The exit code is 1 if a check failed, and 0 otherwise.

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
			sources, err := o.sources()
			if err != nil {
				return err
			}
			return printReport(cmd.OutOrStdout(), sources.Report(cmd.Context(), o.wait), o.output)
		},
	}
	flags := command.Flags()
	flags.Var(textfile.PathFlag(&o.Jar, ""), "jar", "the plugin's jar")
	flags.Var(textfile.PathFlag(&o.Settings, ""), "bullet-conf",
		"YAML file with the settings of Bullet, or of a topology without Bullet")
	o.to.addFlags(flags, "", "HTTP address of the collector, HOST:PORT or URL; \"none\" skips it (default "+usualCollector+")")
	flags.StringVar(&o.Topology, "topology", "", "name of the topology; optional if the collector knows only one")
	flags.StringVar(&o.Bullet, "bullet", "", "version of Bullet, such as 1.3")
	flags.StringSliceVar(&o.Nimbus, "nimbus", nil,
		"Thrift addresses of Nimbus, HOST:PORT, without SASL; the first that answers is used")
	flags.Var(textfile.RepeatedPathFlag(&o.Logs), "log", "log of a worker or of the submission; may be repeated")
	flags.DurationVar(&o.wait, "wait", 0,
		"how long to repeat the checks until nothing is waiting, for example after a submission")
	o.output.addFlag(flags)
	return command
}

func (o *doctorOptions) check() error {
	switch {
	case o.to.collector == noCollector && o.Topology != "" && len(o.Nimbus) == 0:
		return errors.New("--topology requires a collector or --nimbus")
	case o.to.collector == noCollector && o.Jar == "" && o.Settings == "" && len(o.Nimbus) == 0 && len(o.Logs) == 0:
		return errors.New("nothing to check; set --bullet-conf, --jar, --collector, --nimbus or --log")
	case o.wait < 0:
		return fmt.Errorf("--wait is %s: it must not be negative", o.wait)
	}
	for _, at := range o.Nimbus {
		if err := address.HostPort(at).Server("nimbus:6627"); err != nil {
			return fmt.Errorf("--nimbus %w", err)
		}
	}
	if o.Bullet != "" {
		if _, err := stormconfig.ParseVersion(o.Bullet); err != nil {
			return fmt.Errorf("--bullet: %w", err)
		}
	}
	return nil
}

// sources sets the collector to examine. If nobody named it, and no other source implies one, it is only assumed.
func (o *doctorOptions) sources() (_ examine.Sources, err error) {
	s := o.Sources
	to := o.to
	switch to.collector {
	case noCollector:
		return s, nil
	case "":
		to.collector = usualCollector
		s.Assumed = s.Topology == "" && (s.Jar != "" || s.Settings != "" || len(s.Nimbus) > 0 || len(s.Logs) > 0)
	}
	s.Collector, err = to.client()
	return s, err
}

// printReport prints the findings. The error states how many checks failed.
func printReport(out io.Writer, r doctor.Report, output outputForm) error {
	err := output.writeLine(out, r, r.Text())
	if failed := r.Failed(); err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d checks failed", failed, len(r.Findings))
	}
	return err
}
