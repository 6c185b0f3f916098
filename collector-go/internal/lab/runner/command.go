package runner

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load/hosts"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// CommandOptions describe an existing cluster and the commands that submit and kill a topology there.
type CommandOptions struct {
	// Submit and Kill are the words of two commands, with the placeholders of an experiment file.
	Submit, Kill []string
	// Conf is the path of the Bullet YAML.
	Conf string
	// Collector is the collector's HTTP address, "host:port" or a URL. Access holds the credentials and TLS settings
	// for it.
	Collector string
	Access    measure.CollectorAccess
	// Gateway is the address of the query gateway; "" if neither queries nor records use it. NoSource states that the
	// record source is foreign and cannot be controlled.
	Gateway  string
	NoSource bool
	// DRPC lists the servers that queries are sent to in turn. If it is empty, queries go to the gateway.
	DRPC         []string
	DRPCFunction string
	// LoadHosts are the hosts whose load clients run the queries of Load. Each client is started by the words of
	// LoadCommand. If it is empty, this process runs the queries.
	LoadHosts   []string
	LoadCommand []string
	Load        runstore.Load
	// Environment holds further facts about the topology's surroundings.
	Environment measure.Environment
	MostQueries int
	// Leftover is the topology that a killed run may have left. It is ended before the first launch; nil means none.
	Leftover *Leftover
}

// Leftover is a launch whose end was not recorded.
type Leftover struct {
	Trial runstore.PlannedTrial
	Name  string
}

// LeftoverOf returns the launch that a killed run may have left running: the last one that was started, unless an
// event records its end. Without this, a resumed run would share the cluster with its own earlier topology.
func LeftoverOf(run *runstore.Run) *Leftover {
	var left *Leftover
	for _, e := range run.Events {
		switch e.Kind {
		case runstore.TrialStarted:
			left = nil
			if t, found := tuning.First(run.Trials, func(t runstore.Trial) bool { return t.Number == e.Trial }); found {
				left = &Leftover{Trial: t.PlannedTrial, Name: e.Text}
			}
		case runstore.TrialFinished, runstore.TrialFailed, runstore.RunInterrupted, runstore.RunFinished:
			left = nil
		}
	}
	return left
}

// Command is the Launcher for an existing cluster. It runs the user's commands, which typically call the storm command
// on a gateway host. It never ignores a failing command: a failed kill is reported with the name of the topology, so
// that the user can end it by hand.
type Command struct {
	options  CommandOptions
	gateway  *load.Gateway
	target   load.Submitter
	closing  func()       // closes target
	clients  *hosts.Hosts // of the running topology; nil if there are none
	running  runstore.PlannedTrial
	name     string // name of the running topology; "" if none runs
	progress measure.Progress
}

// NewCommand returns a launcher that has started nothing.
func NewCommand(options CommandOptions, progress measure.Progress) *Command {
	l := &Command{options: options, gateway: load.NewGateway(options.Gateway, options.MostQueries), progress: progress}
	l.target, l.closing = l.queriesTo().Open(options.MostQueries)
	return l
}

// queriesTo returns the endpoint that queries are sent to.
func (l *Command) queriesTo() load.Target {
	return load.Target{Gateway: l.options.Gateway, DRPC: l.options.DRPC, Function: l.options.DRPCFunction}
}

// Launch implements Launcher. The load clients are started before the topology, because a client that cannot start
// would waste the minutes of a launch.
func (l *Command) Launch(ctx context.Context, t runstore.PlannedTrial, name string) (*Launched, error) {
	launched, err := prepare(l.options.Conf, l.options.Collector, l.options.Access, t)
	if err != nil {
		return nil, err
	}
	if err := l.endLeftover(ctx, launched.Ports.Annotations); err != nil {
		return nil, err
	}
	if err := l.startClients(ctx); err != nil {
		return nil, err
	}
	launched.Submitted = time.Now()
	launched.Arguments.Launch = l.fill(l.options.Submit, t, name)
	l.running, l.name = t, name
	if err := l.call(ctx, launched.Arguments.Launch); err != nil {
		return nil, fmt.Errorf("submit topology %s: %w", name, err)
	}
	ports := &launched.Ports
	ports.Queries = l.target
	if !l.options.NoSource {
		ports.Source = l.gateway
	}
	process := measure.ClientProcess
	if clients := l.clients; clients != nil {
		process = measure.RunProcess
		ports.LoadHosts = func(observe func(load.Outcome), failed context.CancelCauseFunc) load.Asker {
			return clients.Asker(observe, failed)
		}
	}
	ports.Processes = func() map[string]int { return map[string]int{process: os.Getpid()} }
	launched.Environment = l.options.Environment
	launched.Environment.HostOfRun = true
	return launched, nil
}

