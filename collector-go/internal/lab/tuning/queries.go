package tuning

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Columns of a grid of filter bolts by queries.
const (
	ColumnFilterBolts    = "filter_bolts"
	ColumnQueries        = "queries"
	ColumnLatency        = "average_latency_ms"
	ColumnTopologyCPU    = "topology_cpu_cores"
	ColumnTopologyMemory = "topology_memory_mib"
)

// ColumnVerdict is the column with the verdict of a step that was judged by more than the table's own figures.
const ColumnVerdict = "verdict"

// QueryPoint is one measurement of the grid.
type QueryPoint struct {
	FilterBolts, Queries                int
	LatencyMs                           float64
	TopologyCPUCores, TopologyMemoryMiB Figure
	// UsedCPUCores is the CPU that the workers used at the point, in cores; 0 if it was not measured.
	UsedCPUCores Figure
	// Verdict is the verdict of a point that was judged by more than the latency; "" means that the latency decides. A
	// point that is neither OK nor FAIL says nothing about the topology: it is shown, but not used for capacity or
	// knee. An OK above the limit becomes FAIL, because the requested limit is stricter than the one it was judged by.
	Verdict Verdict
}

// QueryGoals are the requirements for a configuration and its recommended operating point.
type QueryGoals struct {
	// LimitMs is the largest allowed average latency.
	LimitMs float64
	// Headroom is the share of a row's capacity that the recommended operating point leaves free.
	Headroom   float64
	Confidence float64
}

// DefaultHeadroom leaves a fifth free, because latency rises from tens of milliseconds to seconds within one step of
// the document's grid.
const DefaultHeadroom = 0.2

// Validate returns an error that names an invalid goal.
func (g QueryGoals) Validate() error {
	switch {
	case !(g.LimitMs > 0) || math.IsInf(g.LimitMs, 0):
		return errors.New("the latency limit must be a positive time, such as 200ms")
	case !(g.Headroom >= 0 && g.Headroom < 1):
		return errors.New("the headroom must be at least 0 and below 1")
	}
	return CheckConfidence(g.Confidence)
}

// PointVerdict is one point with its verdict.
type PointVerdict struct {
	Queries      int     `json:"queries"`
	LatencyMs    Figure  `json:"average_latency_ms"`
	UsedCPUCores Figure  `json:"used_cpu_cores,omitempty"`
	Verdict      Verdict `json:"verdict"`
}

// CoresAt returns the fewest cores known to hold a load: those that the workers used or, if that was not measured,
// those that the configuration requests.
func (r QueryRow) CoresAt(queries int) Figure {
	p, _ := First(r.Points, func(p PointVerdict) bool { return p.Queries == queries && p.UsedCPUCores > 0 })
	return cmp.Or(p.UsedCPUCores, r.TopologyCPUCores)
}

// QueryRow holds all points of one configuration.
type QueryRow struct {
	FilterBolts       int            `json:"filter_bolts"`
	TopologyCPUCores  Figure         `json:"topology_cpu_cores"`
	TopologyMemoryMiB Figure         `json:"topology_memory_mib"`
	Points            []PointVerdict `json:"points"`
	Capacity          Interval       `json:"capacity"`
	Knee              *Knee          `json:"knee"`
	KneeNote          string         `json:"knee_note,omitempty"`
	// Recommended is (1 - headroom) times the smaller of the knee and the last step that was OK, rounded down.
	Recommended *int `json:"recommended_queries"`
	// Headroom is the share of the last OK step that the recommended point leaves free.
	Headroom Figure `json:"headroom_ratio"`
}

// QueryFit is capacity = intercept + queries_per_core x cores, by interval-censored maximum likelihood. Midpoints is
// the least-squares fit for comparison, which leaves out rows with only one end.
type QueryFit struct {
	QueriesPerCore Figure `json:"queries_per_core"`
	Intercept      Figure `json:"intercept"`
	Low            Figure `json:"low"`
	High           Figure `json:"high"`
	R2Midpoints    Figure `json:"r2_midpoints"`
	// DeviationQueries is the scatter of capacities about the line.
	DeviationQueries Figure `json:"deviation_queries"`
	// CoresWithoutQueries is where the line reaches 0 queries: the cores that the topology needs before it serves any.
	CoresWithoutQueries Figure  `json:"cores_at_zero_queries"`
	SlopesLow           Figure  `json:"equally_likely_low"`
	SlopesHigh          Figure  `json:"equally_likely_high"`
	IntervalRows        int     `json:"interval_rows"`
	BoundRows           int     `json:"censored_rows"`
	Midpoints           Line    `json:"midpoints"`
	Confidence          float64 `json:"confidence"`
	Method              string  `json:"method"`
	Note                string  `json:"note,omitempty"`
}

// Queries is the analysis of a grid.
type Queries struct {
	LimitMs Figure     `json:"limit_ms"`
	Rows    []QueryRow `json:"rows"`
	Fit     QueryFit   `json:"fit"`
	Notes   []string   `json:"notes"`
}

