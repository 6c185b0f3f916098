package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/sheet"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Where measurements come from: a CSV file, or the directory of a run, whose figures are the same that its report has as CSV.

// measured is a table, wherever it came from.
type measured[T any] struct {
	rows  []T
	notes []string
	// locate tells what is wrong by its place; lines gives findings theirs.
	locate func(error) error
	lines  func([]tuning.Finding)
	// run is nil where it came from a file.
	run *report.RunReport
}

func ofFile[T any](table *sheet.Table, rows []T) *measured[T] {
	return &measured[T]{rows: rows, notes: table.Notes, lines: table.Lines, locate: func(err error) error { return table.Locate(err, nil) }}
}

func ofRun[T any](dir string, run *report.RunReport, rows []T) *measured[T] {
	return &measured[T]{rows: rows, notes: run.Tables().Notes, lines: func([]tuning.Finding) {}, run: run, locate: func(err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%s: %w", dir, err)
	}}
}

// tableOf are the tables of runs by their analyses, as messages name them.
var tableOf = map[rundir.Analysis]string{
	rundir.OfData:        "data volumes",
	rundir.OfQueries:     "filter bolts by queries",
	rundir.OfConcurrency: "simultaneous queries",
	rundir.OfTimeline:    "a record's way through Bullet",
}

// openRun opens the run whose directory path is; nil where path is none, so that it is read as a file.
func openRun(path string) (*report.RunReport, error) {
	if about, err := os.Stat(path); err != nil || !about.IsDir() {
		return nil, nil
	}
	run, err := report.OpenRunReport(path)
	switch {
	case errors.Is(err, rundir.ErrNoRun) && runOfTrial(path) != "":
		return nil, fmt.Errorf("%s is a directory of one trial; name its run's, %s", path, runOfTrial(path))
	case errors.Is(err, rundir.ErrNoRun):
		return nil, fmt.Errorf("%s is a directory and no run's: it has no %s and %s; name a CSV file, or the directory that tune run wrote", path, rundir.ExperimentFile, rundir.PlanFile)
	}
	return run, err
}

// runOfTrial is the run's directory where path is one of its trials; "" where it is none.
func runOfTrial(path string) string {
	trials := filepath.Dir(filepath.Clean(path))
	if filepath.Base(trials) != rundir.TrialsDir {
		return ""
	}
	run := filepath.Dir(trials)
	if _, err := os.Stat(filepath.Join(run, rundir.ExperimentFile)); err != nil {
		return ""
	}
	return run
}

// hasTable asks for a run that has the table.
func hasTable(path string, run *report.RunReport, analysis rundir.Analysis) error {
	if run.Analysis == analysis {
		return nil
	}
	return fmt.Errorf("%s is a run of experiment %s, which is about %s (analysis: %s) and has no table of %s; name a run of an experiment with analysis: %s, or a CSV file",
		path, run.Experiment, tableOf[run.Analysis], run.Analysis, tableOf[analysis], analysis)
}

// nothingHeld says that a run has no step that met its goals, and how its steps ended.
func nothingHeld(path string, run *report.RunReport) error {
	counts := run.Verdicts()
	var ended []string
	for _, v := range []tuning.Verdict{tuning.OK, tuning.Fail, tuning.Limited, tuning.Inconclusive} {
		if n := counts[v]; n > 0 {
			ended = append(ended, fmt.Sprintf("%d %s", n, v))
		}
	}
	if len(ended) == 0 {
		return fmt.Errorf("%s: no step of the run was measured: go on with bullet-metrics tune run --resume %s", path, path)
	}
	return fmt.Errorf("%s: no configuration of the run is known to hold any of its loads (steps: %s); its report says why: bullet-metrics tune report %s", path, strings.Join(ended, ", "), path)
}

// readVolumes reads data volumes.
func readVolumes(path, cpu string) (*measured[tuning.DataRow], error) {
	run, err := openRun(path)
	if err != nil {
		return nil, err
	}
	if run == nil {
		table, rows, err := sheet.Data(path, sheet.CPU(cpu))
		if err != nil {
			return nil, err
		}
		return ofFile(table, rows), nil
	}
	if err := hasTable(path, run, rundir.OfData); err != nil {
		return nil, err
	}
	rows := run.Tables().Volumes
	if len(rows) == 0 {
		return nil, nothingHeld(path, run)
	}
	return ofRun(path, run, rows), nil
}

// queryGrid are points with what surrounds them.
type queryGrid struct {
	*measured[tuning.QueryPoint]
	// recordsPerS is the test's, unknown where nobody said.
	recordsPerS tuning.Figure
}

// readGrid reads filter bolts by queries.
func readGrid(path string) (*queryGrid, error) {
	run, err := openRun(path)
	if err != nil {
		return nil, err
	}
	if run == nil {
		table, err := sheet.Queries(path)
		if err != nil {
			return nil, err
		}
		return &queryGrid{ofFile(table.Table, table.Points), table.RecordsPerS}, nil
	}
	if err := hasTable(path, run, rundir.OfQueries); err != nil {
		return nil, err
	}
	tables := run.Tables()
	if len(tables.Points) == 0 {
		return nil, nothingHeld(path, run)
	}
	return &queryGrid{ofRun(path, run, tables.Points), tables.RecordsPerS}, nil
}

