package tuning

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Setting is one of Bullet's settings, with its uncertainty and its reason.
type Setting struct {
	Key   string  `json:"key"`
	Value float64 `json:"value"`
	// Low and High bound the estimate that Value was rounded up from. They are null if Value comes from a table or is
	// not bounded.
	Low    Figure `json:"low"`
	High   Figure `json:"high"`
	Reason string `json:"reason"`

	integer bool
}

// Sizing is a configuration for a load.
type Sizing struct {
	RecordsPerS Figure    `json:"records_per_s"`
	Queries     int       `json:"queries"`
	Class       string    `json:"query_class"`
	LimitMs     Figure    `json:"limit_ms"`
	Headroom    Figure    `json:"headroom_ratio"`
	Settings    []Setting `json:"settings"`
	// FilterBoltsForRecords and FilterBoltsForQueries are the two requirements; the larger is used.
	FilterBoltsForRecords Estimate `json:"filter_bolts_for_records"`
	FilterBoltsForQueries Estimate `json:"filter_bolts_for_queries"`
	CPUCores              Estimate `json:"cpu_cores"`
	MemoryMiB             Estimate `json:"memory_mib"`
	Machines              int      `json:"machines"`
	Limiting              string   `json:"limiting"`
	Machine               Machine  `json:"machine"`
	// Outside states which values are outside of the measured range, and by how much.
	Outside    []string `json:"outside_measured_range"`
	Notes      []string `json:"notes"`
	Confidence float64  `json:"confidence"`
	// Measured are the volumes that the sizing is based on.
	Measured []Volume `json:"-"`

	queriesMeasured bool
}

// sizer holds the inputs and the state of a sizing.
type sizer struct {
	TargetLoad
	evidence Measurements
	volumes  []Volume
	queries  *Queries
	s        *Sizing
}

// Size computes a configuration for a load of records and queries. It does no I/O and returns an error for impossible
// input.
//
// The parallelism of each component follows the record rate by a power law. Filter bolts also follow the queries, by
// the censored fit of capacity over filter bolts. The work of a filter bolt is its share of the records times the cost
// of the queries. The bolts for the queries therefore grow with the ratio of the requested record rate to that of the
// query test. The larger of the two requirements is used.
//
// Outside and Notes list everything that goes beyond the measurements. A sizing without them would be trusted too
// much.
func Size(d TargetLoad, e Measurements) (*Sizing, error) {
	if !(d.RecordsPerS > 0) || math.IsInf(d.RecordsPerS, 0) || d.Queries < 0 {
		return nil, errors.New("the records per second must be a positive number, and the queries at least 0")
	}
	if err := d.Machine.check(); err != nil {
		return nil, err
	}
	z := &sizer{TargetLoad: d, evidence: e, s: &Sizing{RecordsPerS: Figure(d.RecordsPerS),
		Queries: d.Queries, Class: cmp.Or(strings.ToUpper(strings.ReplaceAll(d.Class, "_", " ")), "RAW"),
		LimitMs: Figure(d.Goals.LimitMs), Headroom: Figure(d.Goals.Headroom),
		Machine: d.Machine, Confidence: d.Goals.Confidence, Outside: []string{}, Notes: []string{}}}
	if err := z.read(); err != nil {
		return nil, err
	}
	if err := z.checkRange(); err != nil {
		return nil, err
	}
	if err := z.filterBolts(); err != nil {
		return nil, err
	}
	z.s.Measured, z.s.queriesMeasured = z.volumes, z.queries != nil
	z.settings()
	z.total()
	return z.s, nil
}

// read analyses the two tables, and notes what a missing table leaves unknown.
func (z *sizer) read() (err error) {
	if len(z.evidence.Volumes)+len(z.evidence.Points) == 0 {
		return errors.New("there are no measurements; give data volumes, filter bolts by queries, or both")
	}
	if len(z.evidence.Volumes) > 0 {
		if z.volumes, err = volumesOf(z.evidence.Volumes); err != nil {
			return err
		}
		z.sameConfiguration()
	} else {
		z.note("the resources for more records are unknown, because no data volumes were measured")
	}
	if len(z.evidence.Points) == 0 {
		z.note("the resources for more queries, and their possible number, are unknown, because filter bolts by queries were not measured")
		return z.Goals.Validate()
	}
	z.queries, err = AnalyzeQueries(z.evidence.Points, z.Goals)
	return err
}

