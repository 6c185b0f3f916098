package experiment

import (
	"context"
	"fmt"
	"net"
	"os"
	"regexp"
	"runtime"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Manifest says what ran: versions, sizes and flags from the collector, which has them from the topology itself, the machine, and what
// the caller knows. What cannot be found out is left out.
func Manifest(ctx context.Context, facts Facts, machine *Proc, o Options, known []report.Entry) []report.Entry {
	entries := append([]report.Entry{}, known...)
	add := func(key, value string) {
		if value != "" {
			entries = append(entries, report.Entry{Key: key, Value: value})
		}
	}
	if t, err := facts.Topology(ctx, o.Topology); err == nil {
		add("Storm", t.Versions.Storm)
		add("Bullet", t.Versions.Bullet)
		add("Java of the workers", t.Versions.Java)
		add("Plugin", t.Versions.Plugin)
		add("Topology id", t.ID)
		add("Executors", t.parallelism())
		add("Asked of the scheduler", t.resources())
		add("JVM flags of the workers", t.flags())
	}
	add("Processors", machine.processors())
	add("Memory", machine.memory())
	add("Kernel", machine.kernel())
	return entries
}

func (p *Proc) processors() string {
	all, err := p.fs.CPUInfo()
	if err != nil || len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%d x %s", len(all), all[0].ModelName)
}

func (p *Proc) memory() string {
	m, err := p.fs.Meminfo()
	if err != nil || m.MemTotalBytes == nil {
		return ""
	}
	return fmt.Sprintf("%.1f GiB", float64(*m.MemTotalBytes)/(1<<30))
}

func (p *Proc) kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return "Linux " + strings.TrimSpace(string(text))
}

// secret is what a setting's name says when its value is for nobody's eyes; the path of a file is not one.
var secret = regexp.MustCompile(`(?i)(password|passwd|secret|token|credential|private|api.?key)`)

func entry(key, value string) report.Entry {
	if secret.MatchString(key) && !strings.HasSuffix(key, ".file") {
		value = "(not shown)"
	}
	return report.Entry{Key: key, Value: value}
}

// Settings are the entries of a Bullet YAML file as they are, then those laid over it, "key=value". Values of settings whose
// names speak of secrets are not shown.
func Settings(path string, over []string) ([]report.Entry, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var settings yaml.MapSlice
	if err := yaml.Unmarshal(text, &settings); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var entries []report.Entry
	for _, setting := range settings {
		entries = append(entries, entry(fmt.Sprint(setting.Key), fmt.Sprint(setting.Value)))
	}
	for _, setting := range over {
		key, value, _ := strings.Cut(setting, "=")
		entries = append(entries, entry("-c "+key, value))
	}
	return entries, nil
}

// Describe is the machine as a run's manifest has it; what cannot be found out is left empty.
func (p *Proc) Describe() rundir.Machine {
	m := rundir.Machine{Kernel: p.kernel(), UsableCores: tuning.Figure(runtime.NumCPU()), Network: network()}
	if all, err := p.fs.CPUInfo(); err == nil && len(all) > 0 {
		m.CPUModel, m.Cores = all[0].ModelName, len(all)
	}
	if memory, err := p.fs.Meminfo(); err == nil && memory.MemTotalBytes != nil {
		m.MemoryBytes = int64(*memory.MemTotalBytes)
	}
	return m
}

// network names the interfaces that are up, with their speeds in Mbit/s where they tell.
func network() string {
	interfaces, err := net.Interfaces()
	if err != nil {
		return ""
	}
	var names []string
	for _, each := range interfaces {
		if each.Flags&net.FlagUp == 0 {
			continue
		}
		name := each.Name
		if speed, err := os.ReadFile("/sys/class/net/" + each.Name + "/speed"); err == nil && !strings.HasPrefix(string(speed), "-") {
			name += " (" + strings.TrimSpace(string(speed)) + " Mbit/s)"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// Describe adds what a topology tells of itself to a run's manifest.
func (t Topology) Describe(m *rundir.Manifest) {
	m.Versions.Storm, m.Versions.Bullet, m.Versions.WorkerJava, m.Versions.Plugin = t.Versions.Storm, t.Versions.Bullet, t.Versions.Java, t.Versions.Plugin
	m.WorkerFlags = t.flags()
	var flags []string
	for _, flag := range strings.Fields(m.WorkerFlags) {
		if strings.HasPrefix(flag, "-X") {
			flags = append(flags, flag)
		}
	}
	m.GCFlags = strings.Join(flags, " ")
	m.Further = []rundir.Entry{{Key: "Topology id", Value: t.ID}, {Key: "Executors", Value: t.parallelism()}, {Key: "Asked of the scheduler", Value: t.resources()}}
}
