package tuning

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Demand is what a topology is to be sized for.
type Demand struct {
	RecordsPerS float64    `json:"records_per_s"`
	Queries     int        `json:"queries"`
	Goals       QueryGoals `json:"-"`
	// QueryTestRecordsPerS is the record rate at which the grid of queries was measured; unknown where nobody said.
	QueryTestRecordsPerS Figure  `json:"-"`
	Machine              Machine `json:"-"`
	// Extrapolate sizes also for what lies outside of what was measured.
	Extrapolate bool `json:"-"`
}

// Evidence is what was measured: volumes and a grid of queries, and, for components that neither moves, a table of components.
type Evidence struct {
	Volumes []DataRow
	Points  []QueryPoint
	Others  []Component
}

// OutOfRange is a demand outside of what was measured.
type OutOfRange struct{ Outside []string }

func (o OutOfRange) Error() string {
	return strings.Join(o.Outside, "; ") + ". Measure there, or give --extrapolate to have the fits drawn on beyond the measurements"
}

// Setting is one of Bullet's settings with what is known of it.
type Setting struct {
	Key   string  `json:"key"`
	Value float64 `json:"value"`
	// Low and High bound the estimate that Value was rounded up from; null where it was read from a table, or is not bounded.
	Low    Figure `json:"low"`
	High   Figure `json:"high"`
	Reason string `json:"reason"`

	whole bool
}

// Sizing is a configuration for a demand.
type Sizing struct {
	RecordsPerS Figure    `json:"records_per_s"`
	Queries     int       `json:"queries"`
	LimitMs     Figure    `json:"limit_ms"`
	Headroom    Figure    `json:"headroom_ratio"`
	Settings    []Setting `json:"settings"`
	// FilterBoltsForRecords and FilterBoltsForQueries are the two needs that the larger of is taken.
	FilterBoltsForRecords Estimate `json:"filter_bolts_for_records"`
	FilterBoltsForQueries Estimate `json:"filter_bolts_for_queries"`
	CPUCores              Estimate `json:"cpu_cores"`
	MemoryMiB             Estimate `json:"memory_mib"`
	Machines              int      `json:"machines"`
	Limiting              string   `json:"limiting"`
	Machine               Machine  `json:"machine"`
	// Outside says what lies outside of the measurements, and by how much.
	Outside    []string `json:"outside_measured_range"`
	Notes      []string `json:"notes"`
	Confidence float64  `json:"confidence"`
	// Measured are the volumes that it was made from.
	Measured []Volume `json:"-"`
}

// sizer holds what a sizing is made from.
type sizer struct {
	Demand
	evidence Evidence
	volumes  []Volume
	queries  *Queries
	fit      CensoredFit // capacity over filter bolts
	s        *Sizing
}

// Size finds the configuration. Components follow the record rate by the lines of their parallelism over it; filter bolts also
// follow the queries, by the fit of capacity over filter bolts. A filter bolt's work is its share of the records times what the queries
// cost each, so the bolts for the queries grow in proportion to the record rate over that of the query test; the larger of the two
// needs is taken.
func Size(d Demand, e Evidence) (*Sizing, error) {
	if !(d.RecordsPerS > 0) || math.IsInf(d.RecordsPerS, 0) || d.Queries < 0 {
		return nil, errors.New("the records per second must be a positive number, and the queries at least 0")
	}
	if err := d.Machine.Validate(); err != nil {
		return nil, err
	}
	volumes, err := volumesOf(e.Volumes)
	if err != nil {
		return nil, err
	}
	queries, err := AnalyzeQueries(e.Points, d.Goals)
	if err != nil {
		return nil, err
	}
	z := &sizer{Demand: d, evidence: e, volumes: volumes, queries: queries, s: &Sizing{RecordsPerS: Figure(d.RecordsPerS), Queries: d.Queries,
		LimitMs: Figure(d.Goals.LimitMs), Headroom: Figure(d.Goals.Headroom), Machine: d.Machine, Confidence: d.Goals.Confidence,
		Outside: []string{}, Notes: []string{}}}
	if err := z.checkRange(); err != nil {
		return nil, err
	}
	if err := z.filterBolts(); err != nil {
		return nil, err
	}
	z.s.Measured = volumes
	z.settings()
	z.total()
	return z.s, nil
}

