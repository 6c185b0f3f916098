// Package input reads the measurements that an analysis, a sizing or a scaling curve uses: from a CSV file, or from the
// directory of a run. The rows of a run are those that its report has as CSV, so that both give the same figures.
//
// It does not decide what the rows mean; tuning does. Sizing analyzes each table once, so that an error names its
// place. Start reading at source.read.
package input

import (
	"errors"
	"fmt"
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

// several returns the error of a run with several configurations. It names the directories of trials, each of which
// has one.
func several(path string, configurations int, of []*report.TrialReport) error {
	trials := tuning.Each(of, func(t *report.TrialReport) string {
		return runstore.TrialDir(path, runstore.PlannedTrial{Number: t.Number, Label: t.Label})
	})
	return fmt.Errorf("%s is a run of %d configurations; choose one by naming the directory of one of its trials: %s",
		path, configurations, strings.Join(trials, ", "))
}
