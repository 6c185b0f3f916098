package predict

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// Storm settings that the model knows. Bullet passes settings with the prefix custom on to Storm.
const (
	custom         = "bullet.topology.custom."
	workersSetting = "topology.workers"
	heapSetting    = "topology.worker.max.heap.size.mb"
	ackersSetting  = "topology.acker.executors"
	pendingSetting = "topology.max.spout.pending"
	dslSpout       = "bullet.topology.dsl.spout"
	dslBolt        = "bullet.topology.dsl.bolt"
	bulletSpout    = "bullet.topology.bullet.spout"
)

// Components whose names do not follow from their settings.
const (
	acker           = "__acker"
	metricsConsumer = "__metrics"
	tickSpout       = "TickSpout"
	dataSource      = "DataSource"
	dataSpout       = "DataSpout"
)

// prefixes are the prefixes of the components' settings. The sources of records are not among them; see components.
var prefixes = map[string]string{
	tuning.FilterBolt: "bullet.topology.filter.bolt", "JoinBolt": "bullet.topology.join.bolt",
	"QuerySpout": "bullet.topology.query.spout",
	"ResultBolt": "bullet.topology.result.bolt", "LoopBolt": "bullet.topology.loop.bolt",
	tickSpout: "bullet.topology.tick.spout",
}

const parallelism = ".parallelism"

// Settings are the settings of a topology by name: Bullet's YAML, with overrides. A Storm setting may have its own name
// or the prefix custom; get and Over treat both as the same setting.
type Settings map[string]string

// get returns a setting, with or without the prefix custom. Bullet's file has Storm's settings with the prefix, and a
// command line has them without it.
func (s Settings) get(name string) string {
	if v, has := s[name]; has {
		return v
	}
	return s[custom+name]
}

// number returns a setting as a number of at least 0. It returns false if the setting is missing or is not such a
// number.
func (s Settings) number(name string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s.get(name)), 64)
	return v, err == nil && v >= 0 && !math.IsInf(v, 0)
}

// components returns the settings' prefix of each component, by the component's name. The record source is one
// component or two, depending on whether the spout and the bolt of bullet-dsl are enabled.
func (s Settings) components() map[string]string {
	all := maps.Clone(prefixes)
	switch {
	case s.get(dslSpout+".enable") == "true" && s.get(dslBolt+".enable") == "true":
		all[dataSpout], all[dataSource] = dslSpout, dslBolt
	case s.get(dslSpout+".enable") == "true":
		all[dataSource] = dslSpout
	default:
		all[dataSource] = bulletSpout
	}
	return all
}

// Over returns a copy of the settings with overrides.
func (s Settings) Over(over Settings) Settings {
	all := Settings{}
	maps.Copy(all, s)
	for k, v := range over {
		delete(all, custom+k) // a setting replaces the same setting with the prefix, and the reverse
		delete(all, strings.TrimPrefix(k, custom))
		all[k] = v
	}
	return all
}

// Setup returns a copy of a setup with the values that the settings state. The heap is the last one that any of the JVM
// options sets, in the order in which Storm joins these options.
func (s Settings) Setup(of Setup) Setup {
	for name, prefix := range s.components() {
		if n, known := s.number(prefix + parallelism); known {
			of = of.With(name, n)
		}
	}
	if n, known := s.number(ackersSetting); known {
		of = of.With(acker, n)
	}
	for name, into := range map[string]*float64{workersSetting: &of.Workers, heapSetting: &of.HeapMiB,
		pendingSetting: &of.Pending} {
		if n, known := s.number(name); known {
			*into = n
		}
	}
	for _, name := range childopts {
		if mib, known := heapOf(s.get(name)); known {
			of.HeapMiB = mib
		}
	}
	return of
}

// childopts are the settings that may have a worker's -Xmx, in the order of the command line. The last one applies.
var childopts = []string{"worker.childopts", "topology.worker.childopts", "topology.worker.gc.childopts"}

var mostHeap = regexp.MustCompile(`-Xmx(\d+)([kKmMgG]?)`)

