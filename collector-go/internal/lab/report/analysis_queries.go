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

// OfQueries returns the document about each configuration's capacity and how many queries a core holds. A capacity is
// an interval, because it lies between two steps, so the fit over the configurations uses intervals. A configuration
// with only one known bound is fitted as a bound.
func OfQueries(q *tuning.Queries) *document.Document {
	d := &document.Document{
		Title: fmt.Sprintf("Query scaling at a filter latency of at most %s ms", tuning.Digits(q.LimitMs)), Notes: q.Notes,
	}
	addQueriesFindings(d, q)
	d.AddTable("Configurations", capacityTable(q))
	d.AddTable("Points", pointTable(q))
	d.Draw(latencyChart(q), capacityChart(q))
	if len(q.Rows) > 1 {
		addDemand(d, q)
	}
	return d
}

// leastCores is the configuration with the fewest cores that held a number of queries. If no configuration held them,
// cores is NaN and filterBolts is a text that says so.
type leastCores struct {
	queries, cores float64
	filterBolts    string
}

// addDemand adds, for each measured load, the configuration that held it with the fewest cores. The cores are those
// that it used at this load if they were measured, else those that it requested.
func addDemand(d *document.Document, q *tuning.Queries) {
	var loads []float64
	for _, r := range q.Rows {
		for _, p := range r.Points {
			if p.Queries > 0 {
				loads = append(loads, float64(p.Queries))
			}
		}
	}
	slices.Sort(loads)
	loads = slices.Compact(loads)
	all := tuning.Each(loads, func(load float64) leastCores {
		least := leastCores{load, math.NaN(), "not held"}
		for _, r := range q.Rows {
			// A load between two steps counts as held only if a larger step was OK. Nothing is interpolated.
			held := r.Capacity.LastOK != nil && *r.Capacity.LastOK >= load
			if at := float64(r.CoresAt(int(load))); held && !(at >= least.cores) {
				least.cores, least.filterBolts = at, strconv.Itoa(r.FilterBolts)
			}
		}
		return least
	})
	d.AddTable("Demand: the smallest configuration that held each load", document.TableOf(all,
		document.Number("Queries", "", func(held leastCores) string { return tuning.Count(int(held.queries)) }),
		digitsColumn("Fewest cores", "", func(held leastCores) Figure { return Figure(held.cores) }),
		document.Number("Filter bolts", "", func(held leastCores) string { return held.filterBolts }),
	))
	cores := tuning.Each(all, func(held leastCores) float64 { return held.cores })
	d.Draw(demandChart("queries-demand", simultaneousQueries, loads, cores))
}

// addQueriesFindings adds sentences about the fit: the slope with its interval, the cores that the topology needs
// before the first query, and for comparison a least-squares fit of the midpoints. A sentence with an unknown figure is
// omitted.
func addQueriesFindings(d *document.Document, q *tuning.Queries) {
	f := q.Fit
	perCore := tuning.Estimate{Value: f.QueriesPerCore, Low: f.Low, High: f.High, Note: f.Note}
	d.Find("Queries per core: %s.", perCore.Text(f.Confidence, ""))
	d.Find("The line is a maximum likelihood fit to %s with both bounds (last OK, first FAIL) and %d with one bound.",
		tuning.Counted(f.IntervalRows, "capacity"), f.BoundRows)
	if f.CoresWithoutQueries.Known() {
		d.Find("Capacity = %s queries/core x cores %s queries. The topology needs %s cores before the first query.",
			tuning.Digits(f.QueriesPerCore), signed(f.Intercept), tuning.Digits(f.CoresWithoutQueries))
	}
	if f.SlopesLow.Known() && f.SlopesHigh.Known() && f.SlopesLow != f.SlopesHigh {
		d.Find("All lines through the intervals are equally likely. They have %s queries per core.",
			tuning.Between(f.SlopesLow, f.SlopesHigh))
	}
	if f.Midpoints.Slope.Known() {
		d.Find("For comparison, least squares of the midpoints, without open intervals: %s queries per core, "+
			"R-squared %s.", tuning.Digits(f.Midpoints.Slope), tuning.Digits(f.R2Midpoints))
	}
}

// signed formats a number as a term of an equation, with a space after its sign.
func signed(f Figure) string {
	if f < 0 {
		return "- " + tuning.Digits(-f)
	}
	return "+ " + tuning.Digits(f)
}

