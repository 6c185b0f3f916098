package main

import (
	"cmp"
	"errors"
	"slices"

	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

var scalingAnalysis = analysis{
	name: "scaling", short: "Compare a scaling curve with the ideal, a discounted projection and the Universal Scalability Law",
	example: "--input curve.csv --discount 0.25",
	columns: "nodes, cores, senders, used_cpu_cores or total_cpu_cores, and throughput, records_per_s or rows_per_s",
	prepare: prepareScaling,
}

func prepareScaling(flags *pflag.FlagSet) (func() error, analyze) {
	confidence := addConfidence(flags)
	discount := flags.Float64("discount", tuning.DefaultDiscount,
		"share of added capacity that the projection subtracts as overhead, as a ratio")
	check := func() error {
		var wrong error
		if !(*discount >= 0 && *discount < 1) {
			wrong = errors.New("--discount must be at least 0 and below 1")
		}
		return errors.Join(wrong, tuning.CheckConfidence(*confidence))
	}
	return check, func(path string) (any, *document.Document, error) {
		curve, names, err := readCurve(path)
		if err != nil {
			return nil, nil, err
		}
		result, err := tuning.AnalyzeScaling(curve.rows, names, *discount, *confidence)
		if err != nil {
			return nil, nil, curve.locate(err)
		}
		if curve.run != nil { // of a file most columns are somebody else's
			result.Notes = append(result.Notes, curve.notes...)
		}
		return result, report.OfScaling(result), nil
	}
}

// readCurve reads a scaling curve; of a run of data volumes, that of records/s over the cores that its workers used,
// or, where those are not known of each volume, that it asks for.
func readCurve(path string) (*measured[tuning.ScalingRow], tuning.ScalingColumns, error) {
	run, err := openRun(path)
	if err != nil {
		return nil, tuning.ScalingColumns{}, err
	}
	if run == nil {
		curve, err := csvtable.Scaling(path)
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
	names := tuning.ScalingColumns{Size: tuning.ColumnTotalCPU6, Throughput: tuning.ColumnRecordRate}
	cores := func(v tuning.DataRow) float64 { return v.TotalCPUCores }
	if !slices.ContainsFunc(volumes.rows, func(v tuning.DataRow) bool { return v.UsedCPUCores == 0 }) {
		names.Size = tuning.ColumnUsedCPU
		cores = func(v tuning.DataRow) float64 { return v.UsedCPUCores }
	}
	for _, v := range volumes.rows {
		largest[cores(v)] = max(largest[cores(v)], v.RecordsPerS)
	}
	for cores, records := range largest {
		rows = append(rows, tuning.ScalingRow{Size: cores, Throughput: records})
	}
	slices.SortFunc(rows, func(a, b tuning.ScalingRow) int { return cmp.Compare(a.Size, b.Size) })
	return ofRun(path, run, rows), names, nil
}
