package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/stack"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// engine runs experiments into directories: tune run's, and the demo's.
type engine struct {
	build string
	// work is where a local cluster runs: its state and logs, of which each trial keeps its part. One run at a time
	// holds it: it ends what a killed one before it left there.
	work    string
	stack   stack.Options
	options runner.Options
	say     *terminal
	hasten  <-chan struct{}
	// write writes the report of a run's directory, and returns where it is.
	write func(r *report.RunReport, dir string) (string, error)
	// conclude reports on a run that has ended by itself, instead of the report of a run; nil for none.
	conclude func() error
}

// create makes the directory of a new run.
func (e *engine) create(ctx context.Context, dir string, file *experimentfile.File, text []byte, plan runstore.Plan,
	now time.Time) (*runstore.Writer, error) {
	settings, err := measure.Settings(file.Conf(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: topology.conf: %w", file.Path(), err)
	}
	for _, setting := range e.stack.Settings {
		key, value, _ := strings.Cut(setting, "=")
		settings = append(settings, runstore.Entry{Key: key, Value: runstore.Shown(key, value)})
	}
	manifest := e.manifest(ctx, file, now)
	manifest.BulletSettings = settings
	return runstore.Create(dir, text, plan, manifest)
}

// stormsDRPCThreads are those of the HTTP port of Storm's DRPC server, which are Jetty's default.
const stormsDRPCThreads = 200

// local is the launcher of a file that launches on this machine. It has started nothing.
func (e *engine) local(file *experimentfile.File, plan runstore.Plan, dir string) (*runner.Local, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the path of this program: %w", err)
	}
	places := stack.DefaultOptions(e.work, e.build)
	s := e.stack
	s.Dir, s.DataDir, s.BuildDir, s.Program = places.Dir, filepath.Join(dir, runstore.DataDir), places.BuildDir, program
	s.SliceWidth, s.SliceLateness = time.Duration(file.Launch.SliceWidth), time.Duration(file.Launch.SliceLateness)
	s.BulletConf, s.WorkerHeapMiB, s.Workers = file.Conf(), file.Launch.Local.WorkerHeap.MiB(),
		file.Launch.Local.Workers
	s.Kafka = (*stack.Kafka)(file.Launch.Local.Kafka)
	if file.Load.Submit == experimentfile.SubmitByDRPC {
		s.DRPCThreads = cmp.Or(file.Load.DRPCThreads, stormsDRPCThreads)
	}
	for _, t := range plan.Trials {
		s.Workers = max(s.Workers, t.Workers)
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(e.say, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	return runner.NewLocal(s, plan.MostQueries(), log, e.say, e.hasten), nil
}

// command is the launcher of a file that launches by commands.
func (e *engine) command(file *experimentfile.File, run *runstore.Run) (*runner.Command, error) {
	c := file.Launch.Command
	o := runner.CommandOptions{
		Submit: c.Submit, Kill: c.Kill, Conf: file.Conf(), Collector: c.Collector,
		Access: measure.CollectorAccess{CA: file.CA(), TokenFile: file.Token()}, Gateway: c.Gateway,
		NoSource: run.Plan.Load.NoSource(), MostQueries: run.Plan.MostQueries(), Leftover: runner.LeftoverOf(run),
		Environment: measure.Environment{Endpoint: tuning.EndpointGateway, EndpointCapacity: c.GatewayCapacity,
			Partitions: c.Partitions},
	}
	if file.Load.Submit == experimentfile.SubmitByDRPC {
		o.DRPC, o.DRPCFunction = file.Load.DRPC, file.Load.DRPCFunction
		o.Environment.Endpoint, o.Environment.EndpointCapacity = tuning.EndpointDRPC, file.Load.DRPCThreads
	}
	if l := file.Launch.Load; l != nil {
		o.LoadHosts, o.LoadCommand, o.Load = l.Hosts, l.Command, run.Plan.Load
	}
	if _, err := measure.NewCollector(o.Collector, o.Access); err != nil {
		return nil, fmt.Errorf("launch.command: %w", err)
	}
	return runner.NewCommand(o, e.say), nil
}

// run measures what a run's directory lacks, reports on it, and ends everything.
func (e *engine) run(ctx context.Context, file *experimentfile.File, writer *runstore.Writer, launcher runner.Launcher,
	began time.Time) error {
	run, err := runstore.Read(writer.Dir())
	if err != nil {
		return errors.Join(err, launcher.Stop(e.hasten))
	}
	about, _ := run.Plan.Estimate()
	if end := e.options.End; !end.IsZero() {
		about = min(about, time.Until(end))
	}
	again := "bullet-metrics tune run --resume " + run.Dir
	if e.conclude == nil {
		e.say.Say("%s into %s; about %s", run.Plan.Experiment, run.Dir, about.Round(10*time.Second))
	} else {
		again = "run the same command again (--out " + run.Dir + ")"
	}
	result, err := e.measure(ctx, file, run, writer, launcher)
	switch {
	case err != nil:
		e.say.Say("finished steps are stored in %s; to continue: %s", run.Dir, again)
	case e.conclude != nil:
		err = e.conclude()
	default:
		err = e.report(run.Dir, *result, began)
	}
	return errors.Join(err, e.stop(launcher, run.Dir, run.Plan.Launch))
}

// measure runs what a run's directory lacks.
func (e *engine) measure(ctx context.Context, file *experimentfile.File, run *runstore.Run, writer *runstore.Writer,
	launcher runner.Launcher) (*runstore.Result, error) {
	options := e.options
	options.Lateness = time.Duration(file.Launch.SliceLateness)
	if c := file.Launch.Command; c != nil {
		options.Wait = time.Duration(cmp.Or(c.Wait, experimentfile.DefaultWait))
	}
	return runner.New(options, run, writer, launcher, e.say).Run(ctx)
}

// stop ends everything; launch is the kind of dir's launch.
func (e *engine) stop(launcher runner.Launcher, dir, launch string) error {
	if err := launcher.Stop(e.hasten); err != nil {
		return err
	}
	data := filepath.Join(dir, runstore.DataDir)
	if _, missing := os.Stat(data); missing == nil && launch == runstore.LocalLaunch {
		e.say.Say("all processes have ended; to see the data: %s serve --data-dir %s --runs-dir %s", os.Args[0], data,
			filepath.Dir(dir))
	}
	return nil
}

// report reports on a run that has ended by itself.
func (e *engine) report(dir string, result runstore.Result, began time.Time) error {
	reported, err := report.OpenRunReport(dir)
	if err != nil {
		return err
	}
	for _, line := range append(runner.Summary(reported.Plan(), result), reported.Answer()...) {
		e.say.Say("%s", line)
	}
	out, err := e.write(reported, dir)
	if err != nil {
		e.say.Say("writing the report failed; try again with: bullet-metrics tune report %s: %v", dir, err)
	} else {
		e.say.Say("done after %s; report: %s", time.Since(began).Round(time.Second), filepath.Join(out, "report.html"))
	}
	switch result.ExitCode {
	case exitDone:
		return nil
	case exitMissed:
		return missed("a goal was missed: " + string(result.Verdict))
	}
	return errors.New("some trials could not be measured; to repeat them: bullet-metrics tune run --resume " + dir)
}