// sameConfiguration adds a note if one configuration held all volumes, because they then do not show what a larger
// volume needs.
func (z *sizer) sameConfiguration() {
	first := z.volumes[0]
	same := func(a, b Component) bool { return a.Name == b.Name && a.Parallelism == b.Parallelism }
	for _, v := range z.volumes[1:] {
		if v.TotalCPUCores != first.TotalCPUCores || !slices.EqualFunc(v.Components, first.Components, same) {
			return
		}
	}
	if len(z.volumes) > 1 {
		z.note("one configuration held all %d measured volumes, up to %s records/s, so its intervals have no width; to size for more, measure until a step fails",
			len(z.volumes), Digits(z.volumes[len(z.volumes)-1].RecordsPerS))
	}
}

func (z *sizer) note(format string, args ...any) {
	z.s.Notes = append(z.s.Notes, fmt.Sprintf(format, args...))
}

// model returns the volume whose instances are copied: the smallest that is not below the requested rate, otherwise
// the largest. Without volumes it is empty.
func (z *sizer) model() (model Volume) {
	for _, v := range z.volumes {
		if model = v; float64(v.RecordsPerS) >= z.RecordsPerS {
			break
		}
	}
	return model
}

// settings computes the settings for Bullet.
func (z *sizer) settings() {
	model := z.model()
	copied := fmt.Sprintf("as at %s records/s", Digits(model.RecordsPerS))
	var own, unknown []string
	for _, c := range model.Components {
		prefix, known := prefixOf(c.Name, model.Components)
		switch {
		case !known && strings.HasPrefix(c.Name, "__"):
			own = append(own, fmt.Sprintf("%s %d", c.Name, c.Parallelism))
		case !known:
			unknown = append(unknown, fmt.Sprintf("%s, %d instances", c.Name, c.Parallelism))
		case plainName(c.Name) == filterBolt:
			required, reason := z.largerRequirement()
			z.component(prefix, c, required, reason, copied)
		default:
			z.component(prefix, c, z.parallelism(plainName(c.Name)), "parallelism over records/s", copied)
		}
	}
	for _, c := range unknown {
		z.note("Bullet has no settings for component %s %s", c, strings.TrimPrefix(copied, "as "))
	}
	if len(own) > 0 {
		z.note("the number of Storm's own components follows from Storm's settings; %s there were %s",
			strings.TrimPrefix(copied, "as "), strings.Join(own, ", "))
	}
	if _, has := componentNamed(filterBolt, model.Components); !has {
		z.filterAlone()
	}
	z.others(model.Components)
}

// filterAlone sizes the filter bolts if the volumes do not contain them. Their instances are those of the table of
// components.
func (z *sizer) filterAlone() {
	c, found := componentNamed(filterBolt, z.evidence.Others)
	if !found {
		c = Component{CPUCoresEach: Unknown, CPUCoresTotal: Unknown, OnHeapMiB: Unknown, OffHeapMiB: Unknown}
	}
	required, reason := z.largerRequirement()
	z.component("bullet.topology.filter.bolt", c, required, reason, "as in "+z.othersFrom())
	if len(z.volumes) > 0 {
		z.note("only filter bolts are sized and no spouts, because the table of volumes has no components")
	}
}

// others adds the components that depend on neither records nor queries.
func (z *sizer) others(sized []Component) {
	from := z.othersFrom()
	for _, c := range z.evidence.Others {
		prefix, known := prefixOf(c.Name, z.evidence.Others)
		if _, has := componentNamed(plainName(c.Name), sized); has || !known || plainName(c.Name) == filterBolt {
			continue
		}
		as := Estimate{Value: Figure(c.Parallelism), Low: Unknown, High: Unknown}
		z.component(prefix, c, as, "as in "+from+"; no fit changes it", "as in "+from)
	}
}

func (z *sizer) othersFrom() string { return cmp.Or(z.evidence.OthersFrom, "the table of components") }

