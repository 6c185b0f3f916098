package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/peer"
)

// held is a peer with a load in it.
type held struct {
	peer.Peer
	*bench.Process
	sh       shape
	load     peer.Load
	empty    int64
	checking time.Duration
	seconds  float64
	quiet    bool
}

// openPeer opens a peer by its name.
func (s *session) openPeer(name string) (peer.Peer, error) {
	kind, known := peer.Named(name)
	if !known {
		return nil, fmt.Errorf("there is no peer %q", name)
	}
	return kind.Open(s.tools)
}

// openFor opens a peer for a shape's rows: one that aggregates, where ours puts several of them into a slice.
func (s *session) openFor(name string, sh shape) (peer.Peer, error) {
	if sh.width > sh.step && name == "victoria" {
		return peer.NewAggregatingVictoria(s.tools, sh.width)
	}
	return s.openPeer(name)
}

// hold starts a peer, sends a shape's rows to it, waits until all of them answer and it no longer works on them, and
// checks count and sum.
func (s *session) hold(ctx context.Context, name, dir string, sh shape) (*held, error) {
	p, err := s.openFor(name, sh)
	if err != nil {
		return nil, err
	}
	h := &held{Peer: p, sh: sh, load: sh.toPeer(sh.begin(time.Now()))}
	if h.Process, err = p.Start(ctx, dir); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	started = append(started, h.Process)
	if h.empty, err = h.Resident(ctx); err != nil {
		return nil, err
	}
	begun := time.Now()
	sums, err := peer.Send(ctx, p, sh.rows(s.seed), h.load)
	if err != nil {
		return nil, err
	}
	return h, h.settle(ctx, begun, sums)
}

// mostWait is how long after the last sample all of them must answer.
const mostWait = 3 * time.Minute

// settle waits and checks.
func (h *held) settle(ctx context.Context, begun time.Time, sums []float64) error {
	want := h.sh.hosts * h.sh.steps
	found := 0
	err := h.uncounted(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, mostWait)
		defer cancel()
		return bench.Await(ctx, want, func(ctx context.Context) (int, error) {
			n, _, err := h.Count(ctx, 0, h.load.Span())
			if err != nil {
				return 0, nil // none of it answers yet: some say so with an error
			}
			found = int(n)
			return found, nil
		})
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("only %d of %d samples of a metric can be queried %s after they were sent", found, want, mostWait)
	}
	if err != nil {
		return err
	}
	h.seconds = time.Since(begun).Seconds()
	if h.quiet, err = peer.Settle(ctx, h.Process); err != nil {
		return err
	}
	return h.uncounted(ctx, func() error {
		return peer.Check(ctx, h.Peer, h.load.Span(), h.sh.hosts, h.sh.steps, sums, h.sh.recorded)
	})
}

// uncounted does something whose CPU is not the samples'.
func (h *held) uncounted(ctx context.Context, part func() error) error {
	before, err := h.CPU(ctx)
	if err != nil {
		return err
	}
	if err := part(); err != nil {
		return err
	}
	after, err := h.CPU(ctx)
	h.checking += after - before
	return err
}

// end ends the peer and gives what it has cost.
func (h *held) end(ctx context.Context, dir string) (figures, error) {
	resident, err := h.Resident(ctx)
	if err != nil {
		return nil, err
	}
	cpu, written, err := h.End()
	if err != nil {
		return nil, err
	}
	cpu -= h.checking
	all := float64(h.sh.samples())
	disk := int64(0)
	for _, part := range []string{"data", "wal"} {
		n, err := bench.BytesIn(filepath.Join(dir, part))
		if err != nil {
			return nil, err
		}
		disk += n
	}
	quiet := 0.0
	if h.quiet {
		quiet = 1
	}
	return figures{"samples_per_cpu_second": all / cpu.Seconds(), "cpu_s": cpu.Seconds(),
		"queryable_after_s": h.seconds, "rss_mib": float64(resident) / (1 << 20),
		"bytes_per_series":      float64(resident-h.empty) / float64(h.sh.hosts*h.sh.metrics),
		"disk_bytes_per_sample": float64(disk) / all, "data_bytes_per_sample": float64(disk) / all,
		"written_bytes_per_sample": float64(written) / all,
		"settled":                  quiet}, nil
}

// intoPeer is a load into a peer, until it has ended.
func (s *session) intoPeer(name string, sh shape) subject {
	return subject{name, func(ctx context.Context, dir string) (figures, error) {
		h, err := s.hold(ctx, name, dir, sh)
		if err != nil {
			return nil, err
		}
		return h.end(ctx, dir)
	}}
}
