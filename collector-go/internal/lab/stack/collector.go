package stack

import (
	"context"
	"fmt"
	"time"
)

// startCollector starts the collector, waits until it is ready, and from then on restarts it whenever it dies.
func (s *Stack) startCollector(ctx context.Context) error {
	p, err := s.launch(s.collectorCommand())
	if err != nil {
		return err
	}
	replace(s, &s.collector, p)
	if err := s.awaitCollector(ctx, p); err != nil {
		return err
	}
	s.watchers.Go(s.supervise)
	return nil
}

// awaitCollector polls the ready endpoint, because only that shows whether the collector has replayed its journal.
func (s *Stack) awaitCollector(ctx context.Context, p *Process) error {
	ctx, cancel := limited(ctx, collectorReadyLimit)
	defer cancel()
	url := "http://" + s.options.HTTPListen + "/-/ready"
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !respondsOK(ctx, url) {
		select {
		case <-ticker.C:
		case <-p.done:
			return p.obituary()
		case <-ctx.Done():
			return fmt.Errorf("the collector does not answer at %s: %w; its log is %s", url, context.Cause(ctx), p.log)
		}
	}
	return nil
}

// supervise restarts the collector, on the same data directory, each time it dies before the stack is stopped. It
// returns when the stack is stopped, or when a restart is impossible; the latter is reported through Failed.
func (s *Stack) supervise() {
	for {
		running := current(s, &s.collector)
		<-running.done
		again, err := s.revive(running)
		if err != nil {
			s.fail(err)
		}
		if !again {
			return
		}
	}
}

// revive replaces a dead collector. It holds the lock, so that no collector is started after the stop has begun. The
// number of restarts is bounded by maxCollectorRestarts, because a collector that cannot run would otherwise be
// restarted forever.
func (s *Stack) revive(dead *Process) (again bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false, nil
	}
	if s.restarts == maxCollectorRestarts {
		return false, fmt.Errorf("abandoned after %d restarts: %w", s.restarts, dead.obituary())
	}
	p, err := s.launch(s.collectorCommand())
	if err != nil {
		return false, err
	}
	s.restarts++
	s.collector = p
	s.log.Warn("restarted the collector after it died", "how", fmt.Sprint(dead.err), "pid",
		p.Pid(), "restarts", s.restarts)
	return true, nil
}

// CollectorRestarts returns how often the collector died and was restarted.
func (s *Stack) CollectorRestarts() int { return current(s, &s.restarts) }
