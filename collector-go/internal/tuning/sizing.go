package tuning

import (
	"errors"
	"fmt"
	"math"
)

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
	evidence Measurements
	volumes  []Volume
	queries  *Queries
	fit      CensoredFit // capacity over filter bolts
	s        *Sizing
}

// Size finds the configuration. Components follow the record rate by a power law of their parallelism over it; filter bolts also
// follow the queries, by the fit of capacity over filter bolts. A filter bolt's work is its share of the records times what the queries
// cost each, so the bolts for the queries grow in proportion to the record rate over that of the query test; the larger of the two
// needs is taken.
func Size(d Demand, e Measurements) (*Sizing, error) {
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

func (z *sizer) note(format string, args ...any) {
	z.s.Notes = append(z.s.Notes, fmt.Sprintf(format, args...))
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
	z.s.Settings = append(z.s.Settings, Setting{Key: prefix + ".parallelism", Value: instances, Low: parallelism.Low, High: parallelism.High, Reason: reason, whole: true})
	each := c.CPUCoresEach
	if !each.Known() && c.Parallelism > 0 {
		each = c.CPUCoresTotal / Figure(c.Parallelism)
	}
	add(".cpu.load", each, 100)
	add(".memory.on.heap.load", c.OnHeapMiB, 1)
	add(".memory.off.heap.load", c.OffHeapMiB, 1)
}

// total estimates the whole topology: the power law over records/s, and the filter bolts that the queries need beyond it.
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
