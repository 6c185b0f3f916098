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
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// CommandOptions describe an existing cluster and the commands that submit and kill a topology there.
type CommandOptions struct {
	// Submit and Kill are words, with the placeholders of an experiment's file.
	Submit, Kill []string
	// Conf is the Bullet YAML.
	Conf string
	// Collector is its HTTP, "host:port" or a URL; Access is how it lets us in.
	Collector string
	Access    measure.CollectorAccess
	// Gateway is the query gateway; "" where neither queries nor records go through it. NoSource states that no records
	// are steered.
	Gateway  string
	NoSource bool
	// DRPC are the servers that queries go through, in turn; none for the gateway.
	DRPC         []string
	DRPCFunction string
	// LoadHosts are where load clients ask the queries of Load, each started by the words LoadCommand; none where this
	// process does.
	LoadHosts   []string
	LoadCommand []string
	Load        runstore.Load
	// Environment is what else is known of what is around the topology.
	Environment measure.Environment
	MostQueries int
	// Leftover is the launch that a run which was killed may have left, ended before the first; nil for none.
	Leftover *Leftover
}

// Leftover is a launch whose end was not recorded.
type Leftover struct {
	Trial runstore.PlannedTrial
	Name  string
}

// LeftoverOf finds the launch that a killed run may have left running: the last one that was started, unless an event
// records its end. Without this, a resumed run would share the cluster with its own earlier topology.
func LeftoverOf(run *runstore.Run) *Leftover {
	var left *Leftover
	for _, e := range run.Events {
		switch e.Kind {
		case runstore.TrialStarted:
			left = nil
			for _, t := range run.Trials {
				if t.Number == e.Trial {
					left = &Leftover{Trial: t.PlannedTrial, Name: e.Text}
				}
			}
		case runstore.TrialFinished, runstore.TrialFailed, runstore.RunInterrupted, runstore.RunFinished:
			left = nil
		}
	}
	return left
}

// Command is the Launcher for an existing cluster. It runs the user's commands, which typically call the storm command
// on a gateway host. It never assumes that a command succeeded silently: a failed kill is reported with the name of the
// topology, so that the user can end it by hand.
type Command struct {
	options  CommandOptions
	gateway  *load.Gateway
	target   load.Submitter
	closing  func()       // the target
	clients  *hosts.Hosts // of the topology that runs; nil for none
	running  runstore.PlannedTrial
	name     string // of the topology that runs; "" for none
	progress measure.Progress
}

// NewCommand returns a launcher that has started nothing.
func NewCommand(options CommandOptions, progress measure.Progress) *Command {
	l := &Command{options: options, gateway: load.NewGateway(options.Gateway, options.MostQueries), progress: progress}
	l.target, l.closing = l.queriesTo().Open(options.MostQueries)
	return l
}

// queriesTo is where queries go.
func (l *Command) queriesTo() load.Target {
	return load.Target{Gateway: l.options.Gateway, DRPC: l.options.DRPC, Function: l.options.DRPCFunction}
}

// Launch implements Launcher. The load clients are started before the topology, since a client that cannot start would
// waste the minutes of a launch.
func (l *Command) Launch(ctx context.Context, t runstore.PlannedTrial, name string) (*Launched, error) {
	conf, err := textfile.Read(l.options.Conf, textfile.Most)
	if err != nil {
		return nil, err
	}
	collector, err := measure.NewCollectorAt(l.options.Collector, l.options.Access)
	if err != nil {
		return nil, err
	}
	machine, err := measure.NewProc()
	if err != nil {
		return nil, err
	}
	if err := l.endLeftover(ctx, collector); err != nil {
		return nil, err
	}
	if err := l.startClients(ctx); err != nil { // before minutes are spent on a topology that nobody could ask
		return nil, err
	}
	submitted := time.Now()
	words := l.fill(l.options.Submit, t, name)
	l.running, l.name = t, name
	if err := l.call(ctx, words); err != nil {
		return nil, fmt.Errorf("submit topology %s: %w", name, err)
	}
	ports := measure.SessionPorts{Calculator: collector, Facts: collector}
	ports.Queries, ports.Slices, ports.Annotations, ports.Machine = l.target, collector, collector, machine
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
	around := l.options.Environment
	around.HostOfRun = true
	arguments := runstore.Arguments{Launch: words}
	for _, e := range t.Settings {
		arguments.Settings = append(arguments.Settings, e.Key+"="+e.Value)
	}
	return &Launched{Submitted: submitted, Ports: ports, Arguments: arguments, Settings: conf, Environment: around}, nil
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

// endLeftover kills the topology that a killed run left. Otherwise both topologies would answer each query, and the old
// workers would take CPU. A failing command is only reported, because the topology has usually ended already.
func (l *Command) endLeftover(ctx context.Context, annotations measure.Annotations) error {
	left := l.options.Leftover
	if left == nil {
		return nil
	}
	l.options.Leftover = nil
	l.progress.Say("ending topology %s, which the killed run may have left", left.Name)
	if err := l.call(ctx, l.fill(l.options.Kill, left.Trial, left.Name)); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l.progress.Say("topology %s was not ended; if it still runs, end it by hand, or two share the cluster: %v",
			left.Name, err)
	} else if annotations != nil {
		// without it an alert states that the topology is silent, which is so
		_ = annotations.Annotate(ctx, measure.Killed(left.Name, time.Now()))
	}
	return nil
}

// fill puts a trial into the placeholders of a command.
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

// maxOutput is how much of the end of a command's output its error shows.
const maxOutput = 4 << 10

// call runs a command to its end. WaitDelay bounds the wait for a child that keeps the output open.
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

// End implements Launcher. A topology that broke is ended like any other: the cluster is not ours.
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
		return fmt.Errorf("end topology %s: %w: end it by hand", name, err)
	}
	return nil
}

// Stop implements Launcher.
func (l *Command) Stop(<-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	_ = l.endLeftover(ctx, nil) // where nothing was left to be launched; an error is this context's end, and said
	l.endClients()
	l.gateway.Close()
	l.closing()
	return nil
}
