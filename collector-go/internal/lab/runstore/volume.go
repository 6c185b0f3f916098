package runstore

import (
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// DataVolume is the rate of data that a topology took, averaged over the measured time of a test. Unknown rates are
// null.
type DataVolume struct {
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
	MiBPerSecond     tuning.Figure `json:"mib_per_second"`
}

// AverageVolume returns the mean over steps, weighted by their measured time. Steps without a known rate are left out.
func AverageVolume(steps []Step) DataVolume {
	return DataVolume{
		RecordsPerSecond: overTime(steps, func(s Step) tuning.Figure { return s.RecordsPerSecond }),
		MiBPerSecond:     overTime(steps, func(s Step) tuning.Figure { return s.MiBPerSecond }),
	}
}

// overTime returns the mean of a figure weighted by measured time; NaN if no step has the figure.
func overTime(steps []Step, figure func(Step) tuning.Figure) tuning.Figure {
	sum, ms := tuning.Figure(0), tuning.Figure(0)
	for _, s := range steps {
		if v, lasted := figure(s), tuning.Figure(s.EndMs-s.MeasuredFromMs); v.Known() && lasted > 0 {
			sum, ms = sum+v*lasted, ms+lasted
		}
	}
	return sum / ms
}

// Volume returns the average over all steps of the run.
func (r *Run) Volume() DataVolume {
	return AverageVolume(slices.Concat(tuning.Each(r.Trials, func(t Trial) []Step { return t.Steps })...))
}

// Volume returns the data volume of the plan, such as "68,400 records/s, 120.2 MiB/s". It is "" if the run itself
// finds the record rate.
func (p Plan) Volume() string {
	low, high := p.Load.RecordsPerSecond, p.Load.RecordsPerSecond
	if p.Axis == RecordsPerSecond {
		low, high = tuning.Unknown, tuning.Unknown
		for _, t := range p.Trials {
			for _, s := range t.Steps {
				if v := tuning.Figure(s.Value); !low.Known() {
					low, high = v, v
				} else {
					low, high = min(low, v), max(high, v)
				}
			}
		}
	}
	if !low.Known() {
		return ""
	}
	text := span(low, high, "records/s")
	if bytes := p.Load.MeanRecordBytes; bytes.Known() {
		text += ", " + span(low*bytes/(1<<20), high*bytes/(1<<20), "MiB/s") + fmt.Sprintf(" (%s bytes a record)",
			tuning.Digits(bytes))
	}
	return text
}

func span(low, high tuning.Figure, unit string) string {
	if low == high {
		return tuning.Digits(low) + " " + unit
	}
	return fmt.Sprintf("%s to %s %s", tuning.Digits(low), tuning.Digits(high), unit)
}
