package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/stack"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// Local is the Launcher for a cluster on this machine. It starts the cluster with the first topology and keeps it for
// the following ones, because a start is slow. After a broken trial it restarts the cluster.
type Local struct {
	options  stack.Options
	log      *slog.Logger
	progress measure.Progress
	queries  int // the largest number of queries in flight

	running *stack.Stack // nil until the cluster's directory is locked
	started bool
	name    string // name of the running topology; "" if none runs
	gateway *load.Gateway
	drpc    *load.DRPC // nil if queries go through the gateway
	// hasten is closed if the end must be quick.
	hasten <-chan struct{}
}

// NewLocal returns a launcher that has started nothing.
func NewLocal(options stack.Options, mostQueries int, log *slog.Logger, progress measure.Progress,
	hasten <-chan struct{}) *Local {
	return &Local{options: options, log: log, progress: progress, queries: mostQueries, hasten: hasten}
}

// Launch implements Launcher. The first launch starts the cluster. The source of records is started after the
// topology, because it waits for the topology's first query spout.
func (l *Local) Launch(ctx context.Context, t runstore.PlannedTrial, name string) (*Launched, error) {
	if err := l.up(ctx); err != nil {
		return nil, err
	}
	launched, err := prepare(l.options.BulletConf, l.options.HTTPListen, measure.CollectorAccess{}, t)
	if err != nil {
		return nil, err
	}
	l.progress.Say("submitting topology %s", name)
	launched.Submitted = time.Now()
	l.name = name
	if err := l.running.SubmitAs(ctx, name, launched.Arguments.Settings); err != nil {
		return nil, err
	}
	if err := l.running.StartSource(ctx); err != nil {
		return nil, err
	}
	launched.Arguments.Settings = append(l.running.AllSettings(), launched.Arguments.Settings...)
	launched.Ports.Source, launched.Ports.Queries = l.gateway, l.gateway
	if l.drpc != nil {
		launched.Ports.Queries = l.drpc
	}
	launched.Ports.Processes = l.processes(ctx, l.running)
	launched.Failed, launched.Environment = l.running.Failed(), l.around()
	launched.CollectorRestarts = l.running.CollectorRestarts
	return launched, nil
}

// around returns the facts that a local launch knows about its topologies' surroundings.
func (l *Local) around() measure.Environment {
	a := measure.Environment{Endpoint: tuning.EndpointGateway, EndpointCapacity: gatewayQueries}
	if threads := l.options.DRPCThreads; threads > 0 {
		a.Endpoint, a.EndpointCapacity = tuning.EndpointDRPC, threads-drpcOwnThreads
	}
	if k := l.options.Kafka; k != nil {
		a.Partitions = k.Partitions
	}
	return a
}

// Enter locks the cluster's directory, ends what a killed run left there, and checks that the ports are free. Launch
// calls it if nobody did before. An error wraps stack.ErrBusy if another run holds the directory.
func (l *Local) Enter(ctx context.Context) (err error) {
	if l.running != nil {
		return nil
	}
	if l.running, err = stack.Enter(ctx, l.options, l.log); err != nil {
		return err
	}
	if err := l.running.CheckPorts(); err != nil {
		return errors.Join(err, l.Stop(l.hasten))
	}
	return nil
}

// up starts the cluster if it is not running.
func (l *Local) up(ctx context.Context) error {
	if l.started {
		return l.sourceIsQuiet(ctx)
	}
	if err := l.Enter(ctx); err != nil {
		return err
	}
	s := l.running
	if err := s.StartCollector(ctx); err != nil {
		return err
	}
	l.progress.Say("live page: http://%s/", l.options.HTTPListen)
	l.progress.Say("starting the query gateway and a Storm cluster of %s; logs in %s",
		tuning.Counted(l.options.Workers, "worker"), filepath.Join(l.options.Dir, "logs"))
	if err := s.Start(ctx); err != nil {
		return err
	}
	l.gateway, l.started = load.NewGateway(l.options.GatewayListen, l.queries), true
	if l.options.DRPCThreads > 0 {
		l.drpc = load.NewDRPC(s.DRPC(), drpcFunction, l.queries)
	}
	return nil
}

