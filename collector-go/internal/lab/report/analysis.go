package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// measuredPoints are measured points, with the rows' figures as their places.
func measuredPoints[T any](name string, colour int, rows []T, x, y func(T) Figure) chart.Points {
	points := chart.Points{Name: name, Colour: chart.Series(colour)}
	for _, row := range rows {
		points.X, points.Y = append(points.X, float64(x(row))), append(points.Y, float64(y(row)))
	}
	return points
}

// fitOver is a line that was fitted to points at some places: solid from the first of them to the last, and dashed
// beyond these, as far as [from, to] reaches. Every figure with a fit draws it by this, over the points that it is of.
func fitOver(name string, colour int, fitted []float64, from, to float64, at func(float64) Figure) []chart.Points {
	line := func(name string, from, to float64) chart.Points {
		return chart.Straight(name, chart.Series(colour), from, to, func(x float64) float64 { return float64(at(x)) })
	}
	low, high := slices.Min(fitted), slices.Max(fitted)
	all := []chart.Points{line(name, low, high)}
	for _, beyond := range [][2]float64{{from, low}, {high, to}} {
		if beyond[0] < beyond[1] {
			dashed := line("", beyond[0], beyond[1])
			if dashed.Dashed = true; len(all) == 1 {
				dashed.Name = "beyond what was measured"
			}
			all = append(all, dashed)
		}
	}
	return all
}

// demandChart is the least that held each load, as Theodolite has it: NaN where nothing that was run held it, which an
// arrow above the most that was run shows.
func demandChart(name, xLabel string, loads, cores []float64) chart.Plot {
	line := chart.Points{Name: "least cores", Colour: chart.Series(0), Joined: true}
	dots := chart.Points{Colour: chart.Series(0)}
	more := chart.Points{Name: "more than was run", Colour: chart.Series(1), Low: []float64{}}
	from, most := 0.0, 0.0
	for i, load := range loads {
		if math.IsNaN(cores[i]) {
			more.X, more.Low, more.High = append(more.X, load), append(more.Low, most), append(more.High, math.Inf(1))
			continue
		}
		line.X, line.Y = append(line.X, from, load), append(line.Y, cores[i], cores[i])
		dots.X, dots.Y = append(dots.X, load), append(dots.Y, cores[i])
		from, most = load, max(most, cores[i])
	}
	plot := chart.Plot{
		Name: name, Title: "Demand: the least cores that held each load", XLabel: xLabel, YLabel: coresOfTopology,
		Limit: chart.NoLimit, Points: []chart.Points{line, dots},
	}
	if len(more.X) > 0 {
		plot.Points = append(plot.Points, more)
	}
	return plot
}

const coresOfTopology = "CPU cores of the topology"

// auditFindings are what the audit found as sentences.
func auditFindings(findings []tuning.Finding, audited int) []string {
	if audited == 0 {
		return nil
	}
	if len(findings) == 0 {
		return []string{fmt.Sprintf("Audit: all %d stated totals follow from their rows.", audited)}
	}
	counts := map[tuning.Verdict]int{}
	for _, f := range findings {
		counts[f.Verdict]++
	}
	return []string{
		fmt.Sprintf("Audit: of %d stated totals %d are wrong and %d partial.", audited, counts[tuning.Wrong],
			counts[tuning.Partial]),
	}
}

func auditTable(findings []tuning.Finding) document.Table {
	type finding = tuning.Finding
	return document.TableOf(findings,
		document.Text("Total", func(f finding) string { return f.What }),
		document.Number("Line", "", func(f finding) string {
			if f.Line == 0 {
				return document.Unknown
			}
			return strconv.Itoa(f.Line)
		}),
		digitsColumn("Stated", "", func(f finding) Figure { return f.Stated }),
		digitsColumn("Rows add up to", "", func(f finding) Figure { return f.Computed }),
		document.Text("Audit", func(f finding) string { return string(f.Verdict) }),
		document.Text("Reason", func(f finding) string { return f.Reason }),
	)
}
