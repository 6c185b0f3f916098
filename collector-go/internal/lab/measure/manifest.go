package measure

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// kernel is the release of the running kernel; "" where it cannot be read.
func (p *Proc) kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return "Linux " + strings.TrimSpace(string(text))
}

// entry is a setting as a manifest shows it: secrets are masked.
func entry(key, value string) runstore.Entry {
	return runstore.Entry{Key: key, Value: runstore.Shown(key, value)}
}

// Settings are the entries of a Bullet YAML file as they are, then those laid over it, "key=value". Values of settings
// whose names speak of secrets are not shown.
func Settings(path string, over []string) ([]runstore.Entry, error) {
	text, err := textfile.Read(path, textfile.Most)
	if err != nil {
		return nil, err
	}
	var settings yaml.MapSlice
	if err := yamlfile.Decode(text, &settings); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var entries []runstore.Entry
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
func (p *Proc) Describe() runstore.Machine {
	m := runstore.Machine{Kernel: p.kernel(), UsableCores: tuning.Figure(runtime.NumCPU()), Network: network()}
	if all, err := p.fs.CPUInfo(); err == nil && len(all) > 0 {
		m.CPUModel, m.Cores = all[0].ModelName, len(all)
	}
	if memory, err := p.fs.Meminfo(); err == nil && memory.MemTotalBytes != nil {
		m.MemoryBytes = int64(*memory.MemTotalBytes)
	}
	return m
}

// network names the interfaces that lead out and are up, with their speeds where the kernel knows them: that of a
// virtual machine often does not.
func network() string {
	interfaces, err := net.Interfaces()
	if err != nil {
		return ""
	}
	var names []string
	for _, each := range interfaces {
		if each.Flags&net.FlagUp == 0 || each.Flags&net.FlagLoopback != 0 {
			continue
		}
		speed := "speed not reported by the kernel"
		if text, err := os.ReadFile("/sys/class/net/" + each.Name + "/speed"); err == nil &&
			!strings.HasPrefix(string(text), "-") {
			speed = strings.TrimSpace(string(text)) + " Mbit/s"
		}
		names = append(names, fmt.Sprintf("%s (%s)", each.Name, speed))
	}
	return strings.Join(names, ", ")
}

// ReportedConfig is what a topology reported of itself, as a trial keeps it. heapLimit is of the worker with the
// largest heap, in bytes; unknown where no worker reported one.
func (t Topology) ReportedConfig(heapLimit tuning.Figure) runstore.ReportedConfig {
	reported := runstore.ReportedConfig{
		TopologyID: t.ID, Bullet: t.Versions.Bullet, Storm: t.Versions.Storm, WorkerJava: t.Versions.Java,
		Plugin:      t.Versions.Plugin,
		WorkerFlags: t.flags(), HeapFlags: heapFlags(t.flags()), GCFlags: gcFlags(t.flags()), HeapLimitBytes: heapLimit,
		Executors: t.parallelism(), Requested: t.resources(), Settings: []runstore.Entry{},
	}
	for _, key := range slices.Sorted(maps.Keys(t.Settings)) {
		reported.Settings = append(reported.Settings, runstore.Entry{Key: key, Value: t.Settings[key]})
	}
	return reported
}

// HeapLimit asks how far the heap of a topology's worker can grow, in bytes, by the JVMs' own account; of several the
// largest.
func HeapLimit(ctx context.Context, collector Calculator, topology string, at time.Time) (tuning.Figure, error) {
	return collector.Calculate(ctx, "max("+selector(topology, heapLimitMetric)+")", at)
}
