package input

import (
	"fmt"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// WrongTables is the error of a sizing that was given two tables of a kind, or that lacks one.
type WrongTables string

// Error implements error.
func (w WrongTables) Error() string { return string(w) }

// Sizing reads the measurements of a sizing.
type Sizing struct {
	// From are the files and run directories, at most one of each kind.
	From []string
	// CPU is the meaning of a column cpu_cores.
	CPU csvtable.CPU
	// LimitGiven states that the user set a latency limit, so that the limit of a run does not apply.
	LimitGiven bool
	// Notes are what a user should know about the tables.
	Notes []string
}

// Read reads all tables. It completes the target by what a run states: latency limit, record rate and class of its
// queries. Each table is also analyzed alone, so that an error names its place.
func (s *Sizing) Read(target *tuning.TargetLoad) (m tuning.Measurements, err error) {
	seen := map[csvtable.Measurement]string{}
	for _, path := range s.From {
		about, err := aboutOf(path)
		if err != nil {
			return m, err
		}
		if earlier, twice := seen[about]; twice {
			return m, WrongTables(fmt.Sprintf("%s and %s are both tables of %s; give only one of each kind", earlier, path, about))
		}
		seen[about] = path
		if err := s.readOne(about, path, target, &m); err != nil {
			return m, err
		}
	}
	for _, needed := range []struct {
		table    csvtable.Measurement
		analysis runstore.Analysis
		test     string
	}{{csvtable.OfData, runstore.OfData, "Test 6"}, {csvtable.OfQueries, runstore.OfQueries, "Test 7"}} {
		if seen[needed.table] == "" {
			return m, WrongTables(fmt.Sprintf("--from %s has no table of %s; add a CSV file, or a run with analysis: %s (%s)",
				strings.Join(s.From, ","), needed.table, needed.analysis, needed.test))
		}
	}
	return m, nil
}

// aboutOf recognizes a file by its columns and a run by its analysis.
func aboutOf(path string) (csvtable.Measurement, error) {
	run, err := openRun(path)
	if err != nil {
		return "", err
	}
	if run == nil {
		return csvtable.About(path)
	}
	switch run.Analysis {
	case runstore.OfData:
		return csvtable.OfData, nil
	case runstore.OfQueries:
		return csvtable.OfQueries, nil
	}
	return "", fmt.Errorf("%s is a run of experiment %s (analysis: %[4]s), and %[3]s cannot be used for sizing; name runs with analysis: %[5]s (Test 6) and analysis: %[6]s (Test 7)",
		path, run.Experiment, tableOf[run.Analysis], run.Analysis, runstore.OfData, runstore.OfQueries)
}

func (s *Sizing) readOne(about csvtable.Measurement, path string, target *tuning.TargetLoad, m *tuning.Measurements,
) error {
	switch about {
	case csvtable.OfData:
		volumes, err := Volumes(path, s.CPU)
		if err != nil {
			return err
		}
		m.Volumes = volumes.Rows
		s.Notes = append(s.Notes, volumes.Notes...)
		_, err = tuning.AnalyzeData(volumes.Rows, target.Goals.Confidence)
		return volumes.Locate(err)
	case csvtable.OfQueries:
		return s.readQueries(path, target, m)
	default:
		table, err := csvtable.Resources(path, s.CPU)
		if err != nil {
			return err
		}
		m.Others = table.Components
		_, err = table.Analyze(target.Machine)
		return err
	}
}

func (s *Sizing) readQueries(path string, target *tuning.TargetLoad, m *tuning.Measurements) error {
	grid, err := Queries(path)
	if err != nil {
		return err
	}
	m.Points, target.QueryTestRecordsPerS = grid.Rows, grid.RecordsPerS
	target.Goals = grid.Goals(target.Goals, s.LimitGiven)
	s.Notes = append(s.Notes, grid.Notes...)
	if _, err := tuning.AnalyzeQueries(grid.Rows, target.Goals); err != nil || grid.Run == nil {
		return grid.Locate(err)
	}
	target.Class = grid.Run.Class()
	if grid.Run.Verdicts()[tuning.OK] == 0 {
		return nothingHeld(path, grid.Run)
	}
	return nil
}
