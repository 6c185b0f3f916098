package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/dashboard"
)

// grafanaExport is what to write and for whom.
type grafanaExport struct {
	dir, url, dashboards string
	runbooks             string
	prometheus           string // version that the rules are for
	access               dashboard.Access
}

func newGrafanaExportCommand() *cobra.Command {
	var e grafanaExport
	command := &cobra.Command{
		Use:   "export --out DIR",
		Short: "Write dashboards, provisioning files and alert rules for Grafana and Prometheus",
		Long: `Write dashboards, provisioning files and alert rules for Grafana and Prometheus into a directory:

  dashboards/*.json                            dashboards, which Grafana can also import one by one
  provisioning/datasources/bullet-metrics.yaml data source of the dashboards
  provisioning/dashboards/bullet-metrics.yaml  location of the dashboards
  provisioning/alerting/bullet-metrics.yaml    alert rules for Grafana
  prometheus/bullet-metrics.rules.yaml         alert rules for Prometheus

Use the alert rules of either Grafana or Prometheus, not both. Existing files of these names are overwritten, and no
other files are changed.

The dashboards and Grafana's alert rules need Grafana 12. Prometheus' rules need Prometheus ` + alertrules.OffsetSince + `. For an older
Prometheus, or for vmalert (tested with ` + alertrules.Vmalert + `), use --prometheus-version ` + alertrules.OldestKnown + `.`,
		Example: `  bullet-metrics grafana export --out grafana
  bullet-metrics grafana export --out /etc/grafana --datasource-url http://collector.example:9320 --dashboards-dir /etc/grafana/dashboards
  bullet-metrics grafana export --out /etc/grafana --datasource-url https://collector.example:9320 --tls-ca /etc/grafana/ca.pem --token-file /etc/grafana/token`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if e.dir == "" {
				return usageError{errors.New("--out is required: the directory for the files")}
			}
			if _, err := alertrules.QueryOffsetFor(e.prometheus); err != nil {
				return usageError{fmt.Errorf("--prometheus-version %w", err)}
			}
			if err := errors.Join(e.check(cmd.Flags().Changed("runbooks-url")), e.access.Validate()); err != nil {
				return usageError{err}
			}
			files, err := e.files()
			if err != nil {
				return err
			}
			for _, f := range files {
				if err := write(e.dir, f); err != nil {
					return fmt.Errorf("grafana export: %w", err)
				}
				fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(e.dir, f.Path))
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.Var(textfile.PathFlag(&e.dir, ""), "out", "directory to write into; created if missing; required")
	flags.StringVar(&e.url, "datasource-url", "http://127.0.0.1:9320",
		"URL that Grafana queries: the collector, or a Prometheus that it writes to and that scrapes it")
	flags.StringVar(&e.runbooks, "runbooks-url", "", "URL of the collector's runbooks in links (default runbooks/ below --datasource-url)")
	flags.StringVar(&e.prometheus, "prometheus-version", alertrules.OffsetSince,
		"version of the Prometheus that evaluates the rules, "+alertrules.OldestKnown+" or later")
	flags.Var(textfile.PathFlag(&e.access.TokenFile, ""), "token-file",
		"path on Grafana's machine: file with a token that has the scope read")
	flags.StringVar(&e.access.User, "user", "", "user of the collector's web configuration file, instead of a token")
	flags.Var(textfile.PathFlag(&e.access.PasswordFile, ""), "password-file",
		"path on Grafana's machine: file with the password of --user")
	flags.Var(textfile.PathFlag(&e.access.CAFile, ""), "tls-ca",
		"path on Grafana's machine: PEM file with the CA of the collector's certificate (default the system CAs)")
	flags.Var(textfile.PathFlag(&e.access.CertFile, ""), "tls-cert",
		"path on Grafana's machine: PEM file with Grafana's certificate, if the collector requires one")
	flags.Var(textfile.PathFlag(&e.access.KeyFile, ""), "tls-key",
		"path on Grafana's machine: PEM file with the private key of --tls-cert")
	flags.Var(textfile.PathFlag(&e.dashboards, ""), "dashboards-dir",
		"path on Grafana's machine: directory of the dashboards (default dashboards/ below --out)")
	return command
}

// check refuses URLs that are none. The runbooks' stands in templates of Grafana and Prometheus: what begins something
// there is written as a URL may have it.
func (e *grafanaExport) check(ownRunbooks bool) error {
	form := address.Form{Example: "http://127.0.0.1:9320", Secrets: "the file of --password-file"}
	source, err := address.URL(e.url).Parse(form)
	if err != nil {
		return fmt.Errorf("--datasource-url %w", err)
	}
	runbooks := source.JoinPath("runbooks")
	if ownRunbooks {
		form.Secrets = "no file: people follow the link"
		if runbooks, err = address.URL(e.runbooks).Parse(form); err != nil {
			return fmt.Errorf("--runbooks-url %w", err)
		}
	}
	e.runbooks = strings.ReplaceAll(runbooks.String(), "$", "%24")
	return nil
}

// files returns the exported files.
func (e grafanaExport) files() ([]dashboard.File, error) {
	found := e.dashboards
	if found == "" {
		var err error
		if found, err = filepath.Abs(filepath.Join(e.dir, "dashboards")); err != nil {
			return nil, fmt.Errorf("grafana export: %w", err)
		}
	}
	offset, err := alertrules.QueryOffsetFor(e.prometheus)
	if err != nil {
		return nil, fmt.Errorf("--prometheus-version %w", err)
	}
	runbooks := strings.TrimSuffix(cmp.Or(e.runbooks, strings.TrimSuffix(e.url, "/")+"/runbooks"), "/") + "/"
	return append(dashboard.Files(e.url, found, e.access), dashboard.File{
		Path:    "provisioning/alerting/bullet-metrics.yaml",
		Content: alertrules.GrafanaRules(dashboard.SourceUID, runbooks),
	}, dashboard.File{
		Path:    "prometheus/bullet-metrics.rules.yaml",
		Content: alertrules.PrometheusRules(alertrules.Interval, offset, runbooks),
	}), nil
}

func write(dir string, f dashboard.File) error {
	path := filepath.Join(dir, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, f.Content, 0o666)
}
