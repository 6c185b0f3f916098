package main

import (
	"fmt"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// read takes each file or run's directory for what it is about.
func (o *sizeOptions) read(target *tuning.TargetLoad) (evidence tuning.Measurements, err error) {
	seen := map[csvtable.Measurement]string{}
	for _, path := range o.from {
		about, err := aboutOf(path)
		if err != nil {
			return evidence, err
		}
		if earlier, twice := seen[about]; twice {
			return evidence, usageError{fmt.Errorf("%s and %s are both tables of %s; give only one of each kind", earlier,
				path, about)}
		}
		seen[about] = path
		if err := o.readOne(about, path, target, &evidence); err != nil {
			return evidence, err
		}
	}
	for _, needed := range []struct {
		table    csvtable.Measurement
		analysis runstore.Analysis
		test     string
	}{{csvtable.OfData, runstore.OfData, "Test 6"}, {csvtable.OfQueries, runstore.OfQueries, "Test 7"}} {
		if seen[needed.table] == "" {
			return evidence, usageError{fmt.Errorf("--from %s has no table of %s; add a CSV file, or a run with analysis: %s (%s)",
				strings.Join(o.from, ","), needed.table, needed.analysis, needed.test)}
		}
	}
	return evidence, nil
}

// aboutOf recognises a file by its columns and a run by its analysis.
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

// readOne reads a table, and judges it by itself, so that a fault names its place.
func (o *sizeOptions) readOne(about csvtable.Measurement, path string, target *tuning.TargetLoad,
	evidence *tuning.Measurements) error {
	switch about {
	case csvtable.OfData:
		volumes, err := readVolumes(path, *o.cpu)
		if err != nil {
			return err
		}
		evidence.Volumes = volumes.rows
		o.notes = append(o.notes, volumes.notes...)
		_, err = tuning.AnalyzeData(volumes.rows, target.Goals.Confidence)
		return volumes.locate(err)
	case csvtable.OfQueries:
		return o.readGrid(path, target, evidence)
	default:
		table, err := csvtable.Resources(path, csvtable.CPU(*o.cpu))
		if err != nil {
			return err
		}
		evidence.Others = table.Components
		_, err = table.Analyze(target.Machine)
		return err
	}
}

func (o *sizeOptions) readGrid(path string, target *tuning.TargetLoad, evidence *tuning.Measurements) error {
	points, err := readGrid(path)
	if err != nil {
		return err
	}
	evidence.Points, target.QueryTestRecordsPerS = points.rows, points.recordsPerS
	target.Goals = points.goals(target.Goals, o.limitGiven)
	o.notes = append(o.notes, points.notes...)
	if _, err := tuning.AnalyzeQueries(points.rows, target.Goals); err != nil || points.run == nil {
		return points.locate(err)
	}
	target.Class = points.run.Class()
	if points.run.Verdicts()[tuning.OK] == 0 {
		return nothingHeld(path, points.run)
	}
	return nil
}
