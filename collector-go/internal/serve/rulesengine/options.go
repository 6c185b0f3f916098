// Package rulesengine evaluates recording and alerting rules over the collector's slices, stores their results, and
// notifies Alertmanagers. Evaluation and notification are Prometheus' own packages (rules and notifier). This package
// decides what they read, where results are stored, and that only the configuration determines which hosts are called.
//
// Results are stored apart from the slices (results.go), because they may be lost and must never prevent a start. The
// package must not know which alerts exist. Start with Evaluator in rulesengine.go.
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
)

// File is a rule file in Prometheus' format.
type File struct {
	// Name is what the API calls the file: its path, or the name of one that is built in.
	Name string
	Text []byte
}

// Options are the evaluator's settings. DefaultOptions gives the bounds their values.
type Options struct {
	// Dir is the directory of what rules give: recorded series and alerts' states.
	Dir string
	// Files are the rules, each file whole.
	Files []File
	// Interval is how often groups are evaluated that do not say it themselves. 15 s by default.
	Interval time.Duration
	// QueryOffset is how far behind the clock groups are evaluated that do not say it themselves: by then the slices of
	// a source that is on time are closed. It is the journal's tick, a slice's width and its lateness.
	QueryOffset time.Duration
	// Retention is how long results are kept. 15 days by default.
	Retention time.Duration
	// Alertmanagers are called with every alert that fires or is resolved: http or https, the path that the
	// Alertmanager is served under.
	Alertmanagers []*url.URL
	// Client is how Alertmanagers are called: TLS, credentials. Redirects are never followed.
	Client commonconfig.HTTPClientConfig
	// SendTimeout bounds one call of an Alertmanager. 10 s by default, as Prometheus has it.
	SendTimeout time.Duration
	// QueueCapacity is how many alerts wait for each Alertmanager; the oldest go beyond it, and are counted. 10,000 by
	// default, as Prometheus has it.
	QueueCapacity int
	// ResendDelay is the shortest time between two notifications of one alert. 1 min by default, as Prometheus has it.
	ResendDelay time.Duration
	// ExternalURL is where an alert's reader finds this collector.
	ExternalURL *url.URL

	Registerer prometheus.Registerer // nil: no figures
	Logger     *slog.Logger          // nil: silent
}

// DefaultOptions are the bounds described at Options, with the results in dir.
func DefaultOptions(dir string) Options {
	return Options{
		Dir: dir, Interval: 15 * time.Second, Retention: 15 * 24 * time.Hour, SendTimeout: 10 * time.Second,
		QueueCapacity: 10_000, ResendDelay: time.Minute, ExternalURL: &url.URL{Scheme: "http", Host: "127.0.0.1:9320"},
		Client: commonconfig.DefaultHTTPClientConfig,
	}
}

// Validate returns an error that names the invalid setting.
func (o Options) Validate() error {
	switch {
	case o.Dir == "":
		return errors.New("alerting: a directory for the rules' results is required")
	case o.Interval < time.Second:
		return fmt.Errorf("alerting: interval %s is below 1s", o.Interval)
	case o.QueryOffset < 0 || o.Retention <= 0 || o.SendTimeout <= 0 || o.ResendDelay < 0:
		return errors.New("alerting: times must be positive")
	case o.QueueCapacity < 1:
		return errors.New("alerting: the queue must hold at least one alert")
	case o.ExternalURL == nil:
		return errors.New("alerting: the collector's own URL is required")
	}
	for _, u := range o.Alertmanagers {
		if err := checkURL(u); err != nil {
			return err
		}
	}
	return nil
}

func checkURL(u *url.URL) error {
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return fmt.Errorf("alerting: %q is not the URL of an Alertmanager, such as http://127.0.0.1:9093", u.Redacted())
	}
	return nil
}

// Paths are the rule files that patterns name, in their order. A pattern that matches nothing is an error: a rule that
// is missed is an alert that never comes.
func Paths(patterns []string) (all []string, err error) {
	for _, pattern := range patterns {
		found, bad := filepath.Glob(pattern)
		if bad == nil && len(found) == 0 {
			bad = errors.New("there is no such file")
		}
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("rule files %q: %w", pattern, bad))
		}
		all = append(all, found...)
	}
	return all, err
}
