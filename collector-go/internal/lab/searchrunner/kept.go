// Package searchrunner runs the trials of a search (tune optimize) on a cluster and stores their outcomes. Each trial
// is a run of its own, in a directory below trials/ (docs/tune/search-file.md#directory-of-a-search).
//
// The package has three tasks. It combines search file and experiment file into the experiment of a configuration. It
// reads and writes the directory of a search. It runs the loop that resumes from that directory after an interrupt. It
// must not know how the next configuration is chosen, which optimize.Search decides, or how a topology is launched,
// which is behind Engine.
//
// Start reading at Runner in runner.go. Kept and Outcome in this file are the stored form of a trial.
package searchrunner

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// The files of a search's directory. Each trial is a run directory of its own below TrialsDir, with an additional
// KeptFile.
const (
	TrialsDir = "trials"
	KeptFile  = "trial.json"
	TermsFile = "terms.json"
	SpaceFile = "space.yaml"
)

// Kept is the content of trial.json: one trial. The file is written without an outcome when the trial starts, and again
// when it ends. A file without an outcome therefore marks a trial that was interrupted and must run again.
type Kept struct {
	// Number counts the trials of the directory from 1 in the order of their start. Attempt counts the trials of the
	// configuration.
	Number  int `json:"number"`
	Attempt int `json:"attempt"`
	// Why is the reason for which the search proposed the trial.
	Why string `json:"why"`
	// Settings are the values by the settings' names in formulas.
	Settings map[string]string `json:"settings"`
	// Outcome is the result. It is nil while the trial runs and after an interrupt.
	Outcome *Outcome `json:"outcome"`

	Dir string `json:"-"`
}

// Outcome is the result of a trial as the search needs it. Figures that were not measured are Unknown and never 0,
// because the search would take a latency of 0 ms for an excellent one.
type Outcome struct {
	Verdict      tuning.Verdict `json:"verdict"`
	LatencyMs    tuning.Figure  `json:"latency_ms"`
	Completeness tuning.Figure  `json:"completeness"`
	CatchUp      tuning.Figure  `json:"catch_up"`
	// Noise is the relative standard deviation between trials of the configuration. It is unknown unless it is stated
	// or visible within the trial.
	Noise   tuning.Figure  `json:"noise"`
	Limiter tuning.Limiter `json:"limiter,omitempty"`
	Reasons []string       `json:"reasons"`
	// Error is the reason why the trial could not be measured.
	Error string `json:"error,omitempty"`
	// Resource usage: the CPU cores of all workers, the idle share of the host, and the records that the topology
	// processed.
	CPUCores         tuning.Figure `json:"cpu_cores"`
	HostIdle         tuning.Figure `json:"host_idle"`
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
	// Seconds is the duration of the trial from its launch to its end. For a trial that was interrupted and run again
	// it is the duration of the last run.
	Seconds float64 `json:"seconds"`
}

// unmeasured returns an outcome with a verdict and without figures.
func unmeasured(verdict tuning.Verdict) Outcome {
	u := tuning.Unknown
	return Outcome{Verdict: verdict, LatencyMs: u, Completeness: u, CatchUp: u, Noise: u, CPUCores: u, HostIdle: u,
		RecordsPerSecond: u, Reasons: []string{}}
}

// trial converts the outcome, which must not be nil, to a trial of the search.
func (k Kept) trial(p optimize.Point) optimize.Trial {
	o := k.Outcome
	return optimize.Trial{Point: p, Verdict: o.Verdict, LatencyMs: o.LatencyMs, Completeness: o.Completeness,
		CatchUp: o.CatchUp, Noise: o.Noise, Limiter: o.Limiter, Seconds: o.Seconds, Why: k.Why}
}

// tally counts the stored trials of each configuration that were measured, and those that could not be measured.
func (s *Search) tally(kept []Kept) (measured, failed map[string]int) {
	measured, failed = map[string]int{}, map[string]int{}
	for _, k := range kept {
		p, found := s.Space.At(k.Settings)
		switch {
		case !found || k.Outcome == nil:
		case k.Outcome.Error != "":
			failed[s.Space.Text(p)]++
		default:
			measured[s.Space.Text(p)]++
		}
	}
	return measured, failed
}

// mostFailed is how often a configuration that cannot be measured is tried.
const mostFailed = 2

// Finished returns the stored trials that have an outcome and belong to the space of the search. A configuration that
// could not be measured mostFailed times counts as FAIL, but only if another trial was measured after it. That shows
// that the configuration was at fault and not the cluster.
func (s *Search) Finished(kept []Kept) (all []optimize.Trial) {
	measured, failed := s.tally(kept)
	for i, k := range kept {
		p, found := s.Space.At(k.Settings)
		if !found || k.Outcome == nil {
			continue
		}
		t, label := k.trial(p), s.Space.Text(p)
		after, _ := s.tally(kept[i:])
		if k.Outcome.Error != "" && measured[label] == 0 && failed[label] >= mostFailed && len(after) > 0 {
			t.Verdict = tuning.Fail
		}
		all = append(all, t)
	}
	return all
}

// GridLeft returns the trials that are still needed to measure every one of the points.
func (s *Search) GridLeft(points []optimize.Point, kept []Kept) (left []optimize.Proposal) {
	measured, failed := s.tally(kept)
	for _, p := range points {
		if label := s.Space.Text(p); measured[label] == 0 && failed[label] < mostFailed {
			left = append(left, optimize.Proposal{Point: p, Attempt: failed[label] + 1,
				Why: fmt.Sprintf("the grid of %d configurations", len(points))})
		}
	}
	return left
}

// Load reads the trials of a search's directory in their order, or none if there is no directory.
func Load(dir string) (all []Kept, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, TrialsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		k := Kept{Dir: filepath.Join(dir, TrialsDir, entry.Name())}
		path := filepath.Join(k.Dir, KeptFile)
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the trial was not started
		}
		if err == nil {
			err = json.Unmarshal(text, &k)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w; restore it, or remove the trial's directory: it is then run again", path,
				err)
		}
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b Kept) int { return cmp.Compare(a.Number, b.Number) })
	return all, nil
}

// save writes the file of a trial atomically.
func (k Kept) save() error {
	text, err := json.MarshalIndent(k, "", " ")
	if err != nil {
		return fmt.Errorf("trial %d: %w", k.Number, err)
	}
	if err := os.MkdirAll(k.Dir, 0o755); err != nil {
		return err
	}
	return write(k.Dir, KeptFile, append(text, '\n'))
}

func write(dir, name string, text []byte) error {
	return disk.WriteAside(disk.System{}, dir, filepath.Join(dir, name), text)
}

// dirOf returns the directory of a trial.
func dirOf(dir string, number int, label string) string {
	return filepath.Join(dir, TrialsDir, runstore.PlannedTrial{Number: number, Label: label}.Name())
}
