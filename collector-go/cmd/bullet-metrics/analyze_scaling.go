package main

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/input"
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
		curve, names, err := input.Scaling(path)
		if err != nil {
			return nil, nil, err
		}
		result, err := tuning.AnalyzeScaling(curve.Rows, names, *discount, *confidence)
		if err != nil {
			return nil, nil, curve.Locate(err)
		}
		if curve.Run != nil { // of a file most columns are somebody else's
			result.Notes = append(result.Notes, curve.Notes...)
		}
		return result, report.OfScaling(result), nil
	}
}