// quietLimit is somewhat longer than the gateway remembers the last report of a source.
const quietLimit = 15 * time.Second

// sourceIsQuiet waits until the gateway has forgotten the record source of the previous topology. Otherwise the last
// report of that source would be taken for the first report of the next one.
func (l *Local) sourceIsQuiet(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, quietLimit,
		fmt.Errorf("the record source of the previous topology still reports after %s", quietLimit))
	defer cancel()
	return poll.Until(ctx, 500*time.Millisecond, func() bool {
		status, err := l.gateway.Status(ctx)
		if err == nil && status.Reporting == 0 {
			return true
		}
		l.progress.Show("waiting until the source of the previous topology no longer reports")
		return false
	})
}

// processes returns a function that maps names to process ids: the stack's processes, the workers and the load client,
// which is this program. The workers are listed once, at the first call, because that takes seconds. If listing them
// fails, their shares are missing and the run goes on.
func (l *Local) processes(ctx context.Context, s *stack.Stack) func() map[string]int {
	workers := sync.OnceValue(func() []stack.Worker {
		workers, err := s.Workers(ctx)
		if err != nil {
			l.progress.Say("cannot list the workers, so their shares of the host will be missing: %v", err)
		}
		return workers
	})
	return func() map[string]int {
		pids := s.Pids()
		pids[measure.ClientProcess] = os.Getpid()
		for _, w := range workers() {
			pids[fmt.Sprintf("worker at port %d", w.Port)] = w.Pid
		}
		return pids
	}
}

// End implements Launcher. If the topology cannot be killed, or the trial broke, the whole cluster is stopped, and the
// next launch starts a new one.
func (l *Local) End(ctx context.Context, logs string, broken bool) error {
	if l.running == nil {
		return nil
	}
	var problem error
	if l.name != "" && !broken {
		if problem = l.running.Kill(ctx, l.name); problem == nil {
			l.keepLogs(logs)
			l.name = ""
			return nil
		}
	}
	l.keepLogs(logs)
	if err := l.Stop(l.hasten); err != nil {
		return fmt.Errorf("%w; the cluster could not be stopped either: %w", problem, err)
	}
	return problem
}

// Stop implements Launcher. It may be called twice; a later launch starts everything again.
func (l *Local) Stop(hasten <-chan struct{}) error {
	if l.running == nil {
		return nil
	}
	if l.gateway != nil {
		l.gateway.Close()
	}
	if l.drpc != nil {
		l.drpc.Close()
	}
	err := l.running.Stop(hasten)
	l.running, l.started, l.gateway, l.drpc, l.name = nil, false, nil, nil, ""
	return err
}

// gatewayQueries is the gateway's default limit of concurrent queries.
const gatewayQueries = 2000

// drpcFunction is the topology's default DRPC function. drpcOwnThreads is the number of threads of the DRPC server's
// HTTP port that cannot run calls: Jetty's acceptor and its selector.
const (
	drpcFunction   = "bullet-query"
	drpcOwnThreads = 2
)

// maxLogBytes bounds the end of each log that is kept with a trial.
const maxLogBytes = 256 << 10

// keepLogs copies the ends of the logs to a trial's directory: those of the stack and those of the topology's workers.
func (l *Local) keepLogs(dir string) {
	patterns := []string{filepath.Join(l.options.Dir, "logs", "*.log")}
	if l.name != "" {
		patterns = append(patterns, filepath.Join(l.options.Dir, "storm", "logs", "workers-artifacts", l.name+"-*", "*",
			"worker.log*"))
	}
	for _, pattern := range patterns {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			name := filepath.Base(file)
			if strings.Contains(file, "workers-artifacts") {
				name = "worker-" + filepath.Base(filepath.Dir(file)) + strings.TrimPrefix(name, "worker")
			}
			if err := copyTail(file, filepath.Join(dir, name)); err != nil {
				l.progress.Say("cannot store a log: %v", err)
			}
		}
	}
}

// copyTail copies the last maxLogBytes of a log, or the whole log if it is shorter.
func copyTail(from, to string) error {
	text, err := stack.Tail(from, maxLogBytes)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