// startClients starts the load clients on their hosts, if the experiment lists any.
func (l *Command) startClients(ctx context.Context) (err error) {
	if len(l.options.LoadHosts) == 0 {
		return nil
	}
	class, query := measure.QueryOf(l.options.Load)
	l.clients, err = hosts.Start(ctx, hosts.Options{Hosts: l.options.LoadHosts,
		Connect: hosts.ByCommand(l.options.LoadCommand), Target: l.queriesTo(), Connections: l.options.MostQueries,
		Class: class, Query: query})
	if err == nil {
		l.progress.Say("load clients are ready on %s", strings.Join(l.options.LoadHosts, ", "))
	}
	return err
}

// endClients stops the load clients. It may be called twice.
func (l *Command) endClients() {
	if l.clients != nil {
		l.clients.Close()
		l.clients = nil
	}
}

// endLeftover kills the topology that a killed run left. Otherwise both topologies would answer each query, and the
// old workers would use CPU. A failing command is only reported, because the topology has usually ended already.
func (l *Command) endLeftover(ctx context.Context, annotations measure.Annotations) error {
	left := l.options.Leftover
	if left == nil {
		return nil
	}
	l.options.Leftover = nil
	l.progress.Say("killing topology %s, which an earlier run may have left", left.Name)
	if err := l.call(ctx, l.fill(l.options.Kill, left.Trial, left.Name)); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l.progress.Say("topology %s could not be killed; if it still runs, kill it by hand, because two topologies would share the cluster: %v",
			left.Name, err)
	} else if annotations != nil {
		// if this fails, the collector raises an alert that the topology is silent, which is true
		_ = annotations.Annotate(ctx, measure.Killed(left.Name, time.Now()))
	}
	return nil
}

// fill replaces the placeholders of a command by a trial's values. {settings} becomes several words.
func (l *Command) fill(words []string, t runstore.PlannedTrial, name string) (out []string) {
	plain := strings.NewReplacer("{name}", name, "{conf}", l.options.Conf, "{workers}", strconv.Itoa(t.Workers))
	for _, word := range words {
		if word != "{settings}" {
			out = append(out, plain.Replace(word))
			continue
		}
		for _, e := range t.Settings {
			out = append(out, "-c", e.Key+"="+e.Value)
		}
	}
	return out
}

// maxOutput bounds, in bytes, the end of a command's output that its error shows.
const maxOutput = 4 << 10

// call runs a command to its end. WaitDelay bounds the wait for a child process that keeps the output open.
func (l *Command) call(ctx context.Context, words []string) error {
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.WaitDelay = 5 * time.Second
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		text := bytes.TrimSpace(output.Bytes())
		return fmt.Errorf("%s: %w\n%s", strings.Join(words, " "), err, text[max(0, len(text)-maxOutput):])
	}
	return nil
}

// End implements Launcher. A topology that broke is killed like any other, because the cluster is not ours to restart.
func (l *Command) End(ctx context.Context, logs string, _ bool) error {
	l.endClients()
	if l.name == "" {
		return nil
	}
	words := l.fill(l.options.Kill, l.running, l.name)
	name := l.name
	l.name = ""
	if err := os.MkdirAll(logs, 0o755); err == nil {
		_ = os.WriteFile(filepath.Join(logs, "README"),
			[]byte("The workers' logs are on the cluster that ran topology "+name+".\n"), 0o644)
	}
	if err := l.call(ctx, words); err != nil {
		return fmt.Errorf("kill topology %s: %w; kill it by hand", name, err)
	}
	return nil
}

// Stop implements Launcher.
func (l *Command) Stop(<-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	_ = l.endLeftover(ctx, nil) // matters if nothing was launched; the error was already reported
	l.endClients()
	l.gateway.Close()
	l.closing()
	return nil
}
