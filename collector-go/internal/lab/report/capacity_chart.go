package report

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
)

// capacityChart draws what the first lines of the report of one configuration state: the CPU and the verdict of each
// step, the two steps that bound the capacity, the limiter, and the cost of a query with the points that it was fitted
// to. It returns nil if fewer than two steps have their CPU.
func (r *RunReport) capacityChart() *chart.Plot {
	if len(r.Rows) != 1 || r.Analysis == runstore.OfTimeline {
		return nil
	}
	row := r.Rows[0]
	plot := newPlot("capacity", "CPU of all workers over "+r.axis(), r.axis(),
		"CPU ms per minute of all workers (60K is one core)")
	lastOK, firstFail := r.bounds(row)
	mark := func(name string, colour chart.Colour, at *trialStep, why string) {
		if at != nil {
			plot.Marks = append(plot.Marks, chart.Mark{Name: name + tuning.Digits(Figure(at.step.Value)) + why,
				Colour: colour, At: at.step.Value})
		}
	}
	mark("last OK: ", chart.Good, lastOK, "")
	why := ""
	if firstFail != nil && firstFail.step.limited() {
		why = ", " + r.limiter(row)
	}
	mark("first FAIL: ", chart.Bad, firstFail, why)

	rest, fitted := chart.Points{Name: measuredSteps, Colour: chart.Series(0)}, []tuning.CostPoint{}
	if c := r.costOf(row); c != nil && c.MarginalTotal.Value.Known() {
		fitted, _ = c.CostPoints()
		points := measuredPoints(costNames[c.CostFrom], 0, fitted,
			func(p tuning.CostPoint) Figure { return Figure(p.Queries) },
			func(p tuning.CostPoint) Figure { return p.TotalCPUMsPerMinute })
		line := fitOver("each query adds "+withoutNote(c.MarginalTotal).Text(c.Confidence, "ms/min"), 1, points.X, 0, 0,
			c.TotalFit.At)
		plot.Points = append(append(plot.Points, points), line...)
		rest.Name, rest.Colour = otherSteps, chart.Series(2)
	}
	for _, t := range r.reported() {
		for _, s := range t.Steps {
			cpu := t.Report.stepAt(s.StartMs).TotalCPUMsPerMinute
			if !cpu.Known() || slices.ContainsFunc(fitted, func(p tuning.CostPoint) bool {
				return float64(p.Queries) == s.Value && p.TotalCPUMsPerMinute == cpu
			}) {
				continue
			}
			rest.X, rest.Y = append(rest.X, s.Value), append(rest.Y, float64(cpu))
			rest.Full = append(rest.Full, s.Verdict == tuning.OK)
		}
	}
	if len(fitted)+len(rest.X) < 2 {
		return nil
	}
	if len(rest.X) > 0 {
		plot.Points = append(plot.Points, rest)
	}
	return &plot
}
