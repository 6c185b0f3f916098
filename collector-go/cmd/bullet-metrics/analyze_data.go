package main

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/input"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
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
		table, err := input.Volumes(path, csvtable.CPU(*cpu))
		if err != nil {
			return nil, nil, err
		}
		result, err := tuning.AnalyzeData(table.Rows, *confidence)
		if err != nil {
			return nil, nil, table.Locate(err)
		}
		table.Lines(result.Audit)
		result.Notes = append(result.Notes, table.Notes...)
		return result, report.OfData(result), nil
	}
}
