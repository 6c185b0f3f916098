package campaign

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/experiment"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
)

// CommandOptions are a cluster that is there, and how it is told to run a topology.
type CommandOptions struct {
	// Submit and Kill are words, with the placeholders of an experiment's file.
	Submit, Kill []string
	// Conf is the Bullet YAML.
	Conf               string
	Collector, Gateway string
	// DRPC are the servers that queries go through, in turn; none for the gateway.
	DRPC         []string
	DRPCFunction string
	// Around is what else is known of what is around the topology.
	Around      experiment.Around
	MostQueries int
}

// Command launches by commands of its user's.
type Command struct {
	options  CommandOptions
	gateway  *load.Gateway
	drpc     []*load.DRPC
	running  rundir.PlannedTrial
	name     string // of the topology that runs; "" for none
	progress experiment.Progress
}

// NewCommand returns a launcher that has started nothing.
func NewCommand(options CommandOptions, progress experiment.Progress) *Command {
	l := &Command{options: options, gateway: load.NewGateway(options.Gateway, options.MostQueries), progress: progress}
	for _, server := range options.DRPC {
		l.drpc = append(l.drpc, load.NewDRPC(server, options.DRPCFunction, options.MostQueries, load.PlainBQL))
	}
	return l
}

// target is where queries go.
func (l *Command) target() load.Submitter {
	if len(l.drpc) == 0 {
		return l.gateway
	}
	return &inTurn{servers: l.drpc}
}

// inTurn asks one server after the other.
type inTurn struct {
	servers []*load.DRPC
	asked   atomic.Int64
}

// Query implements load.Submitter.
func (t *inTurn) Query(ctx context.Context, bql string) (load.Answer, error) {
	return t.servers[(t.asked.Add(1)-1)%int64(len(t.servers))].Query(ctx, bql)
}

// Launch implements Launcher.
func (l *Command) Launch(ctx context.Context, t rundir.PlannedTrial, name string) (*Launched, error) {
	conf, err := os.ReadFile(l.options.Conf)
	if err != nil {
		return nil, err
	}
	collector, err := experiment.NewCollector(l.options.Collector)
	if err != nil {
		return nil, err
	}
	machine, err := experiment.NewProc()
	if err != nil {
		return nil, err
	}
	submitted := time.Now()
	words := l.fill(l.options.Submit, t, name)
	l.running, l.name = t, name
	if err := l.call(ctx, words); err != nil {
		return nil, fmt.Errorf("submit topology %s: %w", name, err)
	}
	ports := experiment.SessionPorts{Calculator: collector, Facts: collector}
	ports.Source, ports.Queries, ports.Slices, ports.Marks, ports.Machine = l.gateway, l.target(), collector, collector, machine
	ports.Processes = func() map[string]int { return map[string]int{experiment.ClientProcess: os.Getpid()} }
	arguments := rundir.Arguments{Launch: words}
	for _, e := range t.Settings {
		arguments.Settings = append(arguments.Settings, e.Key+"="+e.Value)
	}
	return &Launched{Submitted: submitted, Ports: ports, Arguments: arguments, Settings: conf, Around: l.options.Around}, nil
}

// fill puts a trial into the placeholders of a command.
func (l *Command) fill(words []string, t rundir.PlannedTrial, name string) (out []string) {
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
	if l.name == "" {
		return nil
	}
	words := l.fill(l.options.Kill, l.running, l.name)
	name := l.name
	l.name = ""
	if err := os.MkdirAll(logs, 0o755); err == nil {
		_ = os.WriteFile(filepath.Join(logs, "README"), []byte("The workers' logs are on the cluster that ran topology "+name+".\n"), 0o644)
	}
	if err := l.call(ctx, words); err != nil {
		return fmt.Errorf("end topology %s: %w: end it by hand", name, err)
	}
	return nil
}

// Stop implements Launcher.
func (l *Command) Stop(<-chan struct{}) error {
	l.gateway.Close()
	for _, server := range l.drpc {
		server.Close()
	}
	return nil
}
