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

// OfQueries shows each configuration's capacity and what a core holds.
func OfQueries(q *tuning.Queries) *document.Document {
	d := &document.Document{
		Title: fmt.Sprintf("Query scaling at a filter latency of at most %s ms",
			tuning.Digits(q.LimitMs)), Notes: q.Notes,
		Findings: queriesFindings(q),
	}
	d.Add("Configurations", document.Tabled(capacityTable(q)))
	d.Add("Points", document.Tabled(pointTable(q)))
	d.Figures = []chart.Figure{latencyChart(q).Figure(), capacityChart(q).Figure()}
	if len(q.Rows) > 1 {
		addDemand(d, q)
	}
	return d
}

// addDemand adds, for each load that was run, the configuration that held it with the least cores: those that it used
// then, where that was measured.
func addDemand(d *document.Document, q *tuning.Queries) {
	var loads, cores []float64
	for _, r := range q.Rows {
		for _, p := range r.Points {
			if load := float64(p.Queries); load > 0 && !slices.Contains(loads, load) {
				loads = append(loads, load)
			}
		}
	}
	slices.Sort(loads)
	t := document.NewTable(document.Numbers("Queries", ""), document.Numbers("Least cores", ""),
		document.Numbers("Filter bolts", ""))
	for _, load := range loads {
		least, bolts := math.NaN(), "more than was run"
		for _, r := range q.Rows {
			held := r.Capacity.LastOK != nil && float64(*r.Capacity.LastOK) >= load
			if at := float64(r.CoresAt(int(load))); held && !(at >= least) {
				least, bolts = at, strconv.Itoa(r.FilterBolts)
			}
		}
		cores = append(cores, least)
		t.Add(grouped(int(load)), tuning.Digits(Figure(least)), bolts)
	}
	d.Add("Demand: the least that held each load", document.Tabled(t))
	d.Figures = append(d.Figures, demandChart("queries-demand", simultaneousQueries, loads, cores).Figure())
}

func queriesFindings(q *tuning.Queries) []string {
	f := q.Fit
	perCore := tuning.Estimate{Value: f.QueriesPerCore, Low: f.Low, High: f.High, Note: f.Note}
	out := []string{
		fmt.Sprintf("Queries per core: %s, by interval-censored maximum likelihood over %d intervals and %d bounds.",
			perCore.Text(f.Confidence, ""), f.IntervalRows, f.BoundRows),
	}
	if f.CoresWithoutQueries.Known() {
		out = append(out, fmt.Sprintf("Capacity = %s queries/core x cores %s queries: %s cores before the first query.",
			tuning.Digits(f.QueriesPerCore), signed(f.Intercept), tuning.Digits(f.CoresWithoutQueries)))
	}
	if f.SlopesLow.Known() && f.SlopesHigh.Known() && f.SlopesLow != f.SlopesHigh {
		out = append(out,
			"Lines through all intervals, all equally likely, have "+tuning.Between(f.SlopesLow, f.SlopesHigh)+
				" queries per core.")
	}
	if f.Midpoints.Slope.Known() {
		out = append(out,
			fmt.Sprintf("Beside it, least squares of the intervals' midpoints without the censored rows: "+
				"%s queries per core, R-squared %s.", tuning.Digits(f.Midpoints.Slope), tuning.Digits(f.R2Midpoints)))
	}
	return out
}

// signed is a number as a summand.
func signed(f Figure) string {
	if f < 0 {
		return "- " + tuning.Digits(-f)
	}
	return "+ " + tuning.Digits(f)
}

