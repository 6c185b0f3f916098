package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/annotations"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/federation"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/httpapi"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query/remote"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/rulesengine"
)

// openRules makes what evaluates rules, and the engine, which reads the slices, what rules give and annotations as one.
func (col *collector) openRules(c config.Config, querying query.Options, figures *prometheus.Registry) (err error) {
	readable, err := col.readable(c)
	if err != nil {
		return err
	}
	col.others = federation.New(col.known, nil, time.Now)
	if col.remote != nil {
		col.others = federation.New(col.known, col.remote, time.Now)
	}
	if readable == nil { // then there is nothing to judge
		col.engine, err = query.New(query.Absent, querying)
		return err
	}
	dir := filepath.Join(c.DataDir, "rules")
	judging := rulesengine.DefaultOptions(dir)
	judging.Interval, judging.QueryOffset, judging.Logger, judging.Registerer = c.Rules.Interval, c.QueryOffset(),
		col.logger, figures
	if c.Embedded.RetentionTime > 0 {
		judging.Retention = c.Embedded.RetentionTime
	}
	if err = setAlertmanagers(c, col.readers.TLS() != nil, &judging); err != nil {
		return err
	}
	runbooks := judging.ExternalURL.JoinPath("runbooks").String() + "/"
	col.builtIn = rulesengine.File{Name: builtInRules, Text: alertrules.PrometheusRules(judging.Interval,
		judging.QueryOffset, runbooks)}
	if judging.Files, err = col.ruleFiles(c.Rules); err != nil {
		return err
	}
	col.results = rulesengine.OpenResults(dir, judging.Retention, col.logger, figures)
	if col.engine, err = query.New(query.Join(readable, col.results, annotations.New(col.others, time.Now)),
		querying); err != nil {
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

// readable is where the engine reads slices: the store, or the engine of somebody else's; nil where there is neither.
func (col *collector) readable(c config.Config) (_ storage.Queryable, err error) {
	if col.store != nil {
		return col.store, nil
	}
	if c.Query.URL == "" {
		return nil, nil
	}
	col.remote, err = remoteEngine(c.Query)
	return col.remote, err
}

// remoteEngine returns the engine of query.url, or nil if it is not set. It makes no connection.
func remoteEngine(c config.Query) (*remote.Store, error) {
	if c.URL == "" {
		return nil, nil
	}
	access, err := httpclient.ReadConfig(c.HTTPConfigFile)
	if err != nil {
		return nil, fmt.Errorf("query.%w", err)
	}
	caller, err := httpclient.New(httpclient.Options{Access: &access, MostBytes: remote.MostBytes})
	if err != nil {
		return nil, fmt.Errorf("query.http_config_file: %w", err)
	}
	return remote.New(c.URL, caller, c.Lookback)
}

// ruleFiles are the program's rules, where they are wanted, and the operator's.
func (col *collector) ruleFiles(r config.Rules) (all []rulesengine.File, err error) {
	if r.BuiltIn {
		all = append(all, col.builtIn)
	}
	others, err := rulesengine.ReadFiles(r.Files)
	return append(all, others...), err
}

// setAlertmanagers sets the Alertmanagers, how they are called, and the URL to which alerts link.
func setAlertmanagers(c config.Config, encrypted bool, judging *rulesengine.Options) (err error) {
	for _, text := range c.Alertmanager.URLs {
		u, err := url.Parse(text)
		if err != nil {
			return fmt.Errorf("alertmanager.urls: %w", err)
		}
		judging.Alertmanagers = append(judging.Alertmanagers, u)
	}
	if judging.Client, err = httpclient.ReadConfig(c.Alertmanager.HTTPConfigFile); err != nil {
		return fmt.Errorf("alertmanager.%w", err)
	}
	judging.ExternalURL, err = c.HTTP.External(encrypted)
	return err
}

// limitation finds what limited a topology, as experiments do, from the collector's own slices.
func (col *collector) limitation(width time.Duration) func(context.Context, string, time.Time, time.Time,
	time.Time) (string, bool, error) {
	return func(ctx context.Context, name string, from, to, heard time.Time) (string, bool, error) {
		topology, err := col.topology(name)
		if err != nil {
			return "", false, err
		}
		return measure.Limitation(ctx, stored{col.engine}, topology,
			measure.TimeRange{From: from, To: to, Width: width}, heard)
	}
}

// topology returns what the API answers about a topology, in the form that experiments read.
func (col *collector) topology(name string) (t measure.Topology, err error) {
	known, found := col.known.Topology(name, "")
	if !found {
		return t, fmt.Errorf("topology %s has not reported", name)
	}
	text, err := json.Marshal(known)
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(text, &t)
}

// stored lets experiments' code read the engine in place of a collector over HTTP. It implements measure.Stored.
type stored struct{ engine *query.Engine }

// Slices implements measure.Stored.
func (s stored) Slices(ctx context.Context, selector string, from, to time.Time) (all []measure.Series, err error) {
	lines, err := s.engine.LinesAt(ctx, fmt.Sprintf("%s[%dms]", selector, to.Sub(from).Milliseconds()), to)
	for _, line := range lines {
		figures := tuning.Each(line.Values, func(v float64) tuning.Figure { return tuning.Figure(v) })
		all = append(all, measure.Series{Labels: line.Labels,
			Slices: runstore.Slices{TimesMs: line.TimesMs, Values: figures}})
	}
	return all, err
}

// Collection implements measure.Stored.
func (s stored) Collection(ctx context.Context, topology string, from, to time.Time) (*collection.Collection, error) {
	return collection.Read(ctx, httpapi.Instant(s.engine), topology, from, to)
}
