package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
)

// up is the line that the local cluster prints when it is up, and again when one of its processes was started again.
type up struct {
	Pids map[string]int `json:"pids"`
	Host string         `json:"nimbus_host"`
	Port int            `json:"nimbus_thrift_port"`
	DRPC int            `json:"drpc_http_port"`
}

// awaitCluster waits for the launcher's ready line, and from then on follows the further lines that it prints.
func (s *Stack) awaitCluster(ctx context.Context) error {
	var ready up
	if err := s.cluster.awaitReady(ctx, clusterReadyLimit, &ready); err != nil {
		return err
	}
	s.know(ready)
	go s.follow(s.cluster)
	return nil
}

// know replaces what is known of the cluster's processes and addresses. A restarted Supervisor has another pid.
func (s *Stack) know(ready up) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.daemons, s.nimbus, s.drpc = ready.Pids, net.JoinHostPort(ready.Host, strconv.Itoa(ready.Port)),
		net.JoinHostPort(ready.Host, strconv.Itoa(ready.DRPC))
}

// follow keeps the processes of the cluster known, until it ends: a Supervisor that ended is started again.
func (s *Stack) follow(cluster *Process) {
	for {
		select {
		case line := <-cluster.ready:
			var again up
			if err := json.Unmarshal(line, &again); err != nil {
				s.log.Warn("the local cluster printed a line that is not understood", "line", string(line),
					"error", err)
				continue
			}
			s.log.Warn("a process of the local cluster ended and was started again; why is in its logs", "dir",
				s.options.clusterDir())
			s.know(again)
		case <-cluster.done:
			return
		}
	}
}

// Nimbus is the Thrift address of the cluster's Nimbus, "host:port"; "" until Start has returned.
func (s *Stack) Nimbus() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nimbus
}

// DRPC is the HTTP address of the cluster's DRPC server, "host:port"; of no meaning where Options ask for none, or
// before Start has returned.
func (s *Stack) DRPC() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drpc
}

// Submit submits the topology and returns when Nimbus has taken it.
func (s *Stack) Submit(ctx context.Context) error { return s.SubmitAs(ctx, s.options.Topology, nil) }

// SubmitAs submits the topology under another name, with more settings over the options' own, "key=value". The
// topologies of a stack run one after the other: Kill ends one before the next is submitted.
func (s *Stack) SubmitAs(ctx context.Context, name string, settings []string) error {
	p, err := s.launch(s.submitCommand(name, settings))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, submitLimit, fmt.Errorf("not done within %s", submitLimit))
	defer cancel()
	select {
	case <-p.done:
		if p.err != nil {
			return p.obituary()
		}
		return nil
	case <-ctx.Done():
		p.stop(commandLimit, ctx.Done())
		return fmt.Errorf("submit the topology: %w", context.Cause(ctx))
	}
}

// Kill ends a topology and its source, and returns when its workers have ended.
func (s *Stack) Kill(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	s.stopSource(ctx.Done())
	_, err := s.java(ctx, "end topology "+name, s.localStorm("kill", "--topology", name, "--wait-secs", "0"))
	return err
}

// Rebalance spreads a topology over another number of workers, and returns when Nimbus has taken it: the workers
// follow.
func (s *Stack) Rebalance(ctx context.Context, name string, workers int) error {
	_, err := s.java(ctx, "rebalance topology "+name, s.localStorm("rebalance", "--topology", name, "--workers",
		strconv.Itoa(workers)))
	return err
}

// java runs a launcher's command, within its limit, and returns what it printed; what states what it is to do. Standard
// error becomes part of the error, since it is all that a launcher says about a failure.
func (s *Stack) java(ctx context.Context, what string, args []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.options.Java, args...).Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && len(exit.Stderr) > 0:
		return nil, fmt.Errorf("%s: %w: %s", what, err, exit.Stderr)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return out, nil
}

// Worker is a live worker process of the cluster.
type Worker struct {
	Topology string `json:"topology"`
	Port     int    `json:"port"`
	Pid      int    `json:"pid"`
}

// Workers lists the worker processes as the machine has them, without asking Storm or the collector.
func (s *Stack) Workers(ctx context.Context) ([]Worker, error) {
	out, err := s.java(ctx, "list the workers", s.localStorm("workers"))
	if err != nil {
		return nil, err
	}
	var workers []Worker
	if err := json.Unmarshal(out, &workers); err != nil {
		return nil, fmt.Errorf("list the workers: %w", err)
	}
	return workers, nil
}

// down lets local-storm end whatever is left of the cluster.
func (s *Stack) down(ctx context.Context) error {
	_, err := s.java(ctx, "end what is left of the cluster in "+s.options.clusterDir(), s.localStorm("down"))
	return err
}
