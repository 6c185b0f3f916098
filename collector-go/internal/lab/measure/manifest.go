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

// kernel returns the release of the running kernel, or "" if it cannot be read.
func (p *Proc) kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return "Linux " + strings.TrimSpace(string(text))
}

// entry returns a setting for a manifest. Secrets are masked.
func entry(key, value string) runstore.Entry {
	return runstore.Entry{Key: key, Value: runstore.Shown(key, value)}
}

// Settings returns the entries of a Bullet YAML file, followed by the "key=value" settings that override it. Values of
// settings with secret-looking names are masked.
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

// Describe returns the facts about this machine for a run's manifest. Facts that cannot be read are left empty.
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

// network returns the names of the non-loopback interfaces that are up, with their speeds. The kernel often does not
// know the speed in a virtual machine.
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

// ReportedConfig returns the configuration that a topology reported, for the trial's files. heapLimit is that of the
// worker with the largest heap, in bytes, or unknown if no worker reported one.
func (t Topology) ReportedConfig(heapLimit tuning.Figure) runstore.ReportedConfig {
	reported := runstore.ReportedConfig{
		TopologyID: t.ID, Bullet: t.Versions.Bullet, Storm: t.Versions.Storm, WorkerJava: t.Versions.Java,
		Plugin: t.Versions.Plugin, WorkerFlags: t.flags(), HeapFlags: heapFlags(t.flags()), GCFlags: gcFlags(t.flags()),
		HeapLimitBytes: heapLimit, Executors: t.parallelism(), Requested: t.resources(), Settings: []runstore.Entry{},
	}
	for _, key := range slices.Sorted(maps.Keys(t.Settings)) {
		reported.Settings = append(reported.Settings, runstore.Entry{Key: key, Value: t.Settings[key]})
	}
	return reported
}

// HeapLimit returns the maximum heap size in bytes that the JVMs of a topology's workers report. If they differ, it is
// the largest.
func HeapLimit(ctx context.Context, collector Calculator, topology string, at time.Time) (tuning.Figure, error) {
	return collector.Calculate(ctx, "max("+selector(topology, heapLimitMetric)+")", at)
}
