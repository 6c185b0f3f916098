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

func (s *Stack) awaitCluster(ctx context.Context) error {
	line, err := awaitWithin(ctx, clusterReadyLimit, s.cluster.awaitReady)
	if err != nil {
		return err
	}
	var ready struct {
		Pids map[string]int `json:"pids"`
		Host string         `json:"nimbus_host"`
		Port int            `json:"nimbus_thrift_port"`
	}
	if err := json.Unmarshal(line, &ready); err != nil {
		return fmt.Errorf("the cluster's ready line %q: %w", line, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.daemons, s.nimbus = ready.Pids, net.JoinHostPort(ready.Host, strconv.Itoa(ready.Port))
	return nil
}

// Nimbus is the Thrift address of the cluster's Nimbus, "host:port"; "" until Start has returned.
func (s *Stack) Nimbus() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nimbus
}

// Submit submits the topology and returns when Nimbus has taken it.
func (s *Stack) Submit(ctx context.Context) error { return s.SubmitAs(ctx, s.options.Topology, nil) }

// SubmitAs submits the topology under another name, with more settings over the options' own, "key=value". The topologies of a stack
// run one after the other: Kill ends one before the next is submitted.
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
	if _, err := exec.CommandContext(ctx, s.options.Java, s.localStorm("kill", "--topology", name, "--wait-secs", "0")...).Output(); err != nil {
		return fmt.Errorf("end topology %s: %w", name, withStderr(err))
	}
	return nil
}

// Rebalance spreads a topology over another number of workers, and returns when Nimbus has taken it: the workers follow.
func (s *Stack) Rebalance(ctx context.Context, name string, workers int) error {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	if _, err := exec.CommandContext(ctx, s.options.Java, s.localStorm("rebalance", "--topology", name, "--workers", strconv.Itoa(workers))...).Output(); err != nil {
		return fmt.Errorf("rebalance topology %s: %w", name, withStderr(err))
	}
	return nil
}

// Worker is a live worker process of the cluster.
type Worker struct {
	Topology string `json:"topology"`
	Port     int    `json:"port"`
	Pid      int    `json:"pid"`
}

// Workers lists the worker processes as the machine has them, without asking Storm or the collector.
func (s *Stack) Workers(ctx context.Context) ([]Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.options.Java, s.localStorm("workers")...).Output()
	if err != nil {
		return nil, fmt.Errorf("list the workers: %w", withStderr(err))
	}
	var workers []Worker
	if err := json.Unmarshal(out, &workers); err != nil {
		return nil, fmt.Errorf("list the workers: %w", err)
	}
	return workers, nil
}

func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return err
}

// down lets local-storm end whatever is left of the cluster.
func (s *Stack) down(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	if _, err := exec.CommandContext(ctx, s.options.Java, s.localStorm("down")...).Output(); err != nil {
		return fmt.Errorf("end what is left of the cluster in %s: %w", s.options.clusterDir(), withStderr(err))
	}
	return nil
}

// JavaVersion is the first line that the Java in use says of itself.
func (s *Stack) JavaVersion(ctx context.Context) (string, error) {
	return s.options.JavaVersion(ctx)
}
