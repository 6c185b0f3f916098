package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// OfQueries shows each configuration's capacity and what a core holds.
func OfQueries(q *tuning.Queries) *Analysis {
	a := &Analysis{Title: fmt.Sprintf("Query scaling at a filter latency of at most %s ms", tuning.Digits(q.LimitMs)), notes: q.Notes}
	f := q.Fit
	a.Findings = append(a.Findings, "Queries per core: "+estimate(tuning.Estimate{Value: f.QueriesPerCore, Low: f.Low, High: f.High, Note: f.Note}, f.Confidence, "")+
		fmt.Sprintf(", by interval-censored maximum likelihood over %d intervals and %d bounds.", f.IntervalRows, f.BoundRows))
	if f.CoresWithoutQueries.Known() {
		a.Findings = append(a.Findings, fmt.Sprintf("Capacity = %s queries/core x cores %s queries: %s cores before the first query.", tuning.Digits(f.QueriesPerCore), signed(f.Intercept), tuning.Digits(f.CoresWithoutQueries)))
	}
	if f.SlopesLow.Known() && f.SlopesHigh.Known() && f.SlopesLow != f.SlopesHigh {
		a.Findings = append(a.Findings, "Lines through all intervals, all equally likely, have "+between(f.SlopesLow, f.SlopesHigh)+" queries per core.")
	}
	if f.Midpoints.Slope.Known() {
		a.Findings = append(a.Findings, fmt.Sprintf("Beside it, least squares of the intervals' midpoints without the censored rows: %s queries per core, R-squared %s.",
			tuning.Digits(f.Midpoints.Slope), tuning.Digits(f.R2Midpoints)))
	}
	rows := table{Heads: []string{"Filter bolts", "CPU cores", "Memory MiB", "Capacity, queries", "Knee, queries", "Knee stable", "Recommended queries", "Headroom"},
		Numeric: []bool{true, true, true, true, true, false, true, true}}
	points := table{Heads: []string{"Filter bolts", "Queries", "Average latency ms", "Verdict"}, Numeric: []bool{true, true, true, false}}
	for _, r := range q.Rows {
		knee, stable := "–", "–"
		if r.Knee != nil {
			knee, stable = tuning.Grouped(strconv.Itoa(r.Knee.Queries)), map[bool]string{true: "yes", false: "no"}[r.Knee.Stable]
		}
		rows.Rows = append(rows.Rows, []string{strconv.Itoa(r.FilterBolts), tuning.Digits(r.TopologyCPUCores), tuning.Digits(r.TopologyMemoryMiB), capacity(r.Capacity),
			knee, stable, count(r.Recommended), percent(r.Headroom)})
		for _, p := range r.Points {
			points.Rows = append(points.Rows, []string{strconv.Itoa(r.FilterBolts), strconv.Itoa(p.Queries), tuning.Digits(p.LatencyMs), string(p.Verdict)})
		}
	}
	a.add("Configurations", rows)
	a.add("Points", points)
	a.Charts = []Chart{latencyChart(q), capacityChart(q)}
	return a
}

// signed is a number as a summand.
func signed(f Figure) string {
	if f < 0 {
		return "- " + tuning.Digits(-f)
	}
	return "+ " + tuning.Digits(f)
}

func latencyChart(q *tuning.Queries) Chart {
	chart := Chart{Name: "queries-latency", Title: "Filter latency over simultaneous queries, by filter bolts", xLabel: "simultaneous queries", yLabel: "average latency, ms, logarithmic",
		logY: true, limit: q.LimitMs, limitAs: "limit " + tuning.Digits(q.LimitMs) + " ms"}
	for i, r := range q.Rows {
		x := floats(r.Points, func(p tuning.PointVerdict) Figure { return Figure(p.Queries) })
		y := floats(r.Points, func(p tuning.PointVerdict) Figure { return p.LatencyMs })
		var ok []bool
		for _, p := range r.Points {
			ok = append(ok, p.Verdict == tuning.OK)
		}
		chart.marks = append(chart.marks, marks{colour: workerColour(i), x: x, y: y, joined: true},
			marks{name: fmt.Sprintf("%d filter bolts", r.FilterBolts), colour: workerColour(i), x: x, y: y, verdicts: ok})
	}
	return chart
}

func capacityChart(q *tuning.Queries) Chart {
	chart := Chart{Name: "queries-capacity", Title: "Capacity over the topology's cores: between the last OK step and the first that failed",
		xLabel: "CPU cores of the topology (the axis does not begin at 0)", yLabel: "simultaneous queries", limit: Unknown, crop: true}
	intervals := marks{name: "capacity (arrow: at least)", colour: workerColour(0), low: []float64{}}
	most := 0.0
	for _, r := range q.Rows {
		low, high := 0.0, math.Inf(1)
		if r.Capacity.LastOK != nil {
			low = float64(*r.Capacity.LastOK)
		}
		if r.Capacity.FirstFail != nil {
			high = float64(*r.Capacity.FirstFail)
		}
		cores := float64(r.TopologyCPUCores)
		most = max(most, cores)
		intervals.x, intervals.low, intervals.high = append(intervals.x, cores), append(intervals.low, low), append(intervals.high, high)
	}
	chart.marks = append(chart.marks, intervals)
	if q.Fit.QueriesPerCore.Known() {
		at := func(cores float64) Figure { return q.Fit.Intercept + q.Fit.QueriesPerCore*Figure(cores) }
		chart.marks = append(chart.marks, straight("interval-censored maximum likelihood", 1, max(0, float64(q.Fit.CoresWithoutQueries)), most*1.02, at, false))
	}
	return chart
}
