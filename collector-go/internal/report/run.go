// Package report turns a run into what people read: sections of tables, verdicts and figures, and the same as JSON and
// CSV. A Run holds everything that a trial's report is made of, so a report can be made again from a run's directory.
// The package knows no network and no process; it reads no clock.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Worker is what was recorded of one worker, "host:port".
type Worker struct {
	Name string `json:"worker"`
	// Pids are the processes that held the worker's slot, in their order; more than one after a restart.
	Pids []int `json:"pids"`
	// CPUSeconds and GCSeconds are totals (CPU: user and system; GC: all collectors); HeapUsedBytes is a gauge.
	CPUSeconds Slices `json:"cpu_seconds"`
	// CPUUserSeconds and CPUSystemSeconds are its parts; empty where the worker's system does not tell them apart.
	CPUUserSeconds   Slices `json:"cpu_user_seconds,omitzero"`
	CPUSystemSeconds Slices `json:"cpu_system_seconds,omitzero"`

	GCSeconds     Slices `json:"gc_seconds"`
	HeapUsedBytes Slices `json:"heap_used_bytes"`
	// Collectors are the worker's garbage collectors apart, by name.
	Collectors []Collector `json:"collectors,omitempty"`
	// StartsMs are when the processes that held the slot were started, ms since the Unix epoch, ascending.
	StartsMs []int64 `json:"starts_ms,omitempty"`
}

// Collector is one of a worker's garbage collectors; both are totals.
type Collector struct {
	Name        string `json:"collector"`
	Seconds     Slices `json:"seconds"`
	Collections Slices `json:"collections"`
}

// Clients is what the load client saw of a step's queries.
type Clients = rundir.Clients

// Share is a process' share of all the host's processors over a step's measured time.
type Share = rundir.Share

// Step is one step of the run. Its measured time is (MeasuredFromMs, EndMs]; what comes before is warm-up.
type Step struct {
	Queries int `json:"queries"`
	// Launch counts from 1 the launches of the trial's topology; 0 where it was launched once.
	Launch         int     `json:"launch,omitempty"`
	StartMs        int64   `json:"start_ms"`
	MeasuredFromMs int64   `json:"measured_from_ms"`
	EndMs          int64   `json:"end_ms"`
	Clients        Clients `json:"clients"`
	HostIdle       Figure  `json:"host_idle"`
	Shares         []Share `json:"shares"`
	// RecordsPerSecond is what the record source really emitted, RecordsLag how many records were due and not emitted
	// at the end.
	RecordsPerSecond Figure `json:"records_per_second"`
	RecordsLag       int64  `json:"records_lag"`
	// Evidence is of what limited the step; nil where nobody gathered any.
	Evidence *tuning.Evidence `json:"evidence,omitempty"`
	// FilterLatency are the percentiles that the latency hook reported, Sharing is who shared what; nil where there are
	// none.
	FilterLatency *Percentiles `json:"filter_latency,omitempty"`
	Sharing       *Sharing     `json:"sharing,omitempty"`
}

// Component is a row of what the topology asks of the scheduler; what is not set is null.
type Component struct {
	Name          string `json:"component"`
	Parallelism   int    `json:"parallelism"`
	CPUCoresTotal Figure `json:"cpu_cores_total"`
	OnHeapMiB     Figure `json:"on_heap_mib"`
	OffHeapMiB    Figure `json:"off_heap_mib"`
	MemoryMiB     Figure `json:"total_memory_mib"`
}

// Asked is what a topology asks of the scheduler, by its own configuration, and what bounds the records on their way.
type Asked struct {
	Components []Component         `json:"components"`
	Totals     tuning.StatedTotals `json:"totals"`
	// Spouts counts the true max spout pending and the fan-out; nil where no spout of records is known.
	Spouts *tuning.SpoutPending `json:"spouts,omitempty"`
}

// Reading is one look at the host while the record rate was calibrated.
type Reading struct {
	RecordsPerSecond Figure `json:"records_per_second"`
	HostIdle         Figure `json:"host_idle"`
}

