package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	commonconfig "github.com/prometheus/common/config"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/alertrules"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rulesengine"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/timeline"
)

// openRules makes what evaluates rules, and the engine, which reads the slices, what rules give and annotations as one.
func (col *collector) openRules(c config.Config, asking query.Options, figures *prometheus.Registry) (err error) {
	if col.store == nil { // then there is nothing to judge
		col.engine, err = query.New(query.Absent, asking)
		return err
	}
	dir := filepath.Join(c.DataDir, "rules")
	judging := rulesengine.DefaultOptions(dir)
	judging.Interval, judging.QueryOffset, judging.Logger, judging.Registerer = c.Rules.Interval, queryOffset(c.Slice),
		col.logger, figures
	if c.Embedded.RetentionTime > 0 {
		judging.Retention = c.Embedded.RetentionTime
	}
	if judging.Files, err = ruleFiles(c.Rules.Files); err != nil {
		return err
	}
	if err = callees(c, col.readers.TLS() != nil, &judging); err != nil {
		return err
	}
	if c.Rules.BuiltIn {
		runbooks := judging.ExternalURL.JoinPath("runbooks").String() + "/"
		ours := rulesengine.File{Name: builtInRules, Text: alertrules.PrometheusRules(judging.Interval,
			judging.QueryOffset, runbooks)}
		judging.Files = append([]rulesengine.File{ours}, judging.Files...)
	}
	col.results = rulesengine.OpenResults(dir, judging.Retention, col.logger, figures)
	if col.engine, err = query.New(query.Join(col.store, col.results, timeline.New(col.known, time.Now)),
		asking); err != nil {
		return err
	}
	col.own = &rulesengine.Own{
		Gatherer: figures, Results: col.results, Interval: c.Rules.Interval, Logger: col.logger,
		Labels: labels.FromStrings("job", "bullet-metrics", "instance", c.HTTP.Listen),
	}
	col.rules, err = rulesengine.New(col.engine, col.results, judging)
	return err
}

// builtInRules is what the API calls the file of the alerts that come with the program.
const builtInRules = "bullet-metrics.rules.yaml"

// queryOffset is how far behind the clock all slices of a source that is on time are closed: the journal's tick, a
// slice's width and its lateness.
func queryOffset(s config.Slice) time.Duration { return time.Second + s.Width + s.Lateness }

// ruleFiles reads the operator's rules.
func ruleFiles(patterns []string) (all []rulesengine.File, err error) {
	paths, err := rulesengine.Paths(patterns)
	if err != nil {
		err = fmt.Errorf("rules.files: %w", err)
	}
	for _, path := range paths {
		text, bad := os.ReadFile(path)
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("rules.files: %w", bad))
			continue
		}
		all = append(all, rulesengine.File{Name: path, Text: text})
	}
	return all, err
}

// callees returns who receives alerts, how they are called, and where they find us.
func callees(c config.Config, encrypted bool, judging *rulesengine.Options) error {
	for _, text := range c.Alertmanager.URLs {
		u, err := url.Parse(text)
		if err != nil {
			return fmt.Errorf("alertmanager.urls: %w", err)
		}
		judging.Alertmanagers = append(judging.Alertmanagers, u)
	}
	if path := c.Alertmanager.HTTPConfigFile; path != "" {
		client, _, err := commonconfig.LoadHTTPConfigFile(path)
		if err != nil {
			return fmt.Errorf("alertmanager.http_config_file: %s: %w", path, err)
		}
		client.SetDirectory(filepath.Dir(path))
		judging.Client = *client
	}
	external := c.HTTP.ExternalURL
	if external == "" {
		external = "http://" + c.HTTP.Listen
		if encrypted {
			external = "https://" + c.HTTP.Listen
		}
	}
	var err error
	if judging.ExternalURL, err = url.Parse(external); err != nil {
		return fmt.Errorf("http.external_url: %w", err)
	}
	return nil
}
