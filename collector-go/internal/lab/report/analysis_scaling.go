package report

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// OfScaling shows a scaling curve beside what it might have been.
func OfScaling(s *tuning.Scaling) *document.Document {
	d := &document.Document{
		Title: fmt.Sprintf("Scaling: %s over %s", s.Columns.Throughput, s.Columns.Size), Notes: s.Notes,
	}
	last, u := s.Rows[len(s.Rows)-1], s.USL
	d.Findings = append(d.Findings,
		fmt.Sprintf("At %s %s: %s, which is %s of the ideal and %s of the projection discounted by %s.",
			tuning.Digits(last.Size), s.Columns.Size, tuning.Digits(last.Throughput), tuning.Percent(last.Efficiency),
			tuning.Percent(last.VersusDiscounted), tuning.Percent(s.Discount)))
	if u.Rate.Value.Known() {
		d.Findings = append(d.Findings,
			"Universal Scalability Law: rate "+u.Rate.Text(u.Confidence, "of one unit alone")+".",
			"Contention: "+u.Contention.Text(u.Confidence, "of the work waits")+"; coherency: "+u.Coherency.Text(
				u.Confidence, "a pair")+
				"; R-squared "+tuning.Digits(
				u.R2,
			)+".")
	}
	if u.PeakAt.Known() {
		d.Findings = append(d.Findings,
			fmt.Sprintf("The law's peak: %s at %s %s.", tuning.Digits(u.Peak), tuning.Digits(u.PeakAt), s.Columns.Size))
	}
	type point = tuning.ScalingPoint
	d.Add("Curve", document.Tabled(document.TableOf(s.Rows,
		digitsColumn(s.Columns.Size, "", func(p point) Figure { return p.Size }),
		digitsColumn(s.Columns.Throughput, "", func(p point) Figure { return p.Throughput }),
		digitsColumn("Ideal", "", func(p point) Figure { return p.Ideal }),
		percentColumn("Of ideal", func(p point) Figure { return p.Efficiency }),
		digitsColumn("Discounted", "", func(p point) Figure { return p.Discounted }),
		percentColumn("Of discounted", func(p point) Figure { return p.VersusDiscounted }),
		digitsColumn("USL", "", func(p point) Figure { return p.Law }),
	)))
	d.Figures = []chart.Figure{scalingChart(s).Figure()}
	return d
}

func scalingChart(s *tuning.Scaling) chart.Plot {
	curve := func(name string, colour chart.Colour, y func(tuning.ScalingPoint) Figure) chart.Points {
		points := measuredPoints(name, 0, s.Rows, func(p tuning.ScalingPoint) Figure { return p.Size }, y)
		points.Colour, points.Joined, points.Dashed = colour, true, true
		return points
	}
	measured := curve("measured", chart.Series(0), func(p tuning.ScalingPoint) Figure { return p.Throughput })
	measured.Joined, measured.Dashed = false, false
	plot := chart.Plot{
		Name: "scaling", Title: fmt.Sprintf("%s over %s", s.Columns.Throughput, s.Columns.Size),
		XLabel: s.Columns.Size, YLabel: s.Columns.Throughput, Limit: chart.NoLimit, Points: []chart.Points{
			measured,
			curve("ideal", chart.Muted, func(p tuning.ScalingPoint) Figure { return p.Ideal }),
			curve("discounted by "+tuning.Percent(s.Discount), chart.Series(2),
				func(p tuning.ScalingPoint) Figure { return p.Discounted }),
		},
	}
	if s.USL.Rate.Value.Known() {
		x := measured.X
		plot.Points = append(plot.Points, fitOver("Universal Scalability Law", 1, x, x[0], x[len(x)-1], s.USL.At)...)
	}
	return plot
}