// capacityTable has a row for each configuration: its size, its capacity, the knee of its latency, and the recommended
// number of queries. A column says whether the knee is stable; it is not if it moves when one point is left out.
func capacityTable(q *tuning.Queries) document.Table {
	type row = tuning.QueryRow
	return document.TableOf(q.Rows,
		countColumn("Filter bolts", func(r row) int { return r.FilterBolts }),
		digitsColumn("CPU cores", "", func(r row) Figure { return r.TopologyCPUCores }),
		digitsColumn("Memory", "MiB", func(r row) Figure { return r.TopologyMemoryMiB }),
		document.Number("Capacity, queries", "", func(r row) string { return r.Capacity.Text() }),
		document.Number("Knee, queries", "", func(r row) string {
			return knownOr(r.Knee != nil, func() string { return tuning.Count(r.Knee.Queries) })
		}),
		document.Text("Knee stable", func(r row) string {
			return knownOr(r.Knee != nil, func() string { return tuning.YesNo(r.Knee.Stable) })
		}),
		document.Number("Recommended queries", "", func(r row) string {
			return knownOr(r.Recommended != nil, func() string { return tuning.Count(*r.Recommended) })
		}),
		percentColumn("Headroom", func(r row) Figure { return r.Headroom }),
	)
}

// pointTable has a row for each step of each configuration. These are the points of latencyChart.
func pointTable(q *tuning.Queries) document.Table {
	t := document.NewTable(document.Numbers("Filter bolts", ""), document.Numbers("Queries", ""),
		document.Numbers("Average latency", "ms"), document.Words("Verdict"))
	for _, r := range q.Rows {
		for _, p := range r.Points {
			t.Add(strconv.Itoa(r.FilterBolts), tuning.Count(p.Queries), tuning.Digits(p.LatencyMs), string(p.Verdict))
		}
	}
	return t
}

// latencyChart draws the latency over the queries, a line for each configuration. The latency axis is logarithmic,
// because a step beyond the capacity is slower by orders of magnitude. Points of steps that were not OK are hollow.
func latencyChart(q *tuning.Queries) chart.Plot {
	plot := newPlot("queries-latency", "Filter latency over simultaneous queries, by filter bolts", simultaneousQueries,
		"average latency, ms, logarithmic")
	plot.LogY = true
	plot.Limit = chart.Limit{At: float64(q.LimitMs), Name: "limit " + tuning.Digits(q.LimitMs) + " ms"}
	type point = tuning.PointVerdict
	for i, r := range q.Rows {
		points := measuredPoints(tuning.Counted(r.FilterBolts, "filter bolt"), i, r.Points,
			func(p point) Figure { return Figure(p.Queries) }, func(p point) Figure { return p.LatencyMs })
		points.Full = tuning.Each(r.Points, func(p point) bool { return p.Verdict == tuning.OK })
		plot.Points = append(plot.Points, joined(points), points)
	}
	return plot
}

// capacityChart draws each capacity as an interval, because it lies between two steps. An arrow replaces an unknown
// upper bound.
func capacityChart(q *tuning.Queries) chart.Plot {
	type row = tuning.QueryRow
	intervals := chart.Points{
		Name: "capacity (arrow: at least)", Colour: chart.Series(0),
		X: tuning.Each(q.Rows, func(r row) float64 { return float64(r.TopologyCPUCores) }),
	}
	// A capacity without a lower bound starts at 0. One without an upper bound ends in an arrow.
	for _, r := range q.Rows {
		low, high := r.Capacity.Bounds(0, math.Inf(1))
		intervals.Low, intervals.High = append(intervals.Low, low), append(intervals.High, high)
	}
	plot := newPlot("queries-capacity",
		"Capacity over the cores of the topology: from the last OK step to the first FAIL",
		coresOfTopology+" (the axis does not start at 0)", simultaneousQueries, intervals)
	plot.Crop = true
	if q.Fit.QueriesPerCore.Known() {
		at := func(cores float64) Figure { return q.Fit.Intercept + q.Fit.QueriesPerCore*Figure(cores) }
		from, to := max(0, float64(q.Fit.CoresWithoutQueries)), 1.02*slices.Max(intervals.X)
		plot.Points = append(plot.Points,
			fitOver("interval-censored maximum likelihood", 1, intervals.X, from, to, at)...)
	}
	return plot
}

// OfScaling returns the document about a scaling curve. It compares the curve with the ideal one, with a projection
// that is discounted by a fixed share, and with the fitted Universal Scalability Law.
func OfScaling(s *tuning.Scaling) *document.Document {
	d := &document.Document{
		Title: fmt.Sprintf("Scaling: %s over %s", s.Columns.Throughput, s.Columns.Size), Notes: s.Notes,
	}
	last, u := s.Rows[len(s.Rows)-1], s.USL
	d.Find("At %s %s: %s. That is %s of linear scaling from the smallest size, and %s of it with a discount of %s.",
		tuning.Digits(last.Size), s.Columns.Size, tuning.Digits(last.Throughput), tuning.Percent(last.Efficiency),
		tuning.Percent(last.VersusDiscounted), tuning.Percent(s.Discount))
	if u.Rate.Value.Known() {
		d.Find("Universal Scalability Law: rate %s.", u.Rate.Text(u.Confidence, "for one unit"))
		d.Find("Contention: %s; coherency: %s; R-squared %s.", u.Contention.Text(u.Confidence, "of the work is serial"),
			u.Coherency.Text(u.Confidence, "per pair"), tuning.Digits(u.R2))
	}
	if u.PeakAt.Known() {
		d.Find("Peak of the law: %s at %s %s.", tuning.Digits(u.Peak), tuning.Digits(u.PeakAt), s.Columns.Size)
	}
	type point = tuning.ScalingPoint
	d.AddTable("Curve", document.TableOf(s.Rows,
		digitsColumn(s.Columns.Size, "", func(p point) Figure { return p.Size }),
		digitsColumn(s.Columns.Throughput, "", func(p point) Figure { return p.Throughput }),
		digitsColumn("Ideal", "", func(p point) Figure { return p.Ideal }),
		percentColumn("Share of ideal", func(p point) Figure { return p.Efficiency }),
		digitsColumn("Discounted", "", func(p point) Figure { return p.Discounted }),
		percentColumn("Share of discounted", func(p point) Figure { return p.VersusDiscounted }),
		digitsColumn("USL", "", func(p point) Figure { return p.Law }),
	))
	d.Draw(scalingChart(s))
	return d
}