// goals are those of the command line, the latency limit and the run's own where it is from a run and none is given.
func (g *queryGrid) goals(asked tuning.QueryGoals, limitGiven bool) tuning.QueryGoals {
	if g.run != nil && !limitGiven {
		asked.LimitMs = g.run.Tables().QueryGoals.LimitMs
	}
	return asked
}

// readSteps reads the steps of one configuration; of a run, tolerance and expected size are the run's.
func readSteps(path string) (*measured[tuning.ConcurrencyRow], *report.ConfigurationSteps, error) {
	dir := path
	if run := runOfTrial(path); run != "" {
		dir = run
	}
	run, err := openRun(dir)
	if err != nil {
		return nil, nil, err
	}
	if run == nil {
		table, rows, err := sheet.Concurrency(path)
		if err != nil {
			return nil, nil, err
		}
		return ofFile(table, rows), nil, nil
	}
	if err := hasTable(dir, run, rundir.OfConcurrency); err != nil && run.Analysis != rundir.OfQueries { // whose steps are of queries too
		return nil, nil, err
	}
	steps, err := stepsOf(path, dir, run)
	if err != nil {
		return nil, nil, err
	}
	return ofRun(dir, run, steps.Rows), steps, nil
}

// stepsOf picks the configuration: the only one, or that of the trial whose directory path is.
func stepsOf(path, dir string, run *report.RunReport) (*report.ConfigurationSteps, error) {
	all := run.Tables().Concurrency
	if len(all) == 0 {
		return nil, nothingHeld(dir, run)
	}
	if len(all) == 1 && path == dir {
		return &all[0], nil
	}
	var trials []string
	for _, t := range run.Trials {
		name := rundir.PlannedTrial{Number: t.Number, Label: t.Label}.Name()
		trials = append(trials, filepath.Join(dir, rundir.TrialsDir, name))
		for i := range all {
			if filepath.Base(filepath.Clean(path)) == name && all[i].Label == t.Label {
				return &all[i], nil
			}
		}
	}
	if path != dir {
		return nil, fmt.Errorf("%s: no step of its configuration was measured", path)
	}
	return nil, fmt.Errorf("%s is a run of %d configurations; name the directory of a trial of the one that is meant: %s", path, len(all), strings.Join(trials, ", "))
}

// readComponents reads what a topology takes: of a run, what its topology asked of the scheduler.
func readComponents(path, cpu string, machine tuning.Machine) (*tuning.Resources, error) {
	dir := path
	if run := runOfTrial(path); run != "" {
		dir = run
	}
	run, err := openRun(dir)
	if err != nil {
		return nil, err
	}
	if run == nil {
		table, err := sheet.Resources(path, sheet.CPU(cpu))
		if err != nil {
			return nil, err
		}
		return table.Analyze(machine)
	}
	asked, err := askedOf(path, dir, run)
	if err != nil {
		return nil, err
	}
	return asked.Resources(machine)
}

func askedOf(path, dir string, run *report.RunReport) (*report.Asked, error) {
	var found *report.Asked
	configurations, trials := map[int]bool{}, []string{}
	for _, t := range run.Trials {
		name := rundir.PlannedTrial{Number: t.Number, Label: t.Label}.Name()
		if t.Report == nil || t.Report.Asked == nil || path != dir && filepath.Base(filepath.Clean(path)) != name {
			continue
		}
		configurations[t.Configuration], found = true, t.Report.Asked
		trials = append(trials, filepath.Join(dir, rundir.TrialsDir, name))
	}
	switch {
	case found == nil:
		return nil, fmt.Errorf("%s: no topology of the run told what it asks of the scheduler; give its table of components as a CSV file", path)
	case len(configurations) > 1:
		return nil, fmt.Errorf("%s is a run of %d configurations; name the directory of a trial of the one that is meant: %s", path, len(configurations), strings.Join(trials, ", "))
	}
	return found, nil
}

// readCurve reads a scaling curve; of a run of data volumes, that of records/s over the topology's cores.
func readCurve(path string) (*measured[tuning.ScalingRow], tuning.ScalingColumns, error) {
	run, err := openRun(path)
	if err != nil {
		return nil, tuning.ScalingColumns{}, err
	}
	if run == nil {
		curve, err := sheet.Scaling(path)
		if err != nil {
			return nil, tuning.ScalingColumns{}, err
		}
		of := ofFile(curve.Table, curve.Rows)
		of.locate = func(err error) error { return curve.Locate(err, curve.Places) }
		return of, curve.Names, nil
	}
	volumes, err := readVolumes(path, "")
	if err != nil {
		return nil, tuning.ScalingColumns{}, err
	}
	largest := map[float64]float64{} // the most records/s that so many cores held
	var rows []tuning.ScalingRow
	for _, v := range volumes.rows {
		largest[v.TotalCPUCores] = max(largest[v.TotalCPUCores], v.RecordsPerS)
	}
	for cores, records := range largest {
		rows = append(rows, tuning.ScalingRow{Size: cores, Throughput: records})
	}
	slices.SortFunc(rows, func(a, b tuning.ScalingRow) int { return cmp.Compare(a.Size, b.Size) })
	return ofRun(path, run, rows), tuning.ScalingColumns{Size: tuning.ColumnTotalCPU6, Throughput: tuning.ColumnRecordRate}, nil
}