// checkRange refuses what was not measured, unless told otherwise.
func (z *sizer) checkRange() error {
	least, most := math.Inf(1), math.Inf(-1)
	for _, row := range z.queries.Rows {
		for _, p := range row.Points {
			least = min(least, float64(p.Queries))
		}
		if row.Capacity.LastOK != nil {
			most = max(most, float64(*row.Capacity.LastOK))
		}
	}
	if math.IsInf(most, -1) {
		return fmt.Errorf("every measured point is above the limit of %g ms: no configuration is known to hold any query", z.Goals.LimitMs)
	}
	z.within("queries", float64(z.Queries), least, most, "held within the limit")
	z.within("records/s", z.RecordsPerS, float64(z.volumes[0].RecordsPerS), float64(z.volumes[len(z.volumes)-1].RecordsPerS), "measured")
	if len(z.s.Outside) > 0 && !z.Extrapolate {
		return OutOfRange{z.s.Outside}
	}
	return nil
}

func (z *sizer) within(what string, v, least, most float64, how string) {
	switch {
	case v > most:
		z.s.Outside = append(z.s.Outside, fmt.Sprintf("%s %s is %.3g%% above the most that was %s, %s", grouped(v), what, 100*(v/most-1), how, grouped(most)))
	case v < least:
		z.s.Outside = append(z.s.Outside, fmt.Sprintf("%s %s is %.3g%% below the least that was %s, %s", grouped(v), what, 100*(1-v/least), how, grouped(least)))
	}
}

// filterBolts finds both needs.
func (z *sizer) filterBolts() error {
	z.s.FilterBoltsForRecords = z.parallelism(filterBolt)
	needed := float64(z.Queries) / (1 - z.Goals.Headroom)
	need, err := z.boltsFor(needed)
	if err != nil {
		return err
	}
	at := z.QueryTestRecordsPerS
	if !at.Known() {
		at = z.volumes[0].RecordsPerS
		z.note("the query test's record rate is not known (no column %s, no --query-records-per-s): taken as the smallest measured volume, %s records/s, "+
			"which gives the most filter bolts", ColumnRecordRate, grouped(float64(at)))
	}
	share := Figure(z.RecordsPerS) / at
	if share != 1 {
		z.note("filter bolts for queries are those of the query test times %.4g, the ratio of the record rates: each bolt matches each of its records against each query", float64(share))
	}
	need.Value, need.Low, need.High = need.Value*share, need.Low*share, need.High*share
	z.s.FilterBoltsForQueries = need
	return nil
}

// boltsFor is how many filter bolts hold a capacity at the query test's record rate, not fewer than the fewest measured.
func (z *sizer) boltsFor(capacity float64) (Estimate, error) {
	var rows []CensoredRow
	for _, row := range z.queries.Rows {
		if r, known := row.Capacity.censored(float64(row.FilterBolts)); known {
			rows = append(rows, r)
		}
	}
	z.fit = FitCensored(rows, z.Goals.Confidence)
	need := z.fit.XFor(capacity)
	if !need.Value.Known() {
		for _, row := range z.queries.Rows {
			if row.Capacity.LastOK != nil && float64(*row.Capacity.LastOK) >= capacity {
				need.Value = Figure(row.FilterBolts)
				z.note("no fit of queries (%s): the smallest measured configuration that held them is taken", need.Note)
				return need, nil
			}
		}
		return need, fmt.Errorf("the query table tells no fit (%s), and no measured configuration held %.0f queries, which %d with %g%% headroom ask for",
			need.Note, math.Ceil(capacity), z.Queries, 100*z.Goals.Headroom)
	}
	if need.Note != "" {
		z.note("filter bolts for queries: %s", need.Note)
	}
	if most := z.mostHeld(); capacity > most && float64(z.Queries) <= most {
		z.note("%d queries with %g%% headroom ask for a capacity of %.0f, which is more than the %.0f that were held: the fit is drawn on for the headroom",
			z.Queries, 100*z.Goals.Headroom, math.Ceil(capacity), most)
	}
	if fewest := Figure(z.queries.Rows[0].FilterBolts); need.Value < fewest {
		need.Value = fewest
		z.note("fewer filter bolts than the %d of the smallest measured configuration are not tried", int(fewest))
	}
	return need, nil
}

