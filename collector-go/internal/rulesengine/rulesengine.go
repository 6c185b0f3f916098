package rulesengine

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/notifier"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/query"
)

// Evaluator evaluates rules on the clock and notifies Alertmanagers.
type Evaluator struct {
	options  Options
	names    []string // of the files
	rules    *rules.Manager
	notifier *notifier.Manager
	targets  map[string][]*targetgroup.Group
	logger   *slog.Logger
}

// New returns an evaluator that asks engine and keeps what rules give in results; engine must see the results too, so
// that rules can build on recorded series. It starts nothing. An error names the file and line of every rule that
// cannot be.
func New(engine *query.Engine, results *Results, options Options) (*Evaluator, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	e := &Evaluator{options: options, logger: quieted(options.Logger)}
	for _, f := range options.Files {
		e.names = append(e.names, f.Name)
	}
	files := newLoader(options.Files, engine.Parser(), e.logger)
	if err := files.check(e.names); err != nil {
		return nil, err
	}
	var err error
	if e.notifier, e.targets, err = newNotifier(options, e.logger); err != nil {
		return nil, err
	}
	e.rules = rules.NewManager(&rules.ManagerOptions{
		NameValidationScheme: model.UTF8Validation, Parser: engine.Parser(), GroupLoader: files,
		Appendable: results, Queryable: engine.Queryable(), QueryFunc: ask(engine),
		NotifyFunc:             rules.SendAlerts(e.notifier, strings.TrimSuffix(options.ExternalURL.String(), "/")),
		ExternalURL:            options.ExternalURL,
		DefaultRuleQueryOffset: func() time.Duration { return options.QueryOffset },
		OutageTolerance:        outageTolerance, ForGracePeriod: forGracePeriod, ResendDelay: options.ResendDelay,
		Registerer: options.Registerer, Logger: e.logger,
	})
	return e, nil
}

// For how long a collector may be away for its alerts to be remembered, as Prometheus has it; and how long an alert is
// pending at least after a restart, which is no time. Prometheus has 10 minutes, and forgets since when alerts with a
// shorter "for" were pending: an alert that fired, with a "for" of 5 minutes, would come again only after Alertmanager,
// which receives nothing for 4, has reported that it ended.
const (
	outageTolerance = time.Hour
	forGracePeriod  = 0
)

// ask lets a rule ask the engine.
func ask(engine *query.Engine) rules.QueryFunc {
	return func(ctx context.Context, expression string, at time.Time) (promql.Vector, error) {
		asked, err := engine.Instant(ctx, nil, expression, at)
		if err != nil {
			return nil, err
		}
		defer asked.Close()
		result := asked.Exec(ctx)
		if result.Err != nil {
			return nil, result.Err
		}
		switch v := result.Value.(type) {
		case promql.Vector:
			return v, nil
		case promql.Scalar:
			return promql.Vector{{T: v.T, F: v.V, Metric: labels.EmptyLabels()}}, nil
		}
		return nil, fmt.Errorf("a rule's expression gives a %s; it must give an instant vector or a scalar",
			result.Value.Type())
	}
}

// Run evaluates the rules until ctx is done; then no rule runs any more, and alerts that wait have been sent or given
// up within Options.SendTimeout. It calls restored once the alerts that were active when the last collector ended are
// active again (those for which it is still so), which takes one evaluation of every rule and waits for no interval. It
// runs once.
func (e *Evaluator) Run(ctx context.Context, restored func()) error {
	if err := e.rules.Update(e.options.Interval, e.names, labels.EmptyLabels(), e.options.ExternalURL.String(),
		nil); err != nil {
		return fmt.Errorf("alerting: %w", err) // New has checked the files
	}
	targets := make(chan map[string][]*targetgroup.Group, 1)
	targets <- e.targets
	sent, evaluated := make(chan struct{}), make(chan struct{})
	go func() { defer close(sent); e.notifier.Run(targets) }()
	e.awaitAlertmanagers(ctx)
	e.restore(ctx)
	restored()
	go func() { defer close(evaluated); e.rules.Run() }()
	<-ctx.Done()
	e.rules.Stop()
	<-evaluated
	e.notifier.Stop()
	<-sent
	return nil
}

// RuleGroups are all groups, by file and name.
func (e *Evaluator) RuleGroups() []*rules.Group { return e.rules.RuleGroups() }

// AlertingRules are the alerting rules of all groups.
func (e *Evaluator) AlertingRules() []*rules.AlertingRule { return e.rules.AlertingRules() }

// Alertmanagers are those that are called, with the path that takes alerts.
func (e *Evaluator) Alertmanagers() []*url.URL { return e.notifier.Alertmanagers() }