func (z *sizer) component(prefix string, c Component, parallelism Estimate, reason, copied string) {
	instances := 1.0
	if parallelism.Value.Known() {
		instances = math.Max(1, float64(ceil(float64(parallelism.Value))))
	}
	add := func(key string, v Figure, factor float64) {
		if v.Known() {
			z.s.Settings = append(z.s.Settings, Setting{Key: prefix + key, Value: tidy(factor * float64(v)),
				Low: Unknown, High: Unknown, Reason: copied})
		}
	}
	if key := parallelismOf(prefix); key != "" {
		z.s.Settings = append(z.s.Settings, Setting{Key: key, Value: instances, Low: parallelism.Low,
			High: parallelism.High, Reason: reason, integer: true})
	}
	if prefix == ackers {
		return // their CPU and heap are one setting of Storm
	}
	each := c.CPUCoresEach
	if !each.Known() && c.Parallelism > 0 {
		each = c.CPUCoresTotal / Figure(c.Parallelism)
	}
	if c.BusyMost > 0 {
		declared := "nothing declared"
		if each.Known() {
			declared = "declared " + Digits(100*each)
		}
		load := min(1, c.BusyMost/Figure(1-z.Goals.Headroom))
		z.s.Settings = append(z.s.Settings, Setting{Key: prefix + ".cpu.load",
			Value: math.Ceil(100*float64(load) - 1e-9), Low: Unknown, High: Unknown, Reason: fmt.Sprintf("the busiest instance was %s busy at the last step that held; plus %s headroom, at most one core; %s",
				Percent(c.BusyMost), Percent(z.s.Headroom), declared)})
	} else {
		add(".cpu.load", each, 100)
	}
	add(".memory.on.heap.load", c.OnHeapMiB, 1)
	add(".memory.off.heap.load", c.OffHeapMiB, 1)
}

// total estimates the whole topology: the power law over records/s, plus the filter bolts that the queries need beyond
// it. Without volumes it uses the requests of the query test's configurations over their filter bolts.
func (z *sizer) total() {
	if len(z.volumes) == 0 {
		z.s.CPUCores = z.overBolts(func(r QueryRow) Figure { return r.TopologyCPUCores })
		z.s.MemoryMiB = z.overBolts(func(r QueryRow) Figure { return r.TopologyMemoryMiB })
	} else {
		z.s.CPUCores = z.over(func(v Volume) (Figure, bool) { return v.Cores(), true })
		if largest := z.volumes[len(z.volumes)-1]; largest.UsedCPUCores > 0 {
			z.note("cores are those that the workers used at each volume: %s at %s records/s, while %s were declared",
				Digits(largest.UsedCPUCores), Digits(largest.RecordsPerS), Digits(largest.TotalCPUCores))
		}
		z.s.MemoryMiB = z.over(func(v Volume) (Figure, bool) { return v.TotalMemoryMiB, true })
	}
	if extra := z.s.FilterBoltsForQueries.Value - z.s.FilterBoltsForRecords.Value; extra > 0 {
		each := z.perFilterBolt(func(r QueryRow) Figure { return r.TopologyCPUCores })
		z.s.CPUCores = z.s.CPUCores.plus(extra * each)
		z.s.MemoryMiB = z.s.MemoryMiB.plus(extra * z.perFilterBolt(func(r QueryRow) Figure {
			return r.TopologyMemoryMiB
		}))
	}
	if !z.s.CPUCores.Value.Known() {
		z.note("the cores of the topology cannot be calculated from one %s alone",
			map[bool]string{true: "configuration", false: "volume"}[len(z.volumes) == 0])
		z.s.Limiting = LimitedByCPU
		return
	}
	r := Resources{Machine: z.Machine,
		Totals: Totals{CPUCores: z.s.CPUCores.Value, TotalMemoryMiB: z.s.MemoryMiB.Value}}
	r.place()
	z.s.Machines, z.s.Limiting = r.Machines, r.Limiting
	z.s.Notes = append(z.s.Notes, r.Notes...)
}

// overBolts returns what the query test's configurations requested, at the required number of filter bolts. Its
// interval is that of the bolts.
func (z *sizer) overBolts(figure func(QueryRow) Figure) Estimate {
	required := z.s.FilterBoltsForQueries
	known := slices.DeleteFunc(slices.Clone(z.queries.Rows), func(r QueryRow) bool { return !figure(r).Known() })
	if len(known) == 0 || len(known) == 1 && required.Value != Figure(known[0].FilterBolts) {
		return notDetermined("one configuration is not enough for a fit")
	}
	base := known[0]
	for _, r := range known {
		if Figure(r.FilterBolts) <= required.Value {
			base = r
		}
	}
	each := z.perFilterBolt(figure)
	at := func(bolts Figure) Figure { return figure(base) + each*(bolts-Figure(base.FilterBolts)) }
	return Estimate{Value: at(required.Value), Low: at(required.Low), High: at(required.High)}
}

