package runner

import (
	"context"
	"fmt"
	"io"
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
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// Local is the Launcher for a cluster on this machine. It starts the cluster with the first topology and keeps it for
// the following ones, since a start is slow. After a broken trial it starts the cluster again.
type Local struct {
	options  stack.Options
	log      *slog.Logger
	progress measure.Progress
	queries  int // how many at most are under way

	running *stack.Stack // nil while the cluster's directory is not taken
	started bool
	name    string // of the topology that runs; "" for none
	gateway *load.Gateway
	drpc    *load.DRPC // nil where queries go through the gateway
	// hasten is closed when the end is to be quick.
	hasten <-chan struct{}
}

// NewLocal returns a launcher that has started nothing.
func NewLocal(options stack.Options, mostQueries int, log *slog.Logger, progress measure.Progress,
	hasten <-chan struct{}) *Local {
	return &Local{options: options, log: log, progress: progress, queries: mostQueries, hasten: hasten}
}

// Launch implements Launcher. The cluster is brought up with the first launch. The source of records is started after
// the topology, because it waits for the topology's first query spout.
func (l *Local) Launch(ctx context.Context, t runstore.PlannedTrial, name string) (*Launched, error) {
	if err := l.up(ctx); err != nil {
		return nil, err
	}
	conf, err := textfile.Read(l.options.BulletConf, textfile.Most)
	if err != nil {
		return nil, err
	}
	var settings []string
	for _, e := range t.Settings {
		settings = append(settings, e.Key+"="+e.Value)
	}
	collector, err := measure.NewCollector(l.options.HTTPListen)
	if err != nil {
		return nil, err
	}
	machine, err := measure.NewProc()
	if err != nil {
		return nil, err
	}
	l.progress.Say("submitting topology %s", name)
	submitted := time.Now()
	l.name = name
	if err := l.running.SubmitAs(ctx, name, settings); err != nil {
		return nil, err
	}
	if err := l.running.StartSource(ctx); err != nil {
		return nil, err
	}
	ports := measure.SessionPorts{Calculator: collector, Facts: collector}
	ports.Source, ports.Queries, ports.Slices, ports.Annotations, ports.Machine = l.gateway, l.gateway, collector,
		collector, machine
	if l.drpc != nil {
		ports.Queries = l.drpc
	}
	ports.Processes = l.processes(ctx, l.running)
	return &Launched{
		Submitted: submitted, Ports: ports, Failed: l.running.Failed(), Settings: conf,
		Arguments:   runstore.Arguments{Settings: append(l.running.AllSettings(), settings...)},
		Environment: l.around(), CollectorRestarts: l.running.CollectorRestarts,
	}, nil
}

// around is what a local launch knows of what is around its topologies.
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

// Enter takes the cluster's directory, and ends what a killed run left there; a launch does so where nobody did. An
// error wraps stack.ErrBusy where another run holds it.
func (l *Local) Enter(ctx context.Context) (err error) {
	if l.running == nil {
		l.running, err = stack.Enter(ctx, l.options, l.log)
	}
	return err
}

// up brings the cluster up unless it is.
func (l *Local) up(ctx context.Context) error {
	if l.started {
		return l.sourceIsQuiet(ctx)
	}
	if err := l.Enter(ctx); err != nil {
		return err
	}
	s := l.running
	l.progress.Say("starting the collector, the query gateway and a Storm cluster of %s; logs in %s",
		tuning.Counted(l.options.Workers, "worker"), filepath.Join(l.options.Dir, "logs"))
	if err := s.Start(ctx); err != nil {
		return err
	}
	l.gateway, l.started = load.NewGateway(l.options.GatewayListen, l.queries), true
	if l.options.DRPCThreads > 0 {
		l.drpc = load.NewDRPC(s.DRPC(), drpcFunction, l.queries, load.PlainBQL)
	}
	l.progress.Say("all are up; live figures at http://%s/", l.options.HTTPListen)
	return nil
}

// quietLimit is how long the gateway remembers what a source said, and some.
const quietLimit = 15 * time.Second

// sourceIsQuiet waits until the gateway has forgotten the record source of the previous topology. Its last report would
// otherwise be taken for the first report of the next one.
func (l *Local) sourceIsQuiet(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, quietLimit,
		fmt.Errorf("the record source of the topology before still reports after %s", quietLimit))
	defer cancel()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		status, err := l.gateway.Status(ctx)
		if err == nil && status.Reporting == 0 {
			return nil
		}
		l.progress.Show("waiting for the last topology's source to be quiet")
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// processes names the stack's processes, the workers and the load client, which is this program. The workers are listed
// once, when they are first asked for, because the launcher takes seconds to list them. If that fails, their shares are
// missing and the run goes on.
func (l *Local) processes(ctx context.Context, s *stack.Stack) func() map[string]int {
	workers := sync.OnceValue(func() []stack.Worker {
		workers, err := s.Workers(ctx)
		if err != nil {
			l.progress.Say("the workers' shares of the host will be missing: %v", err)
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
		return fmt.Errorf("%w; and the cluster did not stop: %w", problem, err)
	}
	return problem
}

// Stop implements Launcher. It may be called twice; afterwards a launch brings everything up again.
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

// gatewayQueries is how many queries the gateway holds at the same time, by its default.
const gatewayQueries = 2000

// drpcFunction is what the topology answers unless it is set otherwise, and drpcOwnThreads how many threads the DRPC
// server's HTTP port keeps from calls: Jetty's acceptor and its selector.
const (
	drpcFunction   = "bullet-query"
	drpcOwnThreads = 2
)

// maxLogBytes is how much of the end of each log is kept with a trial.
const maxLogBytes = 256 << 10

// keepLogs copies the ends of the logs to a trial: those of the stack, and those of the topology's workers.
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
				l.progress.Say("a log was not kept: %v", err)
			}
		}
	}
}

// copyTail copies the last maxLogBytes of a log, or all of a shorter one.
func copyTail(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err := in.Stat(); err == nil && info.Size() > maxLogBytes {
		_, _ = in.Seek(-maxLogBytes, io.SeekEnd)
	}
	text, err := io.ReadAll(io.LimitReader(in, maxLogBytes))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
