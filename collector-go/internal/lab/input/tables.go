package input

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Concurrency reads the steps of one configuration. own has the steps of a run, with its tolerance and result size; it
// is nil for a file.
func Concurrency(path string) (table *Table[tuning.ConcurrencyRow], own *report.ConfigurationSteps, err error) {
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
