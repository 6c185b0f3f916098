// Package stack runs everything that a local measurement needs on this machine: the collector, a Storm cluster, the
// query gateway, optionally a Kafka broker with a record producer, and a Bullet topology.
//
// The package owns these processes from start to end. Each runs in a process group of its own with its output in a log
// file, and is recorded in the run's directory. A killed run cannot clean up, so the next run in the same directory
// ends what it left. The package must know no metric and no query.
//
// Start reading at Enter, Start and Stop in this file. options.go holds the command lines, process.go one child
// process, workplace.go the lock and the record of processes.
package stack

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
)

// Limits for a part to become ready or to stop. They only end parts that hang, so they allow for a slow or busy
// machine.
const (
	collectorReadyLimit = 180 * time.Second // opening a store replays its journal
	clusterReadyLimit   = 300 * time.Second // the launcher promises 270 s
	gatewayReadyLimit   = 180 * time.Second
	submitLimit         = 300 * time.Second
	commandLimit        = 180 * time.Second // the launcher takes up to 120 s to kill a topology

	clusterStopGrace   = 25 * time.Second // the launcher promises 20 s
	gatewayStopGrace   = 8 * time.Second  // it answers pending queries
	collectorStopGrace = 20 * time.Second // it drains
)

// maxCollectorRestarts bounds the restarts of a dead collector, because one that cannot run would be restarted
// forever.
const maxCollectorRestarts = 10

// Stack is the set of running processes. Start, Submit and Stop must be called from one goroutine; the other methods
// are safe for concurrent use. A goroutine for each process waits for its end. The collector is restarted when it
// dies, because it recovers from its journal. The death of any other part is fatal to the run and reported through
// Failed.
type Stack struct {
	options Options
	log     *slog.Logger
	place   *workplace

	cluster *Process
	gateway *Process
	kafka   *Process // the broker's launcher; nil if this stack starts no broker
	failed  chan error

	mu        sync.Mutex
	collector *Process
	producer  *Process // of the running topology; nil if there is none
	broker    int      // pid of the started broker; 0 if there is none
	restarts  int
	daemons   map[string]int
	nimbus    string // "host:port"
	drpc      string // "host:port" of the DRPC server's HTTP port
	stopping  bool
	watchers  sync.WaitGroup
}

// Enter locks the run's directory, and ends the processes that an earlier run left there. It starts nothing. It returns
// ErrBusy if another run holds the directory; two stacks would compete for ports and CPU.
func Enter(ctx context.Context, options Options, log *slog.Logger) (*Stack, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	place, err := enter(options.Dir)
	if err != nil {
		return nil, err
	}
	s := &Stack{options: options, log: log, place: place, failed: make(chan error, 1), daemons: map[string]int{}}
	if err := s.endLeftovers(ctx); err != nil {
		place.leave()
		return nil, err
	}
	return s, nil
}

// endLeftovers ends the recorded processes of an earlier run. If there were any, it also calls the launchers' own
// commands to end what these processes had started.
func (s *Stack) endLeftovers(ctx context.Context) error {
	names, err := s.place.endLeftovers()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return nil
	}
	s.log.Info("ended processes of an earlier run", "processes", names)
	return errors.Join(s.down(ctx), s.kafkaDown(ctx))
}

// CheckPorts returns an error if another process listens on a port of the stack. It names the flag that selects another
// port.
func (s *Stack) CheckPorts() error { return s.options.checkPorts() }

// StartCollector starts the collector with its page, and returns when both are ready. It removes the logs of an earlier
// run. The caller must call Stop even after an error.
func (s *Stack) StartCollector(ctx context.Context) error {
	if err := s.CheckPorts(); err != nil {
		return err
	}
	if err := os.RemoveAll(s.logDir()); err != nil {
		return err
	}
	return s.startCollector(ctx)
}

