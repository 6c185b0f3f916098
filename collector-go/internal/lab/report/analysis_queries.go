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