func capacityTable(q *tuning.Queries) document.Table {
	type row = tuning.QueryRow
	orUnknown := func(known bool, cell func() string) string {
		if !known {
			return document.Unknown
		}
		return cell()
	}
	return document.TableOf(q.Rows,
		wholeColumn("Filter bolts", func(r row) int { return r.FilterBolts }),
		digitsColumn("CPU cores", "", func(r row) Figure { return r.TopologyCPUCores }),
		digitsColumn("Memory", "MiB", func(r row) Figure { return r.TopologyMemoryMiB }),
		document.Number("Capacity, queries", "", func(r row) string { return r.Capacity.Text() }),
		document.Number("Knee, queries", "", func(r row) string {
			return orUnknown(r.Knee != nil, func() string { return grouped(r.Knee.Queries) })
		}),
		document.Text("Knee stable", func(r row) string {
			return orUnknown(r.Knee != nil,
				func() string { return map[bool]string{true: "yes", false: "no"}[r.Knee.Stable] })
		}),
		document.Number("Recommended queries", "", func(r row) string {
			return orUnknown(r.Recommended != nil, func() string { return grouped(*r.Recommended) })
		}),
		percentColumn("Headroom", func(r row) Figure { return r.Headroom }),
	)
}

func pointTable(q *tuning.Queries) document.Table {
	t := document.NewTable(document.Numbers("Filter bolts", ""), document.Numbers("Queries", ""),
		document.Numbers("Average latency", "ms"), document.Words("Verdict"))
	for _, r := range q.Rows {
		for _, p := range r.Points {
			t.Add(strconv.Itoa(r.FilterBolts), grouped(p.Queries), tuning.Digits(p.LatencyMs), string(p.Verdict))
		}
	}
	return t
}

func latencyChart(q *tuning.Queries) chart.Plot {
	plot := chart.Plot{
		Name: "queries-latency", Title: "Filter latency over simultaneous queries, by filter " +
			"bolts", XLabel: simultaneousQueries,
		YLabel: "average latency, ms, logarithmic", LogY: true,
		Limit: chart.Limit{At: float64(q.LimitMs), Name: "limit " + tuning.Digits(q.LimitMs) + " ms"},
	}
	for i, r := range q.Rows {
		points := measuredPoints(tuning.Counted(r.FilterBolts, "filter bolt"), i, r.Points,
			func(p tuning.PointVerdict) Figure { return Figure(p.Queries) },
			func(p tuning.PointVerdict) Figure { return p.LatencyMs })
		joined := points
		joined.Name, joined.Joined = "", true
		for _, p := range r.Points {
			points.Full = append(points.Full, p.Verdict == tuning.OK)
		}
		plot.Points = append(plot.Points, joined, points)
	}
	return plot
}

func capacityChart(q *tuning.Queries) chart.Plot {
	intervals := chart.Points{Name: "capacity (arrow: at least)", Colour: chart.Series(0), Low: []float64{}}
	most := 0.0
	for _, r := range q.Rows {
		low, high := 0.0, math.Inf(1)
		if r.Capacity.LastOK != nil {
			low = *r.Capacity.LastOK
		}
		if r.Capacity.FirstFail != nil {
			high = *r.Capacity.FirstFail
		}
		most = max(most, float64(r.TopologyCPUCores))
		intervals.X = append(intervals.X, float64(r.TopologyCPUCores))
		intervals.Low, intervals.High = append(intervals.Low, low), append(intervals.High, high)
	}
	plot := chart.Plot{
		Name: "queries-capacity", Title: "Capacity over the topology's cores: between the last OK step and the first " +
			"that failed",
		XLabel: coresOfTopology + " (the axis does not begin at 0)", YLabel: simultaneousQueries, Limit: chart.NoLimit,
		Crop:   true,
		Points: []chart.Points{intervals},
	}
	if q.Fit.QueriesPerCore.Known() {
		at := func(cores float64) Figure { return q.Fit.Intercept + q.Fit.QueriesPerCore*Figure(cores) }
		from := max(0, float64(q.Fit.CoresWithoutQueries))
		plot.Points = append(plot.Points, fitOver("interval-censored maximum likelihood", 1, intervals.X, from, most*1.02,
			at)...)
	}
	return plot
}
