package rulesengine

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/notifier"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
)

// newNotifier returns Prometheus' own sender with the Alertmanagers of the options, and their addresses. The sender
// starts when its Run is called.
func newNotifier(o Options, logger *slog.Logger) (*notifier.Manager, map[string][]*targetgroup.Group, error) {
	client, err := httpclient.New(httpclient.Options{Access: &o.Client})
	if err != nil {
		return nil, nil, fmt.Errorf("alerting: prepare requests to Alertmanagers: %w", err)
	}
	n := notifier.NewManager(&notifier.Options{
		QueueCapacity: o.QueueCapacity, DrainOnShutdown: true, Registerer: o.Registerer,
		ExternalLabels: labels.EmptyLabels(),
		// replaces the library's own client, which follows redirects
		Do: func(ctx context.Context, _ *http.Client, request *http.Request) (*http.Response, error) {
			return client.Do(request.WithContext(ctx))
		},
	}, model.UTF8Validation, logger)
	c := &config.Config{AlertingConfig: config.AlertingConfig{}}
	targets := map[string][]*targetgroup.Group{}
	for i, u := range o.Alertmanagers {
		manager := config.DefaultAlertmanagerConfig
		manager.Scheme, manager.PathPrefix, manager.Timeout = u.Scheme, u.Path, model.Duration(o.SendTimeout)
		c.AlertingConfig.AlertmanagerConfigs = append(c.AlertingConfig.AlertmanagerConfigs, &manager)
		targets[fmt.Sprintf("config-%d", i)] = []*targetgroup.Group{{
			Targets: []model.LabelSet{{model.AddressLabel: model.LabelValue(hostPort(u))}},
		}}
	}
	if err := n.ApplyConfig(c); err != nil {
		return nil, nil, fmt.Errorf("alerting: Alertmanagers: %w", err)
	}
	return n, targets, nil
}

// hostPort returns a URL's host and port. If the URL has no port, it is the default port of the scheme.
func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "https" {
		return u.Host + ":443"
	}
	return u.Host + ":80"
}