// heapOf returns the heap limit in JVM options, in MiB. If there are several -Xmx options, the JVM uses the last. A
// number without a unit is in bytes.
func heapOf(options string) (mib float64, known bool) {
	all := mostHeap.FindAllStringSubmatch(options, -1)
	if len(all) == 0 {
		return 0, false
	}
	last := all[len(all)-1]
	n, err := strconv.ParseFloat(last[1], 64)
	return n * map[string]float64{"": 1.0 / (1 << 20), "k": 1.0 / (1 << 10), "m": 1,
		"g": 1 << 10}[strings.ToLower(last[2])], err == nil
}

// Whole returns the setup of complete settings. It adds the tick spout and the metrics consumer, which run once without
// any setting.
func (s Settings) Whole() Setup {
	return s.Setup(Setup{Executors: map[string]float64{tickSpout: 1, metricsConsumer: 1}})
}

// Storm's defaults for a component without settings: topology.component.cpu.pcore.percent and
// .resources.onheap.memory.mb.
const (
	defaultCPU    = 10.0
	defaultOnHeap = 128.0
)

// Request is the resource request of a topology.
type Request struct {
	CPUCores  float64 `json:"cpu_cores"`
	MemoryMiB float64 `json:"memory_mib"`
	Machines  int     `json:"machines"`
	Limiting  string  `json:"limiting"`
}

// Request returns the sum of the resource requests of a setup's components, or nil if the settings request nothing.
// Components without settings of their own have Storm's defaults. The number of machines is the larger of those that
// CPU and memory need.
func (s Settings) Request(of Setup, machine tuning.Machine) *Request {
	r, components, set := &Request{}, s.components(), false
	for _, name := range slices.Sorted(maps.Keys(of.Executors)) { // sorted: the sum is reproducible
		n := of.Executors[name]
		value := func(suffix string, otherwise float64) float64 {
			v, known := s.number(components[name] + suffix)
			if !known {
				return otherwise
			}
			set = true
			return v
		}
		r.CPUCores += n * value(".cpu.load", defaultCPU) / 100
		r.MemoryMiB += n * (value(".memory.on.heap.load", defaultOnHeap) + value(".memory.off.heap.load", 0))
	}
	if !set {
		return nil
	}
	if machine.CPUCores > 0 {
		r.Machines, r.Limiting = int(math.Ceil(r.CPUCores/float64(machine.CPUCores)-1e-9)), tuning.LimitedByCPU
	}
	if machine.MemoryMiB > 0 {
		if n := int(math.Ceil(r.MemoryMiB/float64(machine.MemoryMiB) - 1e-9)); n > r.Machines {
			r.Machines, r.Limiting = n, tuning.LimitedByMemory
		}
	}
	return r
}

// modelled returns the settings whose change affects a prediction.
func (s Settings) modelled() (names []string) {
	for _, prefix := range s.components() {
		names = append(names, prefix+parallelism)
	}
	return append(names, workersSetting, heapSetting, ackersSetting)
}

// Check returns the overrides whose effect is not in the model. It returns an error for a setting that does not exist,
// with the nearest name. A misspelled name would otherwise be answered as if nothing had changed.
func (s Settings) Check(over Settings) (ignored []string, err error) {
	known := append(append(s.modelled(), pendingSetting), childopts...)
	for name := range s {
		known = append(known, name)
		if plain, handedOn := strings.CutPrefix(name, custom); handedOn {
			known = append(known, plain)
		}
	}
	for _, prefix := range s.components() {
		known = append(known, prefix+".cpu.load", prefix+".memory.on.heap.load", prefix+".memory.off.heap.load")
	}
	slices.Sort(known)
	for _, name := range slices.Sorted(maps.Keys(over)) {
		plain := strings.TrimPrefix(name, custom)
		switch {
		case !slices.Contains(known, name) && !slices.Contains(known, plain):
			hint := ""
			if near := yamlfile.Nearest(name, known...); near != "" {
				hint = fmt.Sprintf("; the nearest is %s", near)
			}
			return nil, fmt.Errorf("unknown setting %q of the topology%s", name, hint)
		case strings.HasSuffix(name, ".load"), s.get(plain) == over[name]:
		case slices.Contains(childopts, plain) && mostHeap.MatchString(over[name]):
		case !slices.Contains(s.modelled(), plain):
			ignored = append(ignored, name)
		default:
			if n, valid := over.number(name); !valid || n <= 0 {
				return nil, fmt.Errorf("setting %s: %q is not a positive number", name, over[name])
			}
		}
	}
	return ignored, nil
}
