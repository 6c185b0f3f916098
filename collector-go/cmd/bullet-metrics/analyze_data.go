package main

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

var dataAnalysis = analysis{
	name: "data", short: "Calculate records, MiB and memory per core over data volumes, and audit the totals",
	example: "--input volumes.csv --output json",
	columns: "data_mib_per_s, records_per_s, total_cpu_cores, total_memory_mib; optional: used_cpu_cores; for the audit: component, parallelism, cpu_cores_each or cpu_cores_total, on_heap_mib, off_heap_mib",
	prepare: prepareData,
}

func prepareData(flags *pflag.FlagSet) (func() error, analyze) {
	cpu, confidence := addCPU(flags), addConfidence(flags)
	check := func() error { return errors.Join(checkCPU(*cpu), tuning.CheckConfidence(*confidence)) }
	return check, func(path string) (any, *document.Document, error) {
		table, err := readVolumes(path, *cpu)
		if err != nil {
			return nil, nil, err
		}
		result, err := tuning.AnalyzeData(table.rows, *confidence)
		if err != nil {
			return nil, nil, table.locate(err)
		}
		table.lines(result.Audit)
		result.Notes = append(result.Notes, table.notes...)
		return result, report.OfData(result), nil
	}
}

// readVolumes reads data volumes.
func readVolumes(path, cpu string) (*measured[tuning.DataRow], error) {
	return source[tuning.DataRow]{
		analyses: []runstore.Analysis{runstore.OfData},
		ofFile: func(path string) (*csvtable.Table, []tuning.DataRow, error) {
			return csvtable.Data(path, csvtable.CPU(cpu))
		},
		ofRun: func(run *report.RunReport) ([]tuning.DataRow, error) { return run.Tables().Volumes, nil },
	}.read(path)
}
