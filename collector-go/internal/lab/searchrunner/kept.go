// Package searchrunner runs the trials of a search (tune optimize) on a cluster and stores their outcomes. Each trial
// is a run of its own, in a directory below trials/ (docs/tune/search-file.md#directory-of-a-search).
//
// The package owns three things: the experiment that a configuration is measured with (search file and experiment file
// combined), the directory of a search, and the loop that resumes from that directory after an interrupt. It must not
// know how the next configuration is chosen, which optimize.Search decides, nor how a topology is launched, which is
// behind Engine.
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

// The files of a search's directory; each trial is a directory of its own below TrialsDir, with its KeptFile beside a
// run's.
const (
	TrialsDir = "trials"
	KeptFile  = "trial.json"
	TermsFile = "terms.json"
	SpaceFile = "space.yaml"
)

// Kept is the content of trial.json: one trial. The file is written when the trial starts, without an outcome, and
// again when it ends. A file without an outcome therefore marks a trial that was cut off and must run again.
type Kept struct {
	// Number counts the trials of the directory from 1, in the order in which they were begun; Attempt those of the
	// configuration.
	Number  int `json:"number"`
	Attempt int `json:"attempt"`
	// Why is why it was proposed.
	Why string `json:"why"`
	// Settings are the values by what the file's formulas call the settings.
	Settings map[string]string `json:"settings"`
	// Outcome is what came of it; nil while it is under way, and where it was cut off.
	Outcome *Outcome `json:"outcome"`

	Dir string `json:"-"`
}

// Outcome is the result of a trial as the search needs it. Figures that were not measured are Unknown, never 0: the
// search would take a latency of 0 ms for an excellent one.
type Outcome struct {
	Verdict      tuning.Verdict `json:"verdict"`
	LatencyMs    tuning.Figure  `json:"latency_ms"`
	Completeness tuning.Figure  `json:"completeness"`
	CatchUp      tuning.Figure  `json:"catch_up"`
	// Noise is by how much trials of the configuration differ, as far as that is stated or shown: a relative standard
	// deviation.
	Noise   tuning.Figure  `json:"noise"`
	Limiter tuning.Limiter `json:"limiter,omitempty"`
	Reasons []string       `json:"reasons"`
	// Error is why it could not be measured.
	Error string `json:"error,omitempty"`
	// What it used: CPU cores of all workers, the share of the host that was left, the records that the topology took.
	CPUCores         tuning.Figure `json:"cpu_cores"`
	HostIdle         tuning.Figure `json:"host_idle"`
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
	// Seconds is how long it took, from its launch to its end; of one that was cut off and played again the time of the
	// second.
	Seconds float64 `json:"seconds"`
}

// unmeasured is an outcome without figures.
func unmeasured(verdict tuning.Verdict) Outcome {
	u := tuning.Unknown
	return Outcome{Verdict: verdict, LatencyMs: u, Completeness: u, CatchUp: u, Noise: u, CPUCores: u, HostIdle: u,
		RecordsPerSecond: u, Reasons: []string{}}
}

// trial is what the search takes.
func (k Kept) trial(p optimize.Point) optimize.Trial {
	o := k.Outcome
	return optimize.Trial{Point: p, Verdict: o.Verdict, LatencyMs: o.LatencyMs, Completeness: o.Completeness,
		CatchUp: o.CatchUp, Noise: o.Noise, Limiter: o.Limiter, Seconds: o.Seconds, Why: k.Why}
}

// tally counts, of trials that are kept, those of each configuration that were measured, and those that could not be.
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
// could not be measured mostFailed times counts as FAIL, but only if another configuration was measured after it. That
// shows that the configuration was at fault and not the cluster.
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

// GridLeft are the trials that a grid of points still lacks.
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

// Load reads the trials of a search's directory in their order; none where there is no directory.
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
			continue // it was not begun
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

// save writes a trial's file, whole or not at all.
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

// dirOf is a trial's directory.
func dirOf(dir string, number int, label string) string {
	return filepath.Join(dir, TrialsDir, runstore.PlannedTrial{Number: number, Label: label}.Name())
}
