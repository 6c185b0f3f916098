package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/document"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/sheet"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

func init() {
	register(analysis{
		name: "concurrency", short: "Completeness of each step, capacity, and what a query costs",
		example: "--input steps.csv --expected 10 --tolerance 0.01",
		columns: "simultaneous_queries, average_cpu_ms_per_minute, average_result_size and, if known, workers, total_cpu_ms_per_minute, average_gc_ms_per_minute, verdict",
		prepare: prepareConcurrency,
	})
}

func prepareConcurrency(flags *pflag.FlagSet) (func() error, analyze) {
	goals, confidence := tuning.DefaultGoals(), addConfidence(flags)
	flags.Float64Var(&goals.ExpectedResultSize, "expected", goals.ExpectedResultSize, "records that a query returns when none is lost")
	flags.Float64Var(&goals.Tolerance, "tolerance", goals.Tolerance, "share of them that may be missing on average, as a ratio")
	check := func() error { return errors.Join(goals.Validate(), tuning.CheckConfidence(*confidence)) }
	return check, func(path string) (any, *document.Document, error) {
		table, own, err := readSteps(path)
		if err != nil {
			return nil, nil, err
		}
		if own != nil && !flags.Changed("expected") {
			goals.ExpectedResultSize = own.ExpectedResultSize
		}
		if own != nil && !flags.Changed("tolerance") {
			goals.Tolerance = own.Tolerance
		}
		result, err := tuning.AnalyzeConcurrency(table.rows, goals, *confidence)
		if err != nil {
			return nil, nil, table.locate(err)
		}
		result.Notes = append(result.Notes, table.notes...)
		return result, report.OfConcurrency(result), nil
	}
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
