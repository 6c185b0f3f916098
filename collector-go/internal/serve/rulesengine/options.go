// Package rulesengine evaluates recording and alerting rules over the collector's slices, stores their results, and
// notifies Alertmanagers. Evaluation and notification are Prometheus' own packages (rules and notifier). This package
// decides what they read and where results are stored. It also ensures that only hosts in the configuration are
// called.
//
// Results are stored separately from the slices (results.go), because they may be lost and must never prevent a start.
// The package must not know which alerts exist. Start with Evaluator in rulesengine.go.
package rulesengine

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	commonconfig "github.com/prometheus/common/config"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// File is a rule file in Prometheus' format.
type File struct {
	// Name is the file's name in the API: its path, or the name of a built-in file.
	Name string
	Text []byte
}

// Options are the evaluator's settings. DefaultOptions sets the default values.
type Options struct {
	// Dir is the directory for the results of rules: recorded series and the states of alerts.
	Dir string
	// Files are the rule files with their complete text.
	Files []File
	// Interval is the evaluation interval of groups that set none. The default is 10 s.
	Interval time.Duration
	// QueryOffset is how far in the past groups are evaluated, if they do not set an offset. After that time, slices
	// of a source that is on time are complete. The value must be the journal's tick plus the slice width plus the
	// lateness.
	QueryOffset time.Duration
	// Retention is how long results are kept. The default is 15 days.
	Retention time.Duration
	// Alertmanagers are the base URLs of the Alertmanagers (http or https, with the path prefix). Each receives every
	// alert that fires or is resolved.
	Alertmanagers []*url.URL
	// Client has TLS settings and credentials for Alertmanagers. Redirects are never followed.
	Client commonconfig.HTTPClientConfig
	// SendTimeout bounds one request to an Alertmanager. The default is 10 s, as in Prometheus.
	SendTimeout time.Duration
	// QueueCapacity is the maximum number of alerts that wait for each Alertmanager. If the queue is full, the oldest
	// alerts are dropped and counted. The default is 10,000, as in Prometheus.
	QueueCapacity int
	// ResendDelay is the shortest time between two notifications of one alert. The default is 1 min, as in Prometheus.
	ResendDelay time.Duration
	// ExternalURL is the URL of this collector for the receiver of an alert.
	ExternalURL *url.URL

	Registerer prometheus.Registerer // nil: no metrics
	Logger     *slog.Logger          // nil: no log
}

// DefaultOptions returns the default settings, with the results in dir.
func DefaultOptions(dir string) Options {
	return Options{
		Dir: dir, Interval: 10 * time.Second, Retention: 15 * 24 * time.Hour, SendTimeout: 10 * time.Second,
		QueueCapacity: 10_000, ResendDelay: time.Minute, ExternalURL: &url.URL{Scheme: "http", Host: "127.0.0.1:9320"},
		Client: commonconfig.DefaultHTTPClientConfig,
	}
}

// Validate returns an error that names the invalid setting.
func (o Options) Validate() error {
	switch {
	case o.Dir == "":
		return errors.New("alerting: missing directory for rule results")
	case o.Interval < time.Second:
		return fmt.Errorf("alerting: interval %s is below 1s", o.Interval)
	case o.QueryOffset < 0 || o.Retention <= 0 || o.SendTimeout <= 0 || o.ResendDelay < 0:
		return errors.New("alerting: times must be positive")
	case o.QueueCapacity < 1:
		return errors.New("alerting: the capacity of the queue must be at least 1")
	case o.ExternalURL == nil:
		return errors.New("alerting: missing external URL of the collector")
	}
	for _, u := range o.Alertmanagers {
		if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.User != nil {
			return fmt.Errorf("alerting: %q is not a URL of an Alertmanager; use for example http://127.0.0.1:9093", u.Redacted())
		}
	}
	return nil
}

// ReadFiles reads the rule files that match the patterns, and returns all errors.
func ReadFiles(patterns []string) (all []File, err error) {
	paths, err := Paths(patterns)
	if err != nil {
		err = fmt.Errorf("rules.files: %w", err)
	}
	for _, path := range paths {
		text, bad := textfile.Read(path, textfile.Most)
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("rules.files: %w", bad))
			continue
		}
		all = append(all, File{Name: path, Text: text})
	}
	return all, err
}

// Paths returns the rule files that match the patterns, in the order of the patterns. A pattern without a match is an
// error, because a missing rule file means alerts that never fire.
func Paths(patterns []string) (all []string, err error) {
	for _, pattern := range patterns {
		found, bad := filepath.Glob(pattern)
		if bad == nil && len(found) == 0 {
			bad = errors.New("no such file")
		}
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("rule files %q: %w", pattern, bad))
		}
		all = append(all, found...)
	}
	return all, err
}