// AnalyzeQueries judges every point, finds each row's capacity and knee, and fits queries per core over the rows.
func AnalyzeQueries(points []QueryPoint, goals QueryGoals) (*Queries, error) {
	if err := errors.Join(goals.Validate(), checkQueryPoints(points)); err != nil {
		return nil, err
	}
	q := &Queries{LimitMs: Figure(goals.LimitMs), Notes: []string{}, Rows: Each(byFilterBolts(points),
		func(row []QueryPoint) QueryRow { return queryRow(row, goals) })}
	q.Fit = fitQueries(q.Rows, goals.Confidence)
	for _, r := range q.Rows {
		bolts := Counted(r.FilterBolts, "filter bolt")
		if r.Capacity.Note != "" {
			q.Notes = append(q.Notes, bolts+": "+r.Capacity.Note)
		}
		if left := r.leftOut(); left != "" {
			q.Notes = append(q.Notes, bolts+": left out, because they say nothing about the topology: "+left)
		}
		if r.Knee == nil {
			q.Notes = append(q.Notes, bolts+": no knee: "+r.KneeNote)
		}
	}
	return q, nil
}

func checkQueryPoints(points []QueryPoint) error {
	var wrong faults
	seen, first := map[[2]int]int{}, map[int]int{}
	for i, p := range points {
		n := i + 1
		wrong.atLeast(n, ColumnFilterBolts, float64(p.FilterBolts), 1)
		wrong.atLeast(n, ColumnQueries, float64(p.Queries), 0)
		wrong.atLeast(n, ColumnLatency, p.LatencyMs, 0)
		wrong.positive(n, ColumnTopologyCPU, float64(p.TopologyCPUCores))
		wrong.notNegative(n, ColumnTopologyMemory, p.TopologyMemoryMiB)
		wrong.notNegative(n, ColumnUsedCPU, p.UsedCPUCores)
		once(&wrong, seen, [2]int{p.FilterBolts, p.Queries}, n, ColumnQueries,
			"%d filter bolts with %d queries occur twice; keep one row per point", p.FilterBolts, p.Queries)
		earlier, known := first[p.FilterBolts]
		if !known {
			first[p.FilterBolts] = n
		} else if cores := points[earlier-1].TopologyCPUCores; p.TopologyCPUCores != cores &&
			p.TopologyCPUCores.Known() && cores.Known() {
			wrong.repeats(n, earlier, ColumnTopologyCPU,
				"%g cores, but %d filter bolts have %g in another row; use one figure per configuration",
				float64(p.TopologyCPUCores), p.FilterBolts, float64(cores))
		}
	}
	if len(points) == 0 {
		wrong.add(0, ColumnFilterBolts, "there are no rows")
	}
	return wrong.err()
}

// byFilterBolts groups points into rows by filter bolts. Rows and points ascend.
func byFilterBolts(points []QueryPoint) (rows [][]QueryPoint) {
	sorted := slices.SortedFunc(slices.Values(points), func(a, b QueryPoint) int {
		return cmp.Or(cmp.Compare(a.FilterBolts, b.FilterBolts), cmp.Compare(a.Queries, b.Queries))
	})
	for i, p := range sorted {
		if i == 0 || p.FilterBolts != sorted[i-1].FilterBolts {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], p)
	}
	return rows
}

func queryRow(points []QueryPoint, goals QueryGoals) QueryRow {
	row := QueryRow{FilterBolts: points[0].FilterBolts, TopologyCPUCores: points[0].TopologyCPUCores,
		TopologyMemoryMiB: points[0].TopologyMemoryMiB, Headroom: Unknown}
	var measured []Measured
	var curve []LatencyPoint
	for _, p := range points {
		verdict := p.verdict(goals.LimitMs)
		row.Points = append(row.Points, PointVerdict{p.Queries, Figure(p.LatencyMs), p.UsedCPUCores, verdict})
		if !verdict.judges() {
			continue
		}
		measured = append(measured, Measured{float64(p.Queries), verdict})
		curve = append(curve, LatencyPoint{p.Queries, p.LatencyMs})
	}
	row.Capacity = IntervalOf(measured)
	row.Knee, row.KneeNote = FindKnee(curve, goals.LimitMs)
	row.recommend(goals.Headroom)
	return row
}

func (p QueryPoint) verdict(limitMs float64) Verdict {
	switch {
	case p.Verdict != "" && p.Verdict != OK:
		return p.Verdict
	case p.LatencyMs > limitMs:
		return Fail
	}
	return OK
}

// judges reports whether the verdict says anything about the topology.
func (v Verdict) judges() bool { return v == OK || v == Fail }

// leftOut lists the points that say nothing about the topology, "40 queries (inconclusive)"; "" if there are none.
func (r QueryRow) leftOut() string {
	var points []string
	for _, p := range r.Points {
		if !p.Verdict.judges() {
			points = append(points, fmt.Sprintf("%d queries (%s)", p.Queries, p.Verdict))
		}
	}
	return strings.Join(points, ", ")
}