func (z *sizer) mostHeld() (most float64) {
	for _, row := range z.queries.Rows {
		if row.Capacity.LastOK != nil {
			most = max(most, float64(*row.Capacity.LastOK))
		}
	}
	return most
}

func (z *sizer) note(format string, args ...any) {
	z.s.Notes = append(z.s.Notes, fmt.Sprintf(format, args...))
}

// over fits a figure of the volumes over their record rates and predicts it for the rate asked for.
func (z *sizer) over(figure func(Volume) (Figure, bool)) Estimate {
	var x, y []float64
	for _, v := range z.volumes {
		if f, found := figure(v); found {
			x, y = append(x, float64(v.RecordsPerS)), append(y, float64(f))
		}
	}
	if len(x) == 1 && x[0] == z.RecordsPerS {
		return Estimate{Value: Figure(y[0]), Low: Unknown, High: Unknown, Note: "one volume was measured, the one asked for"}
	}
	return FitLine(x, y, z.Goals.Confidence).Predict(z.RecordsPerS)
}

// parallelism is that of a component at the record rate asked for; unknown where the volumes do not have it.
func (z *sizer) parallelism(name string) Estimate {
	return z.over(func(v Volume) (Figure, bool) {
		c, found := componentNamed(name, v.Components)
		return Figure(c.Parallelism), found
	})
}

// model is the volume whose instances are copied: the smallest that is not below the rate asked for, or the largest.
func (z *sizer) model() Volume {
	for _, v := range z.volumes {
		if float64(v.RecordsPerS) >= z.RecordsPerS {
			return v
		}
	}
	return z.volumes[len(z.volumes)-1]
}

// settings lists what Bullet is told.
func (z *sizer) settings() {
	model := z.model()
	hasFilter := false
	for _, c := range model.Components {
		prefix, known := prefixOf(c.Name, model.Components)
		if !known {
			z.note("Bullet has no settings for component %s, %d instances at %s records/s", c.Name, c.Parallelism, grouped(float64(model.RecordsPerS)))
			continue
		}
		parallelism, reason := z.parallelism(plainName(c.Name)), "parallelism over records/s"
		if plainName(c.Name) == filterBolt {
			hasFilter = true
			parallelism, reason = z.largerNeed()
		}
		z.component(prefix, c, parallelism, reason, fmt.Sprintf("as at %s records/s", grouped(float64(model.RecordsPerS))))
	}
	if !hasFilter {
		need, reason := z.largerNeed()
		z.component("bullet.topology.filter.bolt", Component{CPUCoresEach: Unknown, CPUCoresTotal: Unknown, OnHeapMiB: Unknown, OffHeapMiB: Unknown}, need, reason, "")
		z.note("the table of volumes has no components, so only filter bolts are sized; spouts are not")
	}
	for _, c := range z.evidence.Others {
		prefix, known := prefixOf(c.Name, z.evidence.Others)
		if _, sized := componentNamed(plainName(c.Name), model.Components); known && !sized {
			as := Estimate{Value: Figure(c.Parallelism), Low: Unknown, High: Unknown}
			z.component(prefix, c, as, "as in the table of components, which no fit moves", "as in the table of components")
		}
	}
}

