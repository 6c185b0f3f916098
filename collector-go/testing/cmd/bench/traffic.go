package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/peer"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/traffic"
)

// recordedTraffic is what a Bullet topology with two workers on a real Storm cluster sent, with records from Kafka and
// the settings that the documentation recommends. bullet-metrics tour shows it, and testing/cmd/record made it.
const recordedTraffic = "collector-go/cmd/bullet-metrics/tour/incident.rec"

// playing is a load of recorded traffic, and what it has cost so far.
type playing struct {
	*traffic.Recording
	traffic.Load
	process  *bench.Process
	dir      string
	peak     int64         // resident memory, bytes
	checking time.Duration // CPU of the queries that count
}

// traffic is recorded traffic, as many topologies as have 100 workers together: saturated, or at the pace at which it
// was recorded.
func (s *session) traffic(name string, paced bool) scenario {
	copies, minutes := s.sized(50, 50, 2), s.sized(8, 3, 1)
	what := "recorded traffic of topologies with two workers, as fast as it is taken"
	if paced {
		what = "recorded traffic of topologies with two workers, as it falls due"
	}
	play := func(ctx context.Context, dir string) (p *playing, err error) {
		length := time.Duration(minutes) * time.Minute
		p = &playing{dir: dir, Load: traffic.Load{Copies: copies, Paced: paced, Begin: time.Now().Add(time.Second)}}
		if !paced {
			p.Begin = time.Now().Add(-length - time.Minute)
		}
		p.Recording, err = traffic.Read(filepath.Join(s.repository, recordedTraffic), length)
		return p, err
	}
	subjects := []subject{{goal.Ours, func(ctx context.Context, dir string) (figures, error) {
		p, err := play(ctx, dir)
		if err != nil {
			return nil, err
		}
		v, err := s.serve(ctx, dir, "--rules-builtin=true")
		if err != nil {
			return nil, err
		}
		stop := v.profile(s, filepath.Base(dir))
		p.process = v.Process
		out, err := p.play(ctx, traffic.ToOurs(v.target.Address), func() error {
			return bench.Await(ctx, p.Samples*copies, func(ctx context.Context) (int, error) {
				n, err := v.Figure(ctx, "bullet_metrics_feed_samples", `fate="read"`, `store="embedded"`)
				return int(n), err
			})
		})
		if err != nil {
			return nil, err
		}
		late, err := v.Figure(ctx, "bullet_metrics_feed_samples", `fate="late"`)
		if err == nil && late > 0 {
			err = fmt.Errorf("%.0f samples came late", late)
		}
		if err != nil {
			return nil, err
		}
		if err := errors.Join(stop(), v.heap(s, filepath.Base(dir))); err != nil {
			return nil, err
		}
		return p.end(out)
	}}}
	theirs := subject{"victoria", func(ctx context.Context, dir string) (figures, error) {
		p, err := play(ctx, dir)
		if err != nil {
			return nil, err
		}
		server, err := s.openPeer("victoria")
		if err != nil {
			return nil, err
		}
		if p.process, err = server.Start(ctx, dir); err != nil {
			return nil, err
		}
		started = append(started, p.process)
		out, err := p.play(ctx, traffic.ToLines(p.process.Base()+"/write"), func() error {
			return bench.Await(ctx, p.Values*copies, p.counted)
		})
		if err != nil {
			return nil, err
		}
		return p.end(out)
	}}
	least := subject{goal.Floor, func(ctx context.Context, dir string) (figures, error) {
		p, err := play(ctx, dir)
		if err != nil {
			return nil, err
		}
		// as many streams, messages and samples
		sh := shape{hosts: copies, metrics: p.Samples / p.Batches, steps: p.Batches, step: time.Second,
			width: 10 * time.Second, streams: copies, perMessage: 1}
		pace := time.Duration(0)
		if paced {
			pace = p.Length / time.Duration(p.Batches)
		}
		return s.intoFloor(sh, pace)(ctx, dir)
	}}
	goals := []int{1}
	if paced {
		goals = []int{4, 6}
	}
	return scenario{name: name, what: what, goals: goals,
		scale:    fmt.Sprintf("%d topologies for %d min", copies, minutes),
		subjects: append(subjects, theirs, least), once: paced}
}

// counted is how many values VictoriaMetrics answers. The CPU of the query is not the samples'.
func (p *playing) counted(ctx context.Context) (int, error) {
	before, err := p.process.CPU(ctx)
	if err != nil {
		return 0, err
	}
	n, failed := p.process.Query(ctx, `sum(count_over_time({topology=~"bullet-.*"}[2h]))`, time.Now().Add(time.Minute))
	after, err := p.process.CPU(ctx)
	p.checking += after - before
	if failed != nil {
		return 0, err // nothing answers yet
	}
	return int(n), err
}

// play sends the load, waits until the server has all of it, and then until it is quiet.
func (p *playing) play(ctx context.Context, open func(context.Context, *traffic.Copy) (traffic.Stream, error),
	await func() error) (figures, error) {
	begun := time.Now()
	watching, stop := context.WithCancel(ctx)
	watched, peak := make(chan struct{}), int64(0)
	go func() {
		defer close(watched)
		for every := time.Tick(time.Second); ; {
			select {
			case <-every:
				if now, err := p.process.Resident(ctx); err == nil {
					p.peak = max(p.peak, now)
				}
			case <-watching.Done():
				return
			}
		}
	}()
	err := p.Play(ctx, p.Load, open)
	took := time.Since(begun)
	if now, err := p.process.Resident(ctx); err == nil { // also of a load that takes less than a second
		peak = now
	}
	cpu, failed := p.process.CPU(ctx)
	stop()
	<-watched
	p.peak = max(p.peak, peak)
	if err == nil {
		err = failed
	}
	if err == nil {
		err = await()
	}
	if err == nil && !p.Paced {
		_, err = peer.Settle(ctx, p.process)
	}
	return figures{"workers": float64(p.Workers * p.Copies), "series": float64(p.Series * p.Copies),
		"sent_for_s": took.Seconds(), "cores": (cpu - p.process.Begun).Seconds() / took.Seconds(),
		"peak_rss_mib": float64(p.peak) / (1 << 20)}, err
}

// end ends the server and adds what it has cost.
func (p *playing) end(out figures) (figures, error) {
	cpu, written, err := p.process.End()
	if err != nil {
		return nil, err
	}
	cpu -= p.checking
	samples := p.Samples * p.Copies
	disk, err := bench.BytesIn(filepath.Join(p.dir, "data"))
	out["samples"], out["cpu_s"] = float64(samples), cpu.Seconds()
	out["samples_per_cpu_second"] = float64(samples) / cpu.Seconds()
	out["written_bytes_per_sample"], out["disk_bytes_per_sample"] = float64(written)/float64(samples),
		float64(disk)/float64(samples)
	out["written_gb_per_day"] = float64(written) / p.Length.Seconds() * 86_400 / 1e9
	return out, err
}
