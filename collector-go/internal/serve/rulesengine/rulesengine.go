package rulesengine

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/notifier"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// Evaluator evaluates rules at regular times and notifies Alertmanagers. It wraps Prometheus' rule manager and
// notifier, each of which has its own goroutines.
type Evaluator struct {
	options  Options
	rules    *rules.Manager
	parser   parser.Parser
	notifier *notifier.Manager
	targets  map[string][]*targetgroup.Group
	logger   *slog.Logger

	// mu is held while the manager loads rules, since it takes one set at a time, and from the first load until the
	// groups run, since the manager would wait for a group that does not run yet to stop.
	mu      sync.Mutex
	names   []string // of the files
	files   *loader  // what the manager loads
	started bool     // the manager has loaded the files
}

// New returns an evaluator that asks engine and keeps what rules give in results; engine must see the results too, so
// that rules can build on recorded series. It starts nothing. An error names the file and line of every rule that
// cannot be.
func New(engine *query.Engine, results *Results, options Options) (*Evaluator, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	e := &Evaluator{options: options, logger: quieted(options.Logger), parser: engine.Parser()}
	e.files = newLoader(options.Files, e.parser, e.logger)
	var err error
	if e.names, err = e.files.check(options.Files); err != nil {
		return nil, err
	}
	if e.notifier, e.targets, err = newNotifier(options, e.logger); err != nil {
		return nil, err
	}
	e.rules = rules.NewManager(&rules.ManagerOptions{
		NameValidationScheme: model.UTF8Validation, Parser: e.parser, GroupLoader: e.files,
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
	sent, evaluated := make(chan struct{}), make(chan struct{})
	if err := e.start(ctx, sent, evaluated, restored); err != nil {
		return err
	}
	<-ctx.Done()
	e.rules.Stop()
	<-evaluated
	e.notifier.Stop()
	<-sent
	return nil
}

// start loads the rules, restores the alerts and lets the groups run. Reload waits meanwhile.
func (e *Evaluator) start(ctx context.Context, sent, evaluated chan struct{}, restored func()) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.load(); err != nil {
		return err // New has checked the files
	}
	e.started = true
	targets := make(chan map[string][]*targetgroup.Group, 1)
	targets <- e.targets
	go func() { defer close(sent); e.notifier.Run(targets) }()
	e.awaitAlertmanagers(ctx)
	e.restore(ctx)
	restored()
	go func() { defer close(evaluated); e.rules.Run() }()
	return nil
}

// Reload replaces the rules by those of files, all or none: where a file has a fault, the error names its line, and the
// rules of before go on. A rule that is in the same file and group as before, with the same name and labels, keeps its
// alerts and since when they are active. Reload waits for a start that is under way, and is safe for concurrent use.
func (e *Evaluator) Reload(files []File) error {
	fresh := newLoader(files, e.parser, e.logger)
	names, err := fresh.check(files)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.names, e.files.files = names, fresh.files
	if !e.started {
		return nil // the start loads them
	}
	return e.load()
}

// load has the manager take the files; it keeps what it has where they have a fault.
func (e *Evaluator) load() error {
	if err := e.rules.Update(e.options.Interval, e.names, labels.EmptyLabels(), e.options.ExternalURL.String(),
		nil); err != nil {
		return fmt.Errorf("alerting: %w", err)
	}
	return nil
}

// RuleGroups are all groups, by file and name.
func (e *Evaluator) RuleGroups() []*rules.Group { return e.rules.RuleGroups() }

// AlertingRules are the alerting rules of all groups.
func (e *Evaluator) AlertingRules() []*rules.AlertingRule { return e.rules.AlertingRules() }

// Alertmanagers are those that are called, with the path that takes alerts.
func (e *Evaluator) Alertmanagers() []*url.URL { return e.notifier.Alertmanagers() }
