package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/doctor"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/examine"
)

func newDoctorCommand() *cobra.Command {
	var jar, settings, topology, output string
	var to asking
	command := &cobra.Command{
		Use:   "doctor [--jar PATH] [--bullet-conf FILE] [--collector URL --topology NAME]",
		Short: "Check whether a topology's metrics get out, and say what to do where they do not",
		Long: `Check whether a topology's metrics get out, in the order in which that can fail, and say what to do where they do not. What is not
given is not looked at; each check is OK, FAIL or unknown. The exit code is 0 when no check failed, 1 when one did.`,
		Example: `  bullet-metrics doctor --jar build/bullet-metrics-storm.jar --bullet-conf bullet_settings.yaml
  bullet-metrics doctor --collector http://127.0.0.1:9320 --topology bullet --output json
  bullet-metrics doctor --collector https://collector.example:9320 --tls-ca ca.pem --token-file token`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			facts := doctor.Facts{}
			if jar != "" {
				facts.Jar = examine.Jar(jar)
			}
			if settings != "" {
				facts.Settings = examine.Settings(settings)
			}
			switch {
			case to.collector == "" && topology != "":
				return usageError{errors.New("--topology is missing its --collector: the address of a running one")}
			case to.collector == "" && jar == "" && settings == "":
				return usageError{errors.New("name what to look at: --jar, --bullet-conf or --collector")}
			case to.collector != "":
				asked, err := to.client()
				if err != nil {
					return err
				}
				facts.Collector = examine.Collector(cmd.Context(), asked, topology, time.Now())
			}
			return printReport(cmd.OutOrStdout(), doctor.Examine(facts), output)
		},
	}
	command.Flags().StringVar(&jar, "jar", "", "the plugin's jar")
	command.Flags().StringVar(&settings, "bullet-conf", "", "Bullet's settings, or a plain topology's, as YAML")
	to.addFlags(command.Flags(), "", "http address of a running collector, such as http://127.0.0.1:9320")
	command.Flags().StringVar(&topology, "topology", "", "the topology's name; may be left out where the collector knows one only")
	command.Flags().StringVar(&output, "output", outputText, "text or json")
	return command
}

// printReport prints findings; the error says how many checks failed.
func printReport(out io.Writer, r doctor.Report, output string) error {
	var err error
	if output == outputJSON {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(r)
	} else {
		_, err = io.WriteString(out, table(r))
	}
	failed := 0
	for _, found := range r.Findings {
		if found.Status == doctor.Fail {
			failed++
		}
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d checks failed", failed, len(r.Findings))
	}
	return err
}

func table(r doctor.Report) string {
	var b strings.Builder
	for _, found := range r.Findings {
		fmt.Fprintf(&b, "%-12s  %-7s  %s\n", found.Check, found.Status, found.Says)
		if found.Fix != "" {
			fmt.Fprintf(&b, "%23sfix: %s\n", "", found.Fix)
		}
	}
	return b.String()
}