// scalingChart draws the measured curve as points and the ideal and discounted curves as dashed lines. The fitted law
// is drawn only over the measured range.
func scalingChart(s *tuning.Scaling) chart.Plot {
	type point = tuning.ScalingPoint
	size := func(p point) Figure { return p.Size }
	curve := func(name string, colour chart.Colour, y func(point) Figure) chart.Points {
		points := measuredPoints(name, 0, s.Rows, size, y)
		points.Colour, points.Joined, points.Dashed = colour, true, true
		return points
	}
	measured := measuredPoints("measured", 0, s.Rows, size, func(p point) Figure { return p.Throughput })
	plot := newPlot("scaling", fmt.Sprintf("%s over %s", s.Columns.Throughput, s.Columns.Size), s.Columns.Size,
		s.Columns.Throughput, measured, curve("ideal", chart.Muted, func(p point) Figure { return p.Ideal }),
		curve("discounted by "+tuning.Percent(s.Discount), chart.Series(2),
			func(p point) Figure { return p.Discounted }))
	if s.USL.Rate.Value.Known() {
		x := measured.X
		plot.Points = append(plot.Points, fitOver("Universal Scalability Law", 1, x, x[0], x[len(x)-1], s.USL.At)...)
	}
	return plot
}

// OfSizing returns the document about a configuration that was sized for a load. Loads outside the measurements come
// first, because the result is then an extrapolation.
func OfSizing(s *tuning.Sizing) *document.Document {
	d := &document.Document{
		Title: fmt.Sprintf("Sizing for %s records/s and %d queries at a filter latency of at most %s ms",
			tuning.Digits(s.RecordsPerS), s.Queries, tuning.Digits(s.LimitMs)),
		Notes: s.Notes,
	}
	for _, o := range s.Outside {
		d.Find("Outside the measurements: %s.", o)
	}
	d.Find("CPU: %s; memory: %s.", s.CPUCores.Text(s.Confidence, "cores"), s.MemoryMiB.Text(s.Confidence, "MiB"))
	if s.Limiting == "" {
		d.Find("%s", machinesUnknown)
	} else {
		d.Find("Machines: %d, limited by %s.", s.Machines, s.Limiting)
	}
	d.Find("Filter bolts for the records: %s.", s.FilterBoltsForRecords.Text(s.Confidence, ""))
	d.Find("Filter bolts for the queries: %s.", s.FilterBoltsForQueries.Text(s.Confidence, ""))
	d.AddTable("Settings", document.TableOf(s.Settings,
		document.Text("Setting", func(s tuning.Setting) string { return s.Key }),
		digitsColumn("Value", "", func(s tuning.Setting) Figure { return Figure(s.Value) }),
		document.Number("Interval", "", func(s tuning.Setting) string {
			if !s.Low.Known() && !s.High.Known() {
				return ""
			}
			return tuning.Between(s.Low, s.High)
		}),
		document.Text("Why", func(s tuning.Setting) string { return s.Reason }),
	))
	d.Draw(sizeChart(s))
	return d
}

// sizeChart draws the requested load among the measured volumes, with the interval of its cores if it is known.
func sizeChart(s *tuning.Sizing) chart.Plot {
	plot := newPlot("size-cores", "Cores of the topology over the record rate: measured and requested", "records/s",
		"CPU cores",
		measuredPoints("measured", 0, s.Measured, func(v tuning.Volume) Figure { return v.RecordsPerS }, coresOf))
	request := chart.Points{Name: "requested", Colour: chart.Series(1), X: []float64{float64(s.RecordsPerS)}}
	if low, high := s.CPUCores.Low, s.CPUCores.High; low.Known() && high.Known() {
		interval := request
		interval.Name, interval.Low, interval.High = "interval", []float64{float64(low)}, []float64{float64(high)}
		plot.Points = append(plot.Points, interval)
	}
	request.Y = []float64{float64(s.CPUCores.Value)}
	plot.Points = append(plot.Points, request)
	return plot
}
