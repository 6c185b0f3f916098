package measure

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// look is an observation of the machine and the source at one moment.
type look struct {
	at        time.Time
	host      HostTime
	processes map[string]usage
	asked     bool // whether there is a source to ask
	source    load.Status
	clients   []load.Usage // load clients on other hosts
}

// usage is the CPU time of a process since its start. The pid shows whether it is the same process as in an earlier
// look.
type usage struct {
	pid int
	cpu time.Duration
}

// watchStep waits until a step has ended, and sets what machine and source did in its measured time. It looks at the
// beginning and at the end of that time; all figures are differences of the two looks.
func (s *Session) watchStep(step *runstore.Step, start, measured, end time.Time, status func() string) error {
	if err := s.until(s.ctx, measured, status); err != nil {
		return err
	}
	before, err := s.look(s.ctx)
	if err != nil {
		return err
	}
	if end, err = s.untilCertain(s.ctx, measured, end, status); err != nil {
		return err
	}
	after, err := s.look(s.ctx)
	if err != nil {
		return err
	}
	step.StartMs, step.MeasuredFromMs, step.EndMs = start.UnixMilli(), measured.UnixMilli(), end.UnixMilli()
	fill(step, before, after)
	step.Clients.Hosts = hostsOf(before, after)
	return nil
}

// fill sets the step's figures that result from two looks at the machine and the source.
func fill(step *runstore.Step, before, after look) {
	step.HostIdle = figure(after.host.idleSince(before.host))
	step.RecordsPerSecond, step.RecordsLag = after.recordsSince(before), after.source.Lag
	step.Shares = shares(before, after)
}

// hostsOf returns the load hosts with the CPU that their clients used between two looks, as far as they reported it.
func hostsOf(before, after look) (all []runstore.ClientHost) {
	for i, now := range after.clients {
		used, took := now.CPU-before.clients[i].CPU, now.At.Sub(before.clients[i].At)
		host := runstore.ClientHost{Host: now.Host, CPUCores: tuning.Unknown, CPULimitCores: tuning.Figure(now.Cores)}
		if took > 0 && !before.clients[i].At.IsZero() {
			host.CPUCores = tuning.Figure(used.Seconds() / took.Seconds())
		}
		all = append(all, host)
	}
	return all
}

// shares returns each process' share of the host's CPU between two looks. CPU that no known process used is reported
// as everything else.
func shares(before, after look) []runstore.Share {
	total := float64(after.host.Total - before.host.Total)
	rest := float64(after.host.Total-before.host.Total) - float64(after.host.Idle-before.host.Idle)
	var out []runstore.Share
	for _, name := range slices.Sorted(maps.Keys(after.processes)) {
		now, then := after.processes[name], before.processes[name]
		used := float64(now.cpu - then.cpu)
		if now.pid != then.pid {
			used = float64(now.cpu) // started since then
		}
		rest -= used
		out = append(out, runstore.Share{Process: name, Pid: now.pid, Ratio: figure(used / total)})
	}
	return append(out, runstore.Share{Process: runstore.EverythingElse, Ratio: figure(max(0, rest) / total)})
}

// look observes the host, the known processes and the source. A process that has ended is left out; a source that does
// not answer is an error.
func (s *Session) look(ctx context.Context) (look, error) {
	// call this before reading the clock and the host, because finding the workers may take seconds the first time
	processes := s.ports.Processes()
	host, err := s.ports.Machine.Host()
	if err != nil {
		return look{}, err
	}
	l := look{at: time.Now(), host: host, processes: map[string]usage{}, clients: s.asker.Usage()}
	for name, pid := range processes {
		if cpu, alive := s.ports.Machine.Process(pid); alive {
			l.processes[name] = usage{pid, cpu}
		}
	}
	if l.asked = s.ports.Source != nil; l.asked {
		l.source, err = s.ports.Source.Status(ctx)
	}
	return l, err
}

// showInterval is how often the terminal shows the current status.
const showInterval = time.Second

// until waits for a moment and shows the status meanwhile. It returns nil at that moment, or the cause if the context
// ends first.
func (s *Session) until(ctx context.Context, moment time.Time, status func() string) error {
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	ticker := time.NewTicker(showInterval)
	defer ticker.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-ticker.C:
			s.ports.Progress.Show("%s", status())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// emittedPerSecond returns the records/s that the source emitted between two looks. The source's figures are as old as
// its tasks' last reports, so it divides by the time between the reports and not between the looks.
func emittedPerSecond(before, after look) float64 {
	between := after.at.Sub(before.at)
	if reported := between - after.source.Age() + before.source.Age(); reported > 0 {
		between = reported
	}
	return float64(after.source.Emitted-before.source.Emitted) / between.Seconds()
}
