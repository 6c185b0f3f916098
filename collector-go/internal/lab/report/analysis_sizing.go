package report

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

func sizedMachines(s *tuning.Sizing) string {
	if s.Limiting == "" {
		return machinesUnknown
	}
	return fmt.Sprintf("Machines: %d, limited by %s.", s.Machines, s.Limiting)
}

// OfSizing shows a configuration with what is known of it.
func OfSizing(s *tuning.Sizing) *document.Document {
	d := &document.Document{
		Title: fmt.Sprintf("Sizing for %s records/s and %d queries at a filter latency of at most %s ms",
			tuning.Digits(s.RecordsPerS), s.Queries, tuning.Digits(s.LimitMs)),
		Notes: s.Notes,
	}
	for _, o := range s.Outside {
		d.Findings = append(d.Findings, "Outside the measurements: "+o+".")
	}
	d.Findings = append(d.Findings,
		"CPU: "+s.CPUCores.Text(s.Confidence, "cores")+"; memory: "+s.MemoryMiB.Text(s.Confidence, "MiB")+".",
		sizedMachines(s),
		"Filter bolts for the records: "+s.FilterBoltsForRecords.Text(s.Confidence, "")+".",
		"Filter bolts for the queries: "+s.FilterBoltsForQueries.Text(s.Confidence, "")+".")
	d.Add("Settings", document.Tabled(document.TableOf(s.Settings,
		document.Text("Setting", func(s tuning.Setting) string { return s.Key }),
		digitsColumn("Value", "", func(s tuning.Setting) Figure { return Figure(s.Value) }),
		document.Number("Interval", "", func(s tuning.Setting) string {
			if !s.Low.Known() && !s.High.Known() {
				return ""
			}
			return tuning.Between(s.Low, s.High)
		}),
		document.Text("Why", func(s tuning.Setting) string { return s.Reason }),
	)))
	d.Figures = []chart.Figure{sizeChart(s).Figure()}
	return d
}

func sizeChart(s *tuning.Sizing) chart.Plot {
	plot := chart.Plot{
		Name: "size-cores", Title: "The topology's cores over the record rate: measured, and what is asked for",
		XLabel: "records/s", YLabel: "CPU cores", Limit: chart.NoLimit, Points: []chart.Points{
			measuredPoints("measured", 0, s.Measured, func(v tuning.Volume) Figure { return v.RecordsPerS }, coresOf),
		},
	}
	request := chart.Points{Name: "asked for", Colour: chart.Series(1), X: []float64{float64(s.RecordsPerS)}}
	interval := request
	request.Y = []float64{float64(s.CPUCores.Value)}
	if low, high := s.CPUCores.Low, s.CPUCores.High; low.Known() && high.Known() {
		interval.Name, interval.Low, interval.High = "interval", []float64{float64(low)}, []float64{float64(high)}
		plot.Points = append(plot.Points, interval)
	}
	plot.Points = append(plot.Points, request)
	return plot
}
