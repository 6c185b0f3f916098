// Package input reads the measurements that an analysis, a sizing or a scaling curve uses: from a CSV file, or from the
// directory of a run. The rows of a run are those that its report has as CSV, so that both give the same figures.
//
// It does not decide what the rows mean; tuning does. Sizing analyzes each table once, so that an error names its
// place. Start reading at source.read.
package input

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Table has the rows of a file or of a run.
type Table[T any] struct {
	Rows  []T
	Notes []string
	// Run is nil if the rows are from a file.
	Run    *report.RunReport
	path   string
	file   *csvtable.Table // nil if the rows are from a run
	places []int           // the rows of the file, or nil if Rows has all of them
}

// Locate adds the place to an error about a row: the line of a file, or the directory of a run.
func (t *Table[T]) Locate(err error) error {
	switch {
	case err == nil:
		return nil
	case t.file != nil:
		return t.file.Locate(err, t.places)
	}
	return fmt.Errorf("%s: %w", t.path, err)
}

// Lines adds the lines of a file to findings. Findings about a run have none.
func (t *Table[T]) Lines(findings []tuning.Finding) {
	if t.file != nil {
		t.file.Lines(findings)
	}
}

func ofFile[T any](path string, table *csvtable.Table, rows []T) *Table[T] {
	return &Table[T]{Rows: rows, Notes: table.Notes, path: path, file: table}
}

func ofRun[T any](path string, run *report.RunReport, rows []T) *Table[T] {
	return &Table[T]{Rows: rows, Notes: run.Tables().Notes, Run: run, path: path}
}

// source describes where the rows of an analysis come from.
type source[T any] struct {
	// analyses are those of the runs that have the table. Errors name the first one.
	analyses []runstore.Analysis
	ofFile   func(path string) (*csvtable.Table, []T, error)
	ofRun    func(*report.RunReport) ([]T, error)
}

// read reads the table of a file or of a run. A run must have a row.
func (s source[T]) read(path string) (*Table[T], error) {
	run, err := openRun(path)
	if err != nil {
		return nil, err
	}
	if run == nil {
		table, rows, err := s.ofFile(path)
		if err != nil {
			return nil, err
		}
		return ofFile(path, table, rows), nil
	}
	if !slices.Contains(s.analyses, run.Analysis) {
		return nil, fmt.Errorf("%s is a run of experiment %s (analysis: %[4]s) and has %[3]s but no %[5]s; name a run with analysis: %[6]s, or a CSV file",
			path, run.Experiment, tableOf[run.Analysis], run.Analysis, tableOf[s.analyses[0]], s.analyses[0])
	}
	rows, err := s.ofRun(run)
	if err == nil && len(rows) == 0 {
		err = nothingHeld(path, run)
	}
	return ofRun(path, run, rows), err
}

// openRun opens a run, or one of its trials as a run of one trial. It returns nil if path is no directory, because it
// is then read as a file.
func openRun(path string) (*report.RunReport, error) {
	if about, err := os.Stat(path); err != nil || !about.IsDir() {
		return nil, nil
	}
	run, err := report.OpenRunReport(path)
	if errors.Is(err, runstore.ErrNoRun) {
		return nil, fmt.Errorf("%s is not a run directory, because it has no %s and %s; name a CSV file or an output directory of tune run",
			path, runstore.ExperimentFile, runstore.PlanFile)
	}
	return run, err
}

// tableOf names the table of a run by its analysis.
var tableOf = map[runstore.Analysis]string{
	runstore.OfData:        "data volumes",
	runstore.OfQueries:     "filter bolts by queries",
	runstore.OfConcurrency: "simultaneous queries",
	runstore.OfTimeline:    "a record timeline",
}

// nothingHeld returns the error of a run without a step that met its goals. It states how the steps ended.
func nothingHeld(path string, run *report.RunReport) error {
	ended := report.VerdictCounts(run.Verdicts())
	if len(ended) == 0 {
		return fmt.Errorf("%s: no step of the run was measured yet; continue it with bullet-metrics tune run --resume %s", path,
			path)
	}
	return fmt.Errorf("%s: no configuration of the run held any of its loads (steps: %s); bullet-metrics tune report %s shows why",
		path, strings.Join(ended, ", "), path)
}

// several returns the error of a run with several configurations. It names the directories of trials, each of which
// has one.
func several(path string, configurations int, of []*report.TrialReport) error {
	trials := tuning.Each(of, func(t *report.TrialReport) string {
		return runstore.TrialDir(path, runstore.PlannedTrial{Number: t.Number, Label: t.Label})
	})
	return fmt.Errorf("%s is a run of %d configurations; choose one by naming the directory of one of its trials: %s",
		path, configurations, strings.Join(trials, ", "))
}

