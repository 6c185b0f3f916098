package experiment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
)

// look is what the machine and the source say at one moment.
type look struct {
	at        time.Time
	host      HostTime
	processes map[string]usage
	asked     bool // whether there is a source that can be asked
	source    load.Status
}

type usage struct {
	pid int
	cpu time.Duration
}

// climb goes through the plan's steps, which begin at ends of slices.
func (r *Runner) climb(ctx context.Context, held *load.Held, p plan, run *report.Run) error {
	start := nextSlice(time.Now(), r.options.SliceWidth)
	if err := r.until(ctx, start, func() string { return "waiting for the next slice" }); err != nil {
		return err
	}
	for i, planned := range p.steps {
		name := fmt.Sprintf("step %d/%d", i+1, len(p.steps))
		mark := Mark{
			ID: fmt.Sprintf("run-%d-step-%d", run.SubmittedMs, i+1), Start: start, Title: fmt.Sprintf("S%s: %d queries", name[1:], planned.queries),
			Tags: []string{"step", fmt.Sprintf("run-%d", run.SubmittedMs)},
		}
		r.mark(ctx, mark)
		step, err := r.step(ctx, held, planned, start, name)
		if err != nil {
			return err
		}
		mark.End, mark.Text = time.UnixMilli(step.EndMs), fmt.Sprintf("host idle %.0f%%, %.0f records/s", 100*float64(step.HostIdle), float64(step.RecordsPerSecond))
		r.mark(ctx, mark)
		run.Steps = append(run.Steps, step)
		start = time.UnixMilli(step.EndMs)
	}
	return nil
}

func (r *Runner) step(ctx context.Context, held *load.Held, planned plannedStep, start time.Time, name string) (report.Step, error) {
	measured, end := start.Add(planned.warmUp), start.Add(planned.length())
	status := func() string {
		active, returned, failed := held.Progress()
		return fmt.Sprintf("%s: %d queries, %s left; under way %d, returned %d, failed %d in all", name, planned.queries,
			time.Until(end).Round(time.Second), active, returned, failed)
	}
	held.Hold(planned.queries)
	step, err := r.watch(ctx, start, measured, end, status)
	if err != nil {
		return report.Step{}, err
	}
	step.Queries = planned.queries
	_, returned, failed := held.Progress()
	r.ports.Progress.Say("%s: %d queries held for %s, host idle %.0f%%, %.0f records/s; %d queries returned and %d failed so far", name,
		planned.queries, planned.length(), 100*float64(step.HostIdle), float64(step.RecordsPerSecond), returned, failed)
	return step, nil
}

// watch waits a step out, and tells what machine and source did in its measured time.
func (r *Runner) watch(ctx context.Context, start, measured, end time.Time, status func() string) (report.Step, error) {
	if err := r.until(ctx, measured, status); err != nil {
		return report.Step{}, err
	}
	before, err := r.look(ctx)
	if err != nil {
		return report.Step{}, err
	}
	if err := r.until(ctx, end, status); err != nil {
		return report.Step{}, err
	}
	after, err := r.look(ctx)
	if err != nil {
		return report.Step{}, err
	}
	step := report.Step{StartMs: start.UnixMilli(), MeasuredFromMs: measured.UnixMilli(), EndMs: end.UnixMilli()}
	fill(&step, before, after)
	return step, nil
}

// fill sets what two looks at the machine and the source tell of the time between them.
func fill(step *report.Step, before, after look) {
	step.HostIdle = figure(after.host.idleSince(before.host))
	step.RecordsPerSecond, step.RecordsLag = after.recordsSince(before), after.source.Lag
	step.Shares = shares(before, after)
}

// everythingElse is what the processes that are known by name did not use.
const everythingElse = rundir.EverythingElse

func shares(before, after look) []report.Share {
	total := float64(after.host.Total - before.host.Total)
	rest := float64(after.host.Total-before.host.Total) - float64(after.host.Idle-before.host.Idle)
	var out []report.Share
	for _, name := range slices.Sorted(maps.Keys(after.processes)) {
		now, then := after.processes[name], before.processes[name]
		used := float64(now.cpu - then.cpu)
		if now.pid != then.pid {
			used = float64(now.cpu) // started since then
		}
		rest -= used
		out = append(out, report.Share{Process: name, Pid: now.pid, Ratio: figure(used / total)})
	}
	return append(out, report.Share{Process: everythingElse, Ratio: figure(max(0, rest) / total)})
}

func (r *Runner) look(ctx context.Context) (look, error) {
	processes := r.ports.Processes() // before the clock and the host: to find the workers may take seconds the first time
	host, err := r.ports.Machine.Host()
	if err != nil {
		return look{}, err
	}
	l := look{at: time.Now(), host: host, processes: map[string]usage{}}
	for name, pid := range processes {
		if cpu, alive := r.ports.Machine.Process(pid); alive {
			l.processes[name] = usage{pid, cpu}
		}
	}
	if l.asked = r.ports.Source != nil; l.asked {
		l.source, err = r.ports.Source.Status(ctx)
	}
	return l, err
}

// showInterval is how often the terminal is told what holds.
const showInterval = time.Second

// until waits for a moment and shows meanwhile how it stands.
func (r *Runner) until(ctx context.Context, moment time.Time, status func() string) error {
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	ticker := time.NewTicker(showInterval)
	defer ticker.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-ticker.C:
			r.ports.Progress.Show("%s", status())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