// Start starts all parts and returns when each has reported that it is ready. The caller must call Stop even after an
// error, because some parts may already run.
func (s *Stack) Start(ctx context.Context) (err error) {
	if s.Pids()["collector"] == 0 {
		if err := s.StartCollector(ctx); err != nil {
			return err
		}
	}
	if s.cluster, err = s.launch(s.clusterCommand()); err != nil {
		return err
	}
	if s.gateway, err = s.launch(s.gatewayCommand()); err != nil {
		return err
	}
	if err := s.startKafka(ctx); err != nil {
		return err
	}
	if err := s.awaitCluster(ctx); err != nil {
		return err
	}
	if err := s.gateway.awaitReady(ctx, gatewayReadyLimit, &struct{}{}); err != nil {
		return err
	}
	s.watch(s.cluster)
	s.watch(s.gateway)
	return nil
}

// launch starts a process and records it at once. A process that cannot be recorded is killed, because no later run
// could find and end it.
func (s *Stack) launch(c command) (*Process, error) {
	p, err := c.start()
	if err != nil {
		return nil, err
	}
	err = s.place.note(c.name, p.Pid())
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		<-p.done // it ended before it could be recorded; its waiters notice that
		return p, nil
	}
	if err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// watch reports the death of a process that the run cannot continue without.
func (s *Stack) watch(p *Process) {
	s.watchers.Go(func() {
		<-p.done
		if !current(s, &s.stopping) {
			s.fail(p.obituary())
		}
	})
}

// fail reports an error through Failed. It never blocks: the channel holds one error, and later ones are dropped.
func (s *Stack) fail(err error) {
	select {
	case s.failed <- err:
	default: // only the first failure is reported
	}
}

// Failed returns the channel that receives the error of the first part that died and could not be restarted.
func (s *Stack) Failed() <-chan error { return s.failed }

// current reads a field that changes while the stack runs.
func current[T any](s *Stack, field *T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *field
}

// replace sets a field that changes while the stack runs, and returns its value before.
func replace[T any](s *Stack, field *T, with T) (before T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, *field = *field, with
	return before
}

// Pids returns the processes of the stack by name, without the topology's workers.
func (s *Stack) Pids() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	pids := map[string]int{}
	maps.Copy(pids, s.daemons)
	if s.collector != nil {
		pids["collector"] = s.collector.Pid()
	}
	if s.gateway != nil {
		pids["query gateway"] = s.gateway.Pid()
	}
	if s.broker != 0 {
		pids["Kafka broker"] = s.broker
	}
	if s.producer != nil {
		pids["record producer"] = s.producer.Pid()
	}
	return pids
}

// AllSettings returns the settings that override the Bullet YAML, including the address of a started broker.
func (s *Stack) AllSettings() []string { return s.options.AllSettings() }

// Stop ends the record producer, the cluster with its topology, the gateway, the broker and the collector, in this
// order, and unlocks the directory. The collector ends last, so that it still runs while the processes that send to it
// end. Stop takes bounded time; closing hasten shortens it to the time for killing. Nothing runs afterwards unless
// Stop returns an error.
func (s *Stack) Stop(hasten <-chan struct{}) error {
	defer s.place.leave()
	replace(s, &s.stopping, true) // from here on, supervise starts no other collector
	collector := current(s, &s.collector)
	var problem error
	s.stopSource(hasten)
	if s.cluster != nil && (!s.cluster.stop(clusterStopGrace, hasten) || s.cluster.err != nil) {
		problem = s.down(context.Background()) // workers may have outlived a launcher that was killed or failed
	}
	if s.gateway != nil {
		s.gateway.stop(gatewayStopGrace, hasten)
	}
	if s.kafka != nil && (!s.kafka.stop(kafkaStopGrace, hasten) || s.kafka.err != nil) {
		problem = errors.Join(problem, s.kafkaDown(context.Background()))
	}
	if collector != nil && !collector.stop(collectorStopGrace, hasten) {
		s.log.Warn("killed the collector; it recovers from its journal at the next start")
	}
	s.watchers.Wait()
	return problem
}

func (s *Stack) logDir() string { return filepath.Join(s.options.Dir, "logs") }

// logPath returns the path of a part's log.
func (s *Stack) logPath(name string) string { return filepath.Join(s.logDir(), name+".log") }

// asking is the HTTP client for the readiness checks of our own processes.
var asking = httpclient.Plain(httpclient.Options{Timeout: 10 * time.Second})

// respondsOK sends one request and reports whether the answer is 200.
func respondsOK(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := asking.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}
