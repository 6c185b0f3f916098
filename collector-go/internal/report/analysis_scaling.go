package report

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// OfScaling shows a scaling curve beside what it might have been.
func OfScaling(s *tuning.Scaling) *Analysis {
	a := &Analysis{Title: fmt.Sprintf("Scaling: %s over %s", s.Columns.Throughput, s.Columns.Size), notes: s.Notes}
	last := s.Rows[len(s.Rows)-1]
	a.Findings = append(a.Findings, fmt.Sprintf("At %s %s: %s, which is %s of the ideal and %s of the projection discounted by %s.", tuning.Digits(last.Size), s.Columns.Size,
		tuning.Digits(last.Throughput), percent(last.Efficiency), percent(last.VersusDiscounted), percent(s.Discount)))
	u := s.USL
	if u.Rate.Value.Known() {
		a.Findings = append(a.Findings, "Universal Scalability Law: rate "+estimate(u.Rate, u.Confidence, "of one unit alone")+".",
			"Contention: "+estimate(u.Contention, u.Confidence, "of the work waits")+"; coherency: "+estimate(u.Coherency, u.Confidence, "a pair")+"; R-squared "+tuning.Digits(u.R2)+".")
	}
	if u.PeakAt.Known() {
		a.Findings = append(a.Findings, fmt.Sprintf("The law's peak: %s at %s %s.", tuning.Digits(u.Peak), tuning.Digits(u.PeakAt), s.Columns.Size))
	}
	t := table{Heads: []string{s.Columns.Size, s.Columns.Throughput, "Ideal", "Of ideal", "Discounted", "Of discounted", "USL"}, Numeric: []bool{true, true, true, true, true, true, true}}
	for _, r := range s.Rows {
		t.Rows = append(t.Rows, []string{tuning.Digits(r.Size), tuning.Digits(r.Throughput), tuning.Digits(r.Ideal), percent(r.Efficiency), tuning.Digits(r.Discounted), percent(r.VersusDiscounted), tuning.Digits(r.Law)})
	}
	a.add("Curve", t)
	a.Charts = []Chart{scalingChart(s)}
	return a
}

func scalingChart(s *tuning.Scaling) Chart {
	size := func(p tuning.ScalingPoint) Figure { return p.Size }
	x := floats(s.Rows, size)
	chart := Chart{Name: "scaling", Title: fmt.Sprintf("%s over %s", s.Columns.Throughput, s.Columns.Size), xLabel: s.Columns.Size, yLabel: s.Columns.Throughput, limit: Unknown}
	chart.marks = []marks{
		{name: "measured", colour: workerColour(0), x: x, y: floats(s.Rows, func(p tuning.ScalingPoint) Figure { return p.Throughput })},
		{name: "ideal", colour: muted, joined: true, dashed: true, x: x, y: floats(s.Rows, func(p tuning.ScalingPoint) Figure { return p.Ideal })},
		{name: "discounted by " + percent(s.Discount), colour: workerColour(2), joined: true, dashed: true, x: x, y: floats(s.Rows, func(p tuning.ScalingPoint) Figure { return p.Discounted })},
	}
	if s.USL.Rate.Value.Known() {
		chart.marks = append(chart.marks, straight("Universal Scalability Law", 1, x[0], x[len(x)-1], s.USL.At, false))
	}
	return chart
}