// largerNeed is the filter bolts for records or for queries, whichever are more.
func (z *sizer) largerNeed() (Estimate, string) {
	records, queries := z.s.FilterBoltsForRecords, z.s.FilterBoltsForQueries
	switch {
	case !records.Value.Known():
		return queries, "for the queries; records/s tell none"
	case queries.Value > records.Value:
		return queries, fmt.Sprintf("for the queries; records/s alone ask for %.0f", math.Ceil(float64(records.Value)-1e-9))
	}
	return records, fmt.Sprintf("for the records/s; the queries ask for %.0f", math.Ceil(float64(queries.Value)-1e-9))
}

func (z *sizer) component(prefix string, c Component, parallelism Estimate, reason, copied string) {
	instances := 1.0
	if parallelism.Value.Known() {
		instances = math.Max(1, float64(ceil(float64(parallelism.Value))))
	}
	add := func(key string, v Figure, factor float64) {
		if v.Known() {
			z.s.Settings = append(z.s.Settings, Setting{Key: prefix + key, Value: tidy(factor * float64(v)), Low: Unknown, High: Unknown, Reason: copied})
		}
	}
	z.s.Settings = append(z.s.Settings, Setting{Key: prefix + ".parallelism", Value: instances, Low: nonNegative(parallelism.Low), High: parallelism.High, Reason: reason, whole: true})
	each := c.CPUCoresEach
	if !each.Known() && c.Parallelism > 0 {
		each = c.CPUCoresTotal / Figure(c.Parallelism)
	}
	add(".cpu.load", each, 100)
	add(".memory.on.heap.load", c.OnHeapMiB, 1)
	add(".memory.off.heap.load", c.OffHeapMiB, 1)
}

func nonNegative(f Figure) Figure {
	if f < 0 {
		return 0
	}
	return f
}

// total estimates the whole topology: the line over records/s, and the filter bolts that the queries need beyond it.
func (z *sizer) total() {
	z.s.CPUCores = z.over(func(v Volume) (Figure, bool) { return v.TotalCPUCores, true })
	z.s.MemoryMiB = z.over(func(v Volume) (Figure, bool) { return v.TotalMemoryMiB, true })
	if extra := z.s.FilterBoltsForQueries.Value - z.s.FilterBoltsForRecords.Value; extra > 0 {
		each := z.perFilterBolt(func(r QueryRow) Figure { return r.TopologyCPUCores })
		z.s.CPUCores = z.s.CPUCores.plus(extra * each)
		z.s.MemoryMiB = z.s.MemoryMiB.plus(extra * z.perFilterBolt(func(r QueryRow) Figure { return r.TopologyMemoryMiB }))
	}
	if !z.s.CPUCores.Value.Known() {
		z.note("the topology's cores are not told by one volume alone")
		z.s.Limiting = LimitedByCPU
		return
	}
	r := Resources{Machine: z.Machine, Totals: Totals{CPUCores: z.s.CPUCores.Value, TotalMemoryMiB: z.s.MemoryMiB.Value}}
	r.place()
	z.s.Machines, z.s.Limiting = r.Machines, r.Limiting
	z.s.Notes = append(z.s.Notes, r.Notes...)
}

// perFilterBolt is what one filter bolt adds in the query table.
func (z *sizer) perFilterBolt(figure func(QueryRow) Figure) Figure {
	var x, y []float64
	for _, r := range z.queries.Rows {
		if v := figure(r); v.Known() {
			x, y = append(x, float64(r.FilterBolts)), append(y, float64(v))
		}
	}
	if slope := FitLine(x, y, z.Goals.Confidence).Slope; slope > 0 {
		return slope
	}
	return 0
}

func (e Estimate) plus(v Figure) Estimate {
	e.Value, e.Low, e.High = e.Value+v, e.Low+v, e.High+v
	return e
}
