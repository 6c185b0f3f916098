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

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
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

	// mu is held while the manager loads rules, because it can load only one set at a time. It is also held from the
	// first load until the groups run. A reload before that would wait forever for a group that does not run yet to
	// stop.
	mu      sync.Mutex
	names   []string // file names
	files   *loader  // the files that the manager loads
	started bool     // whether the manager has loaded the files
}

// New returns an evaluator that queries engine and stores results of rules in results. The engine must read the
// results too, so that rules can use recorded series. New starts nothing. The error names the file and line of every
// invalid rule.
func New(engine *query.Engine, results *Results, options Options) (_ *Evaluator, err error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	e := &Evaluator{options: options, logger: quieted(options.Logger), parser: engine.Parser()}
	e.files = newLoader(options.Files, e.parser, e.logger)
	if e.names, err = e.files.check(options.Files); err != nil {
		return nil, err
	}
	if e.notifier, e.targets, err = newNotifier(options, e.logger); err != nil {
		return nil, err
	}
	e.rules = rules.NewManager(&rules.ManagerOptions{
		NameValidationScheme: model.UTF8Validation, Parser: e.parser, GroupLoader: e.files, Appendable: results,
		Queryable: engine.Queryable(), QueryFunc: ask(engine),
		NotifyFunc:  rules.SendAlerts(e.notifier, strings.TrimSuffix(options.ExternalURL.String(), "/")),
		ExternalURL: options.ExternalURL, DefaultRuleQueryOffset: func() time.Duration { return options.QueryOffset },
		OutageTolerance: outageTolerance, ForGracePeriod: forGracePeriod, ResendDelay: options.ResendDelay,
		Registerer: options.Registerer, Logger: e.logger,
	})
	return e, nil
}

// outageTolerance is how long a collector may be down without losing the state of its alerts, as in Prometheus.
//
// forGracePeriod is the minimum pending time of an alert after a restart. Prometheus uses 10 minutes, and does not
// restore alerts with a shorter "for". A firing alert with a "for" of 5 minutes would then fire again only after
// Alertmanager, which receives nothing for 4 minutes, has reported its end.
const (
	outageTolerance = time.Hour
	forGracePeriod  = 0
)

// ask returns a function with which rules query the engine.
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
		return nil, fmt.Errorf("the expression returns a %s; it must return an instant vector or a scalar",
			result.Value.Type())
	}
}

// Run evaluates the rules until ctx is done. When it returns, no rule runs, and every waiting alert was sent or
// dropped within Options.SendTimeout.
//
// Run calls restored when the alerts that were active at the end of the last collector, and still are, are active
// again. This takes one evaluation of every rule and does not wait for an interval. Run can be called only once.
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

// start loads the rules, restores the alerts and starts the groups. Reload waits for it.
func (e *Evaluator) start(ctx context.Context, sent, evaluated chan struct{}, restored func()) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.load(); err != nil {
		return err // unlikely, because New has checked the files
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

// EvaluateAt evaluates every rule as of a time, in place of Run. Data that were recorded earlier are judged with it, at
// increasing times. It notifies no Alertmanager, and must be called from one goroutine.
func (e *Evaluator) EvaluateAt(ctx context.Context, at time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := !e.started
	if first {
		if err := e.load(); err != nil {
			return err
		}
		e.started = true
	}
	for _, group := range e.rules.RuleGroups() {
		group.Eval(ctx, at)
		if first {
			group.RestoreForState(at) // before it, a group does not store its alerts
		}
	}
	return nil
}

// Reload replaces all rules by those of files. If a file is invalid, the error names its line, and the old rules stay
// in force. A rule with the same file, group, name and labels as before keeps its alerts and their start times. Reload
// waits for a start in progress, and is safe for concurrent use.
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
		return nil // start will load them
	}
	return e.load()
}

// load makes the manager load the files. If they are invalid, the manager keeps its rules.
func (e *Evaluator) load() error {
	if err := e.rules.Update(e.options.Interval, e.names, labels.EmptyLabels(), e.options.ExternalURL.String(),
		nil); err != nil {
		return fmt.Errorf("alerting: %w", err)
	}
	return nil
}

// RuleGroups returns all groups, sorted by file and name.
func (e *Evaluator) RuleGroups() []*rules.Group { return e.rules.RuleGroups() }

// AlertingRules returns the alerting rules of all groups.
func (e *Evaluator) AlertingRules() []*rules.AlertingRule { return e.rules.AlertingRules() }

// Alertmanagers returns the URLs to which alerts are sent.
func (e *Evaluator) Alertmanagers() []*url.URL { return e.notifier.Alertmanagers() }

// restore evaluates every group immediately and restores since when its alerts have been active. Prometheus restores
// only after two intervals, during which nobody would be notified of an alert. RestoreForState marks the group, so
// that it is not restored a second time.
//
// The groups do not run yet (they wait for the manager's Run), so nothing else evaluates them. The evaluation
// times lie between two regular evaluations, so that results that the last collector recorded are not overwritten.
func (e *Evaluator) restore(ctx context.Context) {
	for _, group := range e.rules.RuleGroups() {
		now := time.Now().Truncate(time.Millisecond)
		group.Eval(ctx, now)
		// The states were stored with the query offset applied. The duration of the outage counts from there.
		group.RestoreForState(now.Add(-group.QueryOffset()))
		group.Eval(ctx, now.Add(time.Millisecond)) // alerts that were firing fire again
	}
}

// awaitAlertmanagers waits until the notifier knows its Alertmanagers, because it drops alerts that it receives
// before.
func (e *Evaluator) awaitAlertmanagers(ctx context.Context) {
	_ = poll.Until(ctx, time.Millisecond, func() bool { return len(e.notifier.Alertmanagers()) >= len(e.targets) })
}

// quiet drops log records below warnings. The libraries log their starts and stops, which are of no use to an
// operator.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.Handler.WithGroup(name)} }

// quieted returns a logger for a library. If logger is nil, it discards everything.
func quieted(logger *slog.Logger) *slog.Logger {
	if logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(quiet{logger.Handler()})
}