// Concurrency reads the steps of one configuration. own has the steps of a run, with its tolerance and result size; it
// is nil for a file.
func Concurrency(path string) (table *Table[tuning.ConcurrencyRow], own *report.NamedConcurrency, err error) {
	table, err = source[tuning.ConcurrencyRow]{
		analyses: []runstore.Analysis{runstore.OfConcurrency, runstore.OfQueries}, // both have steps of queries
		ofFile:   csvtable.Concurrency,
		ofRun: func(run *report.RunReport) ([]tuning.ConcurrencyRow, error) {
			all := run.Tables().Concurrency
			switch len(all) {
			case 0:
				return nil, nil
			case 1:
				own = &all[0]
				return own.Rows, nil
			}
			return nil, several(path, len(all), run.Trials)
		},
	}.read(path)
	return table, own, err
}

// Volumes reads data volumes. cpu is the meaning of a column cpu_cores.
func Volumes(path string, cpu csvtable.CPU) (*Table[tuning.DataRow], error) {
	return source[tuning.DataRow]{
		analyses: []runstore.Analysis{runstore.OfData},
		ofFile: func(path string) (*csvtable.Table, []tuning.DataRow, error) {
			return csvtable.Data(path, cpu)
		},
		ofRun: func(run *report.RunReport) ([]tuning.DataRow, error) { return run.Tables().Volumes, nil },
	}.read(path)
}

// Grid has the points of filter bolts by queries.
type Grid struct {
	*Table[tuning.QueryPoint]
	// RecordsPerS is the record rate of the measurement, or unknown.
	RecordsPerS tuning.Figure
}

// Queries reads filter bolts by queries.
func Queries(path string) (*Grid, error) {
	grid := &Grid{}
	var err error
	grid.Table, err = source[tuning.QueryPoint]{
		analyses: []runstore.Analysis{runstore.OfQueries},
		ofFile: func(path string) (*csvtable.Table, []tuning.QueryPoint, error) {
			table, err := csvtable.Queries(path)
			if err != nil {
				return nil, nil, err
			}
			grid.RecordsPerS = table.RecordsPerS
			return table.Table, table.Points, nil
		},
		ofRun: func(run *report.RunReport) ([]tuning.QueryPoint, error) {
			grid.RecordsPerS = run.Tables().RecordsPerS
			return run.Tables().Points, nil
		},
	}.read(path)
	return grid, err
}

// Goals returns the given goals. The latency limit is that of the run, if there is one and limitGiven is not set.
func (g *Grid) Goals(given tuning.QueryGoals, limitGiven bool) tuning.QueryGoals {
	if g.Run != nil && !limitGiven {
		given.LimitMs = g.Run.Tables().QueryGoals.LimitMs
	}
	return given
}

// Scaling reads a scaling curve. The curve of a run of data volumes is records/s over the cores that its workers used.
// If these are unknown for a volume, it is over the cores that the volumes request.
func Scaling(path string) (*Table[tuning.ScalingRow], tuning.ScalingColumns, error) {
	run, err := openRun(path)
	if err != nil {
		return nil, tuning.ScalingColumns{}, err
	}
	if run == nil {
		curve, err := csvtable.Scaling(path)
		if err != nil {
			return nil, tuning.ScalingColumns{}, err
		}
		table := ofFile(path, curve.Table, curve.Rows)
		table.places = curve.Places
		return table, curve.Names, nil
	}
	volumes, err := Volumes(path, csvtable.CPUUnsaid)
	if err != nil {
		return nil, tuning.ScalingColumns{}, err
	}
	largest := map[float64]float64{} // the most records/s that so many cores held
	names := tuning.ScalingColumns{Size: tuning.ColumnTotalCPU6, Throughput: tuning.ColumnRecordRate}
	cores := func(v tuning.DataRow) float64 { return v.TotalCPUCores }
	if !slices.ContainsFunc(volumes.Rows, func(v tuning.DataRow) bool { return v.UsedCPUCores == 0 }) {
		names.Size = tuning.ColumnUsedCPU
		cores = func(v tuning.DataRow) float64 { return v.UsedCPUCores }
	}
	for _, v := range volumes.Rows {
		largest[cores(v)] = max(largest[cores(v)], v.RecordsPerS)
	}
	rows := tuning.Each(slices.Sorted(maps.Keys(largest)), func(cores float64) tuning.ScalingRow {
		return tuning.ScalingRow{Size: cores, Throughput: largest[cores]}
	})
	return ofRun(path, run, rows), names, nil
}

// Resources reads and adds up the components of a topology. For a run, they are what its topology requested.
func Resources(path string, cpu csvtable.CPU, machine tuning.Machine) (*tuning.Resources, error) {
	run, err := openRun(path)
	if err != nil {
		return nil, err
	}
	if run == nil {
		table, err := csvtable.Resources(path, cpu)
		if err != nil {
			return nil, err
		}
		return table.Analyze(machine)
	}
	var requested *runstore.ResourceRequest
	var trials []*report.TrialReport
	configurations := map[int]bool{}
	for _, t := range run.Trials {
		if t.Report != nil && t.Report.Requested != nil {
			configurations[t.Configuration], requested = true, t.Report.Requested
			trials = append(trials, t)
		}
	}
	switch {
	case requested == nil:
		return nil, fmt.Errorf(
			"%s: the resource request of the topologies is unknown; give a table of components as a CSV file", path)
	case len(configurations) > 1:
		return nil, several(path, len(configurations), trials)
	}
	return requested.Resources(machine)
}
