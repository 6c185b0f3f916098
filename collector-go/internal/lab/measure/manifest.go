package measure

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/procfs"

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
		HeapLimitBytes: heapLimit, Executors: t.parallelism(), Requested: t.resources(),
	}
	reported.Settings = tuning.Each(slices.Sorted(maps.Keys(t.Settings)), func(key string) runstore.Entry {
		return runstore.Entry{Key: key, Value: t.Settings[key]}
	})
	return reported
}

// HeapLimit returns the maximum heap size in bytes that the JVMs of a topology's workers report. If they differ, it is
// the largest.
func HeapLimit(ctx context.Context, collector Calculator, topology string, at time.Time) (tuning.Figure, error) {
	return collector.Calculate(ctx, "max("+selector(topology, heapLimitMetric)+")", at)
}

// Environment holds facts about a topology's surroundings that the collector cannot know, such as the capacity of the
// query endpoint and the number of Kafka partitions. They are part of the evidence for the limiter of a step.
type Environment struct {
	// Endpoint is tuning.EndpointDRPC or tuning.EndpointGateway. EndpointCapacity is the maximum number of concurrent
	// queries it accepts, 0 if unknown.
	Endpoint         string
	EndpointCapacity int
	// Partitions is the number of partitions of the Kafka topic that the spouts read. It is 0 if unknown or if there
	// is no topic.
	Partitions int
	// HostOfRun states that the observed machine is the one that runs "tune run", and that no workers run on it.
	HostOfRun bool
}

// Names of the processes whose share of the host's CPU is evidence.
const (
	ClientProcess    = "load client"
	RunProcess       = "tune run" // used if load clients on other hosts run the queries
	CollectorProcess = "collector"
)

// addTo adds the facts to the evidence. Unknown facts stay unknown.
func (a Environment) addTo(e *tuning.Evidence) {
	e.Queries.Endpoint, e.Host.OfRun = a.Endpoint, a.HostOfRun
	if a.EndpointCapacity > 0 {
		e.Queries.EndpointCapacity = tuning.Figure(a.EndpointCapacity)
	}
	if a.Partitions > 0 {
		e.Source.Partitions = tuning.Figure(a.Partitions)
	}
}

// addStep adds what the run itself observed during the step. The CPU shares of the load client and of the collector
// also become evidence fields of their own.
func addStep(e *tuning.Evidence, step runstore.Step, minIdle float64) {
	e.Queries.Submitted = tuning.Figure(step.Queries)
	for i := range e.Queries.BySlice {
		e.Queries.BySlice[i].Submitted = tuning.Figure(step.Queries)
	}
	c := step.Clients
	e.Queries.Returned, e.Queries.Failed, e.Queries.Refused = tuning.Figure(c.Returned), tuning.Figure(c.Failed),
		tuning.Figure(c.Refused)
	e.Client.LatenessP99Ms = c.LatenessP99Ms
	for _, h := range c.Hosts {
		e.Client.Hosts = append(e.Client.Hosts, tuning.ClientHost{Host: h.Host, LatenessP99Ms: h.LatenessP99Ms,
			CPUCores: h.CPUCores, CPULimitCores: h.CPULimitCores})
	}
	e.Host.IdleRatio, e.Host.MinIdleRatio, e.Host.Cores = step.HostIdle, tuning.Figure(minIdle),
		tuning.Figure(runtime.NumCPU())
	for _, s := range step.Shares {
		e.Host.Shares = append(e.Host.Shares, s.Evidence())
		switch s.Process {
		case ClientProcess:
			e.Client.CPUCores, e.Client.CPULimitCores = s.Ratio*e.Host.Cores, tuning.Figure(runtime.GOMAXPROCS(0))
		case CollectorProcess:
			e.Collector.ShareOfHost = s.Ratio
		}
	}
	// for a Kafka source the gateway's status describes the producer, not the topology
	if !e.Source.LagEnd.Known() && e.Source.Kind != tuning.SourceKafka {
		e.Source.LagEnd = tuning.Figure(step.RecordsLag)
	}
}