// Calibration is how the record rate was found.
type Calibration struct {
	TargetIdle       Figure    `json:"target_idle"`
	Readings         []Reading `json:"readings"`
	RecordsPerSecond Figure    `json:"records_per_second"`
}

// Entry is a line of the manifest.
type Entry = rundir.Entry

// Run is everything that a report is made of.
type Run struct {
	Topology string       `json:"topology"`
	Goals    tuning.Goals `json:"goals"`
	// SubmittedMs is when the topology was submitted, CollectedMs when the last figures were read.
	SubmittedMs int64 `json:"submitted_ms"`
	CollectedMs int64 `json:"collected_ms"`
	// StoredSliceMs is the collector's slice width, SliceMs that of the report.
	StoredSliceMs int64       `json:"stored_slice_ms"`
	SliceMs       int64       `json:"slice_ms"`
	Query         string      `json:"query"`
	Manifest      []Entry     `json:"manifest"`
	Settings      []Entry     `json:"settings"`
	Calibration   Calibration `json:"calibration"`
	Steps         []Step      `json:"steps"`
	Workers       []Worker    `json:"workers"`
	// QueriesRunning is the sum of bullet_active_queries over the JoinBolt's tasks; FilterLatencySeconds is
	// bullet_filter_latency's mean of each filter task.
	QueriesRunning       Slices   `json:"queries_running"`
	FilterLatencySeconds []Slices `json:"filter_latency_seconds"`
	// Asked is nil where the topology reported none.
	Asked *Asked `json:"asked,omitempty"`
	// Placement is where the tasks ran when the figures were read; nil where it is not known.
	Placement *Placement `json:"placement,omitempty"`
	// Marks are the collector's annotations of the topology, by time; nil where the collector reported none.
	Marks             []Mark `json:"marks,omitzero"`
	CollectorRestarts int    `json:"collector_restarts"`
	// Health is how the samples came; nil where the collector reported none.
	Health *collection.Collection `json:"health,omitempty"`
	// OneMachine says that cluster, load and collector shared the machine with the topology.
	OneMachine bool `json:"one_machine,omitempty"`
	// Notes are what the run wants its reader to know.
	Notes []string `json:"notes"`
}

const runFile = "run.json"

// Save writes the run into its directory.
func (r *Run) Save(dir string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("save the run: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, runFile), text, 0o644)
}

// LoadRun reads what Save wrote.
func LoadRun(dir string) (*Run, error) {
	text, err := os.ReadFile(filepath.Join(dir, runFile))
	if err != nil {
		return nil, err
	}
	run := new(Run)
	if err := json.Unmarshal(text, run); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, runFile), err)
	}
	return run, nil
}

// restartsMs are the starts but the first, as far as they lie in (from, to].
func (w Worker) restartsMs(from, to int64) (all []int64) {
	for i, ms := range w.StartsMs {
		if i > 0 && ms > from && ms <= to {
			all = append(all, ms)
		}
	}
	return all
}

// filterLatencyMs are the tasks' means over (fromMs, toMs].
func (r *Run) filterLatencyMs(fromMs, toMs int64) []Figure {
	var tasks []Figure
	for _, task := range r.FilterLatencySeconds {
		tasks = append(tasks, task.mean(fromMs, toMs)*1000)
	}
	return tasks
}

// hasPercentiles is whether the hook reported any.
func (r *Run) hasPercentiles() bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool { return s.FilterLatency != nil })
}

// adopt gives the run's steps what only the trial's own files know of them; those of older runs hold less.
func (r *Run) adopt(steps []rundir.Step) {
	for i := range r.Steps {
		for _, s := range steps {
			if s.StartMs == r.Steps[i].StartMs {
				r.Steps[i].Launch = s.Launch
				if r.Steps[i].FilterLatency == nil {
					r.Steps[i].FilterLatency = percentilesOf(s.Figures)
				}
			}
		}
	}
}