func (r *QueryRow) recommend(headroom float64) {
	if r.Capacity.LastOK == nil {
		return
	}
	last := *r.Capacity.LastOK
	bound := last
	if r.Knee != nil {
		bound = min(bound, float64(r.Knee.Queries))
	}
	recommended := int(math.Floor((1-headroom)*bound + 1e-9))
	r.Recommended = &recommended
	if last > 0 {
		r.Headroom = Figure(tidy(1 - float64(recommended)/last))
	}
}

// censored returns the row's capacity as an observation at x; false if it has neither end.
func (i Interval) censored(x float64) (CensoredRow, bool) {
	low, high := i.Bounds(math.Inf(-1), math.Inf(1))
	return CensoredRow{X: x, Low: low, High: high}, i.LastOK != nil || i.FirstFail != nil
}

const queryFitMethod = "interval-censored maximum likelihood of capacity = intercept + queries_per_core x cores + N(0, deviation); interval by profile likelihood with Student's t cutoff"

func fitQueries(rows []QueryRow, confidence float64) QueryFit {
	var observed []CensoredRow
	var x, middles []float64
	for _, r := range rows {
		row, known := r.Capacity.censored(float64(r.TopologyCPUCores))
		if !known {
			continue
		}
		observed = append(observed, row)
		if row.interval() {
			x, middles = append(x, row.X), append(middles, (row.Low+row.High)/2)
		}
	}
	fit := FitCensored(observed, confidence)
	f := QueryFit{QueriesPerCore: fit.Slope, Intercept: fit.Intercept,
		Low: fit.Low, High: fit.High, DeviationQueries: fit.Deviation, CoresWithoutQueries: Unknown,
		SlopesLow: fit.SlopesLow, SlopesHigh: fit.SlopesHigh, IntervalRows: fit.Intervals, BoundRows: fit.Bounds,
		Midpoints: FitLine(x, middles, confidence), Confidence: confidence, Method: queryFitMethod, Note: fit.Note}
	f.R2Midpoints = f.Midpoints.R2
	if fit.Slope > 0 {
		f.CoresWithoutQueries = -fit.Intercept / fit.Slope
	}
	return f
}

// Knee is the point at which latency begins to rise steeply.
type Knee struct {
	Queries int `json:"queries"`
	// Stable states that omitting any one point moves the knee by at most one measured step.
	Stable bool `json:"stable"`
}

// LatencyPoint is the latency measured with a number of concurrent queries.
type LatencyPoint struct {
	Queries   int
	LatencyMs float64
}

// kneePoints is the minimum number of points for a knee. With fewer, omitting one would leave no curve.
const kneePoints = 4

// FindKnee returns the knee of a row whose points ascend, or the reason why there is none. It uses Kneedle (Satopää et
// al., "Finding a 'Kneedle' in a Haystack", 2011) for an increasing convex curve, with sensitivity 1. It omits the
// smoothing, which a row of a few averages does not need.
//
// Two changes are ours. Latency counts by its logarithm, because it spans decades. The curve ends with the first point
// above limitMs, so that measurements far beyond the limit do not move the knee.
func FindKnee(points []LatencyPoint, limitMs float64) (*Knee, string) {
	if len(points) < kneePoints {
		return nil, "fewer than four points"
	}
	at := kneedle(upToFailure(points, limitMs))
	if at < 0 {
		return nil, "the latency has no bend up to the first FAIL"
	}
	knee := &Knee{Queries: points[at].Queries, Stable: true}
	for left := range points {
		others := slices.Delete(slices.Clone(points), left, left+1)
		found := kneedle(upToFailure(others, limitMs))
		if found >= left {
			found++ // its index among all points
		}
		if found < 0 || found < at-1 || found > at+1 {
			knee.Stable = false
		}
	}
	return knee, ""
}

func upToFailure(points []LatencyPoint, limitMs float64) []LatencyPoint {
	if first := slices.IndexFunc(points, func(p LatencyPoint) bool { return p.LatencyMs > limitMs }); first >= 0 {
		return points[:first+1]
	}
	return points
}

// kneedle returns the index of the knee; -1 if the curve has none.
func kneedle(points []LatencyPoint) int {
	n := len(points)
	if n < 3 {
		return -1
	}
	// A latency of 0 counts as the smallest other latency, because it has no logarithm.
	least, most := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		if p.LatencyMs > 0 {
			least, most = min(least, math.Log(p.LatencyMs)), max(most, math.Log(p.LatencyMs))
		}
	}
	if !(most > least) {
		return -1
	}
	width := float64(points[n-1].Queries - points[0].Queries)
	below := make([]float64, n) // distance of the curve below the straight line between its ends
	for i, p := range points {
		x := float64(p.Queries-points[0].Queries) / width
		below[i] = x - (math.Log(math.Max(p.LatencyMs, math.Exp(least)))-least)/(most-least)
	}
	at := slices.Index(below, slices.Max(below))
	if threshold := below[at] - 1/float64(n-1); !slices.ContainsFunc(below[at:],
		func(v float64) bool { return v < threshold }) {
		return -1
	}
	return at
}