// ofHeap matches JVM options about the heap and other memory limits, ofGC those about the garbage collector. Many
// options of a garbage collector begin with its name.
var (
	ofHeap = regexp.MustCompile(`^-(?:Xm[snx]|Xss|XX:(?:(?:Initial|Min|Max|SoftMax)HeapSize|(?:Initial|Min|Max)RAMPercentage|MaxRAM|(?:Max)?NewSize|MaxDirectMemorySize` +
		`|(?:Max)?MetaspaceSize|(?:Max)?PermSize|CompressedClassSpaceSize|ReservedCodeCacheSize|ThreadStackSize)=)`)
	ofGC = regexp.MustCompile(`^-(?:Xnoclassgc|Xlog:gc|Xloggc|verbose:gc|XX:(?:[+-]?(?:\w*GC\w*|G1\w+|CMS\w+|UseCMS\w+|Shenandoah\w+|Z[A-Z]\w+|UseAdaptive\w+|ParallelRefProcEnabled` +
		`|UseStringDeduplication|AlwaysPreTouch)(?:=.*)?|(?:NewRatio|(?:Target)?SurvivorRatio|(?:Initial|Max)TenuringThreshold|PretenureSizeThreshold` +
		`|InitiatingHeapOccupancyPercent|(?:Min|Max)HeapFreeRatio)=.*)$)`)
)

// heapFlags returns the JVM options about memory, gcFlags those about the garbage collector.
func heapFlags(options string) string { return effective(options, ofHeap) }
func gcFlags(options string) string   { return effective(options, ofGC) }

// effective returns the options of one kind without repetitions. If an option occurs twice, the JVM uses the last, and
// so does effective.
func effective(options string, kind *regexp.Regexp) string {
	var all []string
	for _, option := range strings.Fields(options) {
		if !kind.MatchString(option) {
			continue
		}
		all = slices.DeleteFunc(all, func(earlier string) bool { return flagName(earlier) == flagName(option) })
		all = append(all, option)
	}
	return strings.Join(all, " ")
}

var flagNames = regexp.MustCompile(`^-X(?:m[snx]|ss)|^-XX:[+-]?\w+|^-[\w:]+`)

// flagName returns the name of an option without its value or its + or - sign.
func flagName(option string) string {
	return strings.NewReplacer("+", "", "-XX:-", "-XX:").Replace(flagNames.FindString(option))
}

// HostTime is the time that all processors together have spent since boot.
type HostTime struct{ Idle, Total time.Duration }

// idleSince returns the idle ratio of the processors since an earlier reading; NaN if no time has passed.
func (h HostTime) idleSince(before HostTime) float64 {
	return float64(h.Idle-before.Idle) / float64(h.Total-before.Total)
}

// Proc reads CPU times and hardware facts from /proc.
type Proc struct{ fs procfs.FS }

// NewProc returns a reader of this machine's /proc.
func NewProc() (*Proc, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, fmt.Errorf("measure this machine: %w", err)
	}
	return &Proc{fs}, nil
}

// Host reads /proc/stat. Waiting for a disk counts as idle.
func (p *Proc) Host() (HostTime, error) {
	stat, err := p.fs.Stat()
	if err != nil {
		return HostTime{}, err
	}
	c := stat.CPUTotal
	idle := c.Idle + c.Iowait
	total := idle + c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal // guest time is part of user time
	return HostTime{Idle: seconds(idle), Total: seconds(total)}, nil
}

// Process returns the user and system time of a process since its start; false if the process has ended.
func (p *Proc) Process(pid int) (time.Duration, bool) {
	stat, err := ProcessStat(pid)
	return seconds(stat.CPUTime()), err == nil
}

// ProcessStat reads /proc/PID/stat. It returns an error if the process has ended.
func ProcessStat(pid int) (procfs.ProcStat, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return process.Stat()
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
