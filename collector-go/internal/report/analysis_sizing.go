package report

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

func sizedMachines(s *tuning.Sizing) string {
	if s.Limiting == "" {
		return machinesUnknown
	}
	return fmt.Sprintf("Machines: %d, limited by %s.", s.Machines, s.Limiting)
}

// OfSizing shows a configuration with what is known of it.
func OfSizing(s *tuning.Sizing) *Analysis {
	a := &Analysis{Title: fmt.Sprintf("Sizing for %s records/s and %d queries at a filter latency of at most %s ms", tuning.Digits(s.RecordsPerS), s.Queries, tuning.Digits(s.LimitMs)), notes: s.Notes}
	for _, o := range s.Outside {
		a.Findings = append(a.Findings, "Outside the measurements: "+o+".")
	}
	a.Findings = append(a.Findings,
		"CPU: "+estimate(s.CPUCores, s.Confidence, "cores")+"; memory: "+estimate(s.MemoryMiB, s.Confidence, "MiB")+".",
		sizedMachines(s),
		"Filter bolts for the records: "+estimate(s.FilterBoltsForRecords, s.Confidence, "")+".",
		"Filter bolts for the queries: "+estimate(s.FilterBoltsForQueries, s.Confidence, "")+".")
	t := table{Heads: []string{"Setting", "Value", "Interval", "Why"}, Numeric: []bool{false, true, true, false}}
	for _, setting := range s.Settings {
		interval := ""
		if setting.Low.Known() || setting.High.Known() {
			interval = between(setting.Low, setting.High)
		}
		t.Rows = append(t.Rows, []string{setting.Key, tuning.Digits(Figure(setting.Value)), interval, setting.Reason})
	}
	a.add("Settings", t)
	a.Charts = []Chart{sizeChart(s)}
	return a
}

func sizeChart(s *tuning.Sizing) Chart {
	chart := Chart{Name: "size-cores", Title: "The topology's cores over the record rate: measured, and what is asked for", xLabel: "records/s", yLabel: "CPU cores", limit: Unknown}
	chart.marks = []marks{{name: "measured", colour: workerColour(0), y: floats(s.Measured, func(v tuning.Volume) Figure { return v.TotalCPUCores }),
		x: floats(s.Measured, func(v tuning.Volume) Figure { return v.RecordsPerS })}}
	at := []float64{float64(s.RecordsPerS)}
	if s.CPUCores.Low.Known() && s.CPUCores.High.Known() {
		chart.marks = append(chart.marks, marks{name: "interval", colour: workerColour(1), x: at, low: []float64{float64(s.CPUCores.Low)}, high: []float64{float64(s.CPUCores.High)}})
	}
	chart.marks = append(chart.marks, marks{name: "asked for", colour: workerColour(1), x: at, y: []float64{float64(s.CPUCores.Value)}})
	return chart
}
