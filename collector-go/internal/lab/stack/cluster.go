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

// up is the ready line of the local cluster. It is printed again after one of the cluster's processes was restarted.
type up struct {
	Pids map[string]int `json:"pids"`
	Host string         `json:"nimbus_host"`
	Port int            `json:"nimbus_thrift_port"`
	DRPC int            `json:"drpc_http_port"`
}

// awaitCluster waits for the launcher's ready line, and from then on follows its further lines.
func (s *Stack) awaitCluster(ctx context.Context) error {
	var ready up
	if err := s.cluster.awaitReady(ctx, clusterReadyLimit, &ready); err != nil {
		return err
	}
	s.know(ready)
	go s.follow(s.cluster)
	return nil
}

// know stores the cluster's current processes and addresses. A restarted Supervisor has another pid.
func (s *Stack) know(ready up) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.daemons, s.nimbus, s.drpc = ready.Pids, net.JoinHostPort(ready.Host, strconv.Itoa(ready.Port)),
		net.JoinHostPort(ready.Host, strconv.Itoa(ready.DRPC))
}

// follow updates the known processes of the cluster until the launcher ends, because the launcher restarts a dead
// Supervisor.
func (s *Stack) follow(cluster *Process) {
	for {
		select {
		case line := <-cluster.ready:
			var again up
			if err := json.Unmarshal(line, &again); err != nil {
				s.log.Warn("unknown line in the output of the local cluster", "line", string(line), "error", err)
				continue
			}
			s.log.Warn("restarted a process of the local cluster; see its logs", "dir", s.options.clusterDir())
			s.know(again)
		case <-cluster.done:
			return
		}
	}
}

// Nimbus returns the Thrift address of the cluster's Nimbus, "host:port"; "" until Start has returned.
func (s *Stack) Nimbus() string { return current(s, &s.nimbus) }

// DRPC returns the HTTP address of the cluster's DRPC server, "host:port". It is meaningless without
// Options.DRPCThreads, and before Start has returned.
func (s *Stack) DRPC() string { return current(s, &s.drpc) }

// Submit submits the topology and returns when Nimbus has accepted it.
func (s *Stack) Submit(ctx context.Context) error { return s.SubmitAs(ctx, s.options.Topology, nil) }

// SubmitAs submits the topology under another name. settings ("key=value") override those of the options. The
// topologies of a stack run one after the other: call Kill before the next SubmitAs.
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

// Kill ends a topology and its source, and returns when the topology's workers have ended.
func (s *Stack) Kill(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	s.stopSource(ctx.Done())
	_, err := s.java(ctx, "end topology "+name, s.localStorm("kill", "--topology", name, "--wait-secs", "0"))
	return err
}

// Rebalance changes the number of a topology's workers, and returns when Nimbus has accepted it. The workers change
// later.
func (s *Stack) Rebalance(ctx context.Context, name string, workers int) error {
	_, err := s.java(ctx, "rebalance topology "+name, s.localStorm("rebalance", "--topology", name, "--workers",
		strconv.Itoa(workers)))
	return err
}

// java runs a launcher's command within commandLimit and returns its output. what describes the command in errors. An
// error contains the standard error, because a launcher reports failures only there.
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

// Workers lists the worker processes on this machine, without asking Storm or the collector.
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

// down makes local-storm end whatever is left of the cluster.
func (s *Stack) down(ctx context.Context) error {
	_, err := s.java(ctx, "end the remaining processes of the cluster in "+s.options.clusterDir(), s.localStorm("down"))
	return err
}
