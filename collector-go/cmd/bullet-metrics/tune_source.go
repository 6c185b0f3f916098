package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Where measurements come from: a CSV file, or the directory of a run, whose figures are the same that its report has
// as CSV.

// measured is a table, wherever it came from.
type measured[T any] struct {
	rows  []T
	notes []string
	// locate names the place of what is wrong; lines gives findings theirs.
	locate func(error) error
	lines  func([]tuning.Finding)
	// run is nil where it came from a file.
	run *report.RunReport
}

func ofFile[T any](table *csvtable.Table, rows []T) *measured[T] {
	return &measured[T]{rows: rows, notes: table.Notes, lines: table.Lines, locate: func(err error) error {
		return table.Locate(err, nil)
	}}
}

func ofRun[T any](dir string, run *report.RunReport, rows []T) *measured[T] {
	return &measured[T]{rows: rows, notes: run.Tables().Notes, lines: func([]tuning.Finding) {}, run: run,
		locate: func(err error) error {
			if err == nil {
				return nil
			}
			return fmt.Errorf("%s: %w", dir, err)
		}}
}

// tableOf are the tables of runs by their analyses, as messages name them.
var tableOf = map[runstore.Analysis]string{
	runstore.OfData:        "data volumes",
	runstore.OfQueries:     "filter bolts by queries",
	runstore.OfConcurrency: "simultaneous queries",
	runstore.OfTimeline:    "a record timeline",
}

// openRun opens the run whose directory path is, or the trial, which is then its only one; nil where path is none, so
// that it is read as a file.
func openRun(path string) (*report.RunReport, error) {
	if about, err := os.Stat(path); err != nil || !about.IsDir() {
		return nil, nil
	}
	run, err := report.OpenRunReport(path)
	if errors.Is(err, runstore.ErrNoRun) {
		return nil, fmt.Errorf(
			"%s is not a run directory, because it has no %s and %s; name a CSV file or an output directory of tune run",
			path, runstore.ExperimentFile, runstore.PlanFile)
	}
	return run, err
}

// source is where the rows of an analysis come from.
type source[T any] struct {
	// analyses are those of the runs that have the table, the one to name first.
	analyses []runstore.Analysis
	ofFile   func(path string) (*csvtable.Table, []T, error)
	ofRun    func(*report.RunReport) ([]T, error)
}

// read reads the table of a file or of a run, which must hold a row.
func (s source[T]) read(path string) (*measured[T], error) {
	run, err := openRun(path)
	if err != nil {
		return nil, err
	}
	if run == nil {
		table, rows, err := s.ofFile(path)
		if err != nil {
			return nil, err
		}
		return ofFile(table, rows), nil
	}
	if !slices.Contains(s.analyses, run.Analysis) {
		return nil, hasNoTable(path, run, s.analyses[0])
	}
	rows, err := s.ofRun(run)
	if err == nil && len(rows) == 0 {
		err = nothingHeld(path, run)
	}
	return ofRun(path, run, rows), err
}

// hasNoTable is the fault of a run that is about something else.
func hasNoTable(path string, run *report.RunReport, analysis runstore.Analysis) error {
	return fmt.Errorf("%s is a run of experiment %s (analysis: %[4]s) and has %[3]s but no %[5]s; name a run with analysis: %[6]s, or a CSV file",
		path, run.Experiment, tableOf[run.Analysis], run.Analysis, tableOf[analysis], analysis)
}

// nothingHeld states that a run has no step that met its goals, and how its steps ended.
func nothingHeld(path string, run *report.RunReport) error {
	counts := run.Verdicts()
	var ended []string
	for _, v := range []tuning.Verdict{tuning.OK, tuning.Fail, tuning.Limited, tuning.Inconclusive} {
		if n := counts[v]; n > 0 {
			ended = append(ended, fmt.Sprintf("%d %s", n, v))
		}
	}
	if len(ended) == 0 {
		return fmt.Errorf("%s: no step of the run was measured yet; continue it with bullet-metrics tune run --resume %s", path,
			path)
	}
	return fmt.Errorf("%s: no configuration of the run held any of its loads (steps: %s); bullet-metrics tune report %s shows why",
		path, strings.Join(ended, ", "), path)
}

// several states that a run has more configurations than one, and which trials' directories have one each.
func several(path string, configurations int, of []report.TrialReport) error {
	var trials []string
	for _, t := range of {
		trials = append(trials,
			filepath.Join(path, runstore.TrialsDir, runstore.PlannedTrial{Number: t.Number, Label: t.Label}.Name()))
	}
	return fmt.Errorf("%s is a run of %d configurations; choose one by naming the directory of one of its trials: %s",
		path, configurations, strings.Join(trials, ", "))
}