// TargetLoad is the load that a topology is sized for.
type TargetLoad struct {
	RecordsPerS float64    `json:"records_per_s"`
	Queries     int        `json:"queries"`
	Goals       QueryGoals `json:"-"`
	// QueryTestRecordsPerS is the record rate at which the grid of queries was measured; unknown if it was not stated.
	QueryTestRecordsPerS Figure  `json:"-"`
	Machine              Machine `json:"-"`
	// Class is the queries' class, for the text; "" means RAW.
	Class string `json:"-"`
	// Extrapolate allows a sizing outside of the measured range.
	Extrapolate bool `json:"-"`
}

// Measurements are the inputs of a sizing: volumes, a grid of queries, and a table of further components, which
// neither of them affects. If volumes or points are missing, the result of that part is unknown and noted.
type Measurements struct {
	Volumes []DataRow
	Points  []QueryPoint
	Others  []Component
	// OthersFrom states where Others comes from; "" means the table of components.
	OthersFrom string
}

// OutOfRange is the error for a load outside of the measured range.
type OutOfRange struct{ Outside []string }

func (o OutOfRange) Error() string {
	return strings.Join(o.Outside, "; ") +
		". Measure there, or give --extrapolate to extend the fits beyond the measurements"
}

// checkRange refuses a load outside of the measured range, unless Extrapolate allows it.
func (z *sizer) checkRange() error {
	if z.queries != nil {
		least, most, err := z.queries.okRange()
		if err != nil {
			return err
		}
		if math.Ceil(z.capacity()) >= least {
			least = math.Inf(-1) // the headroom leads into the measured range
		}
		z.within("queries", float64(z.Queries), least, most, "held within the limit")
	}
	if len(z.volumes) > 0 {
		z.within("records/s", z.RecordsPerS, float64(z.volumes[0].RecordsPerS),
			float64(z.volumes[len(z.volumes)-1].RecordsPerS), "measured")
	}
	if len(z.s.Outside) > 0 && !z.Extrapolate {
		return OutOfRange{z.s.Outside}
	}
	return nil
}

// capacity returns the capacity that leaves the headroom free at the requested number of queries.
func (z *sizer) capacity() float64 { return float64(z.Queries) / (1 - z.Goals.Headroom) }

// okRange returns the range from the fewest judged queries to the most that were held.
func (q *Queries) okRange() (least, most float64, err error) {
	least, most = math.Inf(1), math.Inf(-1)
	decided, above := 0, 0
	for _, row := range q.Rows {
		for _, p := range row.Points {
			if !p.Verdict.judges() {
				continue
			}
			decided++
			least = min(least, float64(p.Queries))
			if p.LatencyMs > q.LimitMs {
				above++
			}
		}
		held, _ := row.Capacity.Bounds(math.Inf(-1), 0)
		most = max(most, held)
	}
	switch {
	case !math.IsInf(most, -1):
		return least, most, nil
	case decided > 0 && decided == above:
		return 0, 0, fmt.Errorf(
			"every measured point is above the limit of %g ms, so no configuration is known to hold any query",
			float64(q.LimitMs))
	}
	return 0, 0, errors.New(
		"no measured point below the first FAIL is OK, so no configuration is known to hold any query")
}

func (z *sizer) within(what string, v, least, most float64, how string) {
	switch {
	case v > most:
		z.s.Outside = append(z.s.Outside, fmt.Sprintf("%s %s is %.3g%% above the largest value that was %s, %s",
			Digits(Figure(v)), what, 100*(v/most-1), how, Digits(Figure(most))))
	case v < least:
		z.s.Outside = append(z.s.Outside, fmt.Sprintf("%s %s is %.3g%% below the smallest value that was %s, %s",
			Digits(Figure(v)), what, 100*(1-v/least), how, Digits(Figure(least))))
	}
}
