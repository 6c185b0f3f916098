package tuning

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Columns of a table of data volumes. A volume's own columns are repeated on each of its components' rows.
const (
	ColumnDataRate   = "data_mib_per_s"
	ColumnRecordRate = "records_per_s"
	ColumnTotalCPU6  = "total_cpu_cores"
	ColumnUsedCPU    = "used_cpu_cores"
)

// mibPerGiB converts MiB to GiB.
const mibPerGiB = 1024

// DataRow is one component of the configuration that held a volume or, without a component, the volume alone. Unknown
// memory is NaN.
type DataRow struct {
	DataMiBPerS, RecordsPerS      float64
	Component                     Component // Name is empty if the table has no components
	TotalCPUCores, TotalMemoryMiB float64
	// UsedCPUCores is the CPU that the workers used at the volume; 0 if it was not measured.
	UsedCPUCores float64
}

// Volume is a volume with the configuration that held it.
type Volume struct {
	DataMiBPerS    Figure `json:"data_mib_per_s"`
	RecordsPerS    Figure `json:"records_per_s"`
	TotalCPUCores  Figure `json:"total_cpu_cores"`
	TotalMemoryMiB Figure `json:"total_memory_mib"`
	// UsedCPUCores is the CPU that the workers used, in contrast to what the configuration requests; 0 if it was not
	// measured.
	UsedCPUCores Figure `json:"used_cpu_cores,omitempty"`
	// Ratios of the row, and its residuals from the least-squares lines in the units of their names.
	RecordsPerCore  Figure      `json:"records_per_core"`
	MiBPerCore      Figure      `json:"mib_per_core"`
	GiBPerCore      Figure      `json:"gib_per_core"`
	RecordBytes     Figure      `json:"record_bytes"`
	ResidualRecords Figure      `json:"residual_records_per_s"`
	ResidualMiB     Figure      `json:"residual_mib_per_s"`
	ResidualGiB     Figure      `json:"residual_gib"`
	Components      []Component `json:"-"`
	row             int
}

// DataFits are the fitted lines over cores.
type DataFits struct {
	RecordsPerCore Line `json:"records_per_core"`
	MiBPerCore     Line `json:"mib_per_core"`
	GiBPerCore     Line `json:"gib_per_core"`
}

// Data is the analysis of a table of volumes.
type Data struct {
	Fits          DataFits  `json:"fits"`
	Rows          []Volume  `json:"rows"`
	Audit         []Finding `json:"audit"`
	AuditedTotals int       `json:"audited_totals"`
	Confidence    float64   `json:"confidence"`
	Notes         []string  `json:"notes"`
}

// AnalyzeData fits the capacity of a core and audits each volume's totals against its components.
func AnalyzeData(rows []DataRow, confidence float64) (*Data, error) {
	volumes, err := volumesOf(rows)
	if err := errors.Join(CheckConfidence(confidence), err); err != nil {
		return nil, err
	}
	d := &Data{Rows: volumes, Audit: []Finding{}, Confidence: confidence, Notes: []string{}}
	d.fit()
	for i := range d.Rows {
		v := &d.Rows[i]
		v.ResidualRecords = v.RecordsPerS - d.Fits.RecordsPerCore.At(float64(v.Cores()))
		v.ResidualMiB = v.DataMiBPerS - d.Fits.MiBPerCore.At(float64(v.Cores()))
		v.ResidualGiB = v.TotalMemoryMiB/mibPerGiB - d.Fits.GiBPerCore.At(float64(v.Cores()))
		findings, audited := auditTotals(v.totals())
		d.Audit, d.AuditedTotals = append(d.Audit, findings...), d.AuditedTotals+audited
	}
	if d.AuditedTotals == 0 {
		d.Notes = append(d.Notes, "the totals were not audited, because the table has no components")
	}
	d.Notes = append(d.Notes, "each row is a configuration that held its volume, not necessarily the smallest one; a row with spare capacity lowers the fits")
	return d, nil
}

// fit fits the lines. Volumes with unknown memory are not in the line for memory.
func (d *Data) fit() {
	var cores, records, mib, gibCores, gib []float64
	for _, v := range d.Rows {
		cores, records, mib = append(cores, float64(v.Cores())), append(records, float64(v.RecordsPerS)),
			append(mib, float64(v.DataMiBPerS))
		if v.TotalMemoryMiB.Known() {
			gibCores, gib = append(gibCores, float64(v.Cores())), append(gib, float64(v.TotalMemoryMiB/mibPerGiB))
		}
	}
	d.Fits = DataFits{FitLine(cores, records, d.Confidence), FitLine(cores, mib, d.Confidence),
		FitLine(gibCores, gib, d.Confidence)}
	n := len(slices.DeleteFunc(slices.Clone(d.Rows), func(v Volume) bool { return !(v.UsedCPUCores > 0) }))
	if n > 0 && n < len(cores) {
		d.Notes = append(d.Notes,
			fmt.Sprintf("the used cores are known for %d of %d volumes; for the others the requested cores are used", n,
				len(cores)))
	}
	if len(gib) < len(cores) {
		d.Notes = append(d.Notes,
			fmt.Sprintf("the memory of %d of %d volumes is unknown; they are not part of GiB per core",
				len(cores)-len(gib), len(cores)))
	}
}

// volumesOf groups rows by volume. Volumes are sorted by record rate.
func volumesOf(rows []DataRow) ([]Volume, error) {
	var wrong faults
	places := map[[2]float64]int{}
	components := map[string]int{}
	var volumes []Volume
	for i, r := range rows {
		n := i + 1
		wrong.positive(n, ColumnDataRate, r.DataMiBPerS)
		wrong.positive(n, ColumnRecordRate, r.RecordsPerS)
		wrong.positive(n, ColumnTotalCPU6, r.TotalCPUCores)
		wrong.notNegative(n, ColumnUsedCPU, Figure(r.UsedCPUCores))
		if !math.IsNaN(r.TotalMemoryMiB) {
			wrong.positive(n, ColumnTotalMemory, r.TotalMemoryMiB)
		}
		key := [2]float64{r.DataMiBPerS, r.RecordsPerS}
		place, known := places[key]
		if !known {
			place = len(volumes)
			places[key] = place
			volumes = append(volumes, volume(r, n))
		}
		v := &volumes[place]
		if r.TotalCPUCores != float64(v.TotalCPUCores) {
			wrong.repeats(n, v.row, ColumnTotalCPU6, "%g cores in total, but the same volume has %g in another row",
				r.TotalCPUCores, float64(v.TotalCPUCores))
		}
		if r.UsedCPUCores != float64(v.UsedCPUCores) {
			wrong.repeats(n, v.row, ColumnUsedCPU, "%g cores used, but the same volume has %g in another row",
				r.UsedCPUCores, float64(v.UsedCPUCores))
		}
		if memory := float64(v.TotalMemoryMiB); r.TotalMemoryMiB != memory &&
			!(math.IsNaN(r.TotalMemoryMiB) && math.IsNaN(memory)) {
			wrong.repeats(n, v.row, ColumnTotalMemory, "%g MiB in total, but the same volume has %g in another row",
				r.TotalMemoryMiB, float64(v.TotalMemoryMiB))
		}
		name := fmt.Sprint(key, strings.ToLower(r.Component.Name))
		if earlier, twice := components[name]; twice {
			wrong.repeats(n, earlier, ColumnDataRate, "%g MiB/s with %g records/s %soccurs twice; keep one row",
				r.DataMiBPerS, r.RecordsPerS, ofComponent(r.Component.Name))
			continue
		}
		components[name] = n
		if r.Component.Name != "" {
			wrong.atLeast(n, ColumnParallelism, float64(r.Component.Parallelism), 1)
			wrong.notNegative(n, ColumnCPUEach, r.Component.CPUCoresEach)
			wrong.notNegative(n, ColumnCPUTotal, r.Component.CPUCoresTotal)
			v.Components = append(v.Components, r.Component)
		}
	}
	if len(rows) == 0 {
		wrong.add(0, ColumnDataRate, "there are no rows")
	}
	slices.SortFunc(volumes, func(a, b Volume) int {
		return cmp.Or(cmp.Compare(a.RecordsPerS, b.RecordsPerS), cmp.Compare(a.DataMiBPerS, b.DataMiBPerS))
	})
	return volumes, wrong.err()
}

func ofComponent(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("and component %q ", name)
}

func volume(r DataRow, row int) Volume {
	v := Volume{DataMiBPerS: Figure(r.DataMiBPerS), RecordsPerS: Figure(r.RecordsPerS),
		TotalCPUCores:  Figure(r.TotalCPUCores),
		TotalMemoryMiB: Figure(r.TotalMemoryMiB), UsedCPUCores: Figure(r.UsedCPUCores), row: row}
	v.RecordsPerCore, v.MiBPerCore = v.RecordsPerS/v.Cores(), v.DataMiBPerS/v.Cores()
	v.GiBPerCore = v.TotalMemoryMiB / mibPerGiB / v.Cores()
	v.RecordBytes = v.DataMiBPerS * (1 << 20) / v.RecordsPerS
	return v
}

// Cores returns the cores that the workers used or, if that was not measured, those that the configuration requests.
func (v Volume) Cores() Figure {
	if v.UsedCPUCores > 0 {
		return v.UsedCPUCores
	}
	return v.TotalCPUCores
}

// totals returns the volume's totals with the sums of its components; none if it has no components.
func (v Volume) totals() []statedTotal {
	if len(v.Components) == 0 {
		return nil
	}
	cpu, memory, lacking := Figure(0), Figure(0), false
	for _, c := range v.Components {
		share := c.share()
		cpu += share.CPUCores
		memory += share.TotalMemoryMiB
		lacking = lacking || !c.OffHeapMiB.Known()
	}
	at := fmt.Sprintf(" at %g MiB/s", float64(v.DataMiBPerS))
	return []statedTotal{
		{what: "CPU cores" + at, row: v.row, column: ColumnTotalCPU6, stated: v.TotalCPUCores, computed: cpu},
		{what: "memory" + at + ", MiB", row: v.row, column: ColumnTotalMemory, stated: v.TotalMemoryMiB,
			computed: memory, lacking: lacking},
	}
}

// Verdicts of an audit against a total.
const (
	// Wrong means that the rows contradict the total.
	Wrong Verdict = "wrong"
	// Partial means that some rows of the total are missing.
	Partial Verdict = "partial"
)

// Finding is a total that does not follow from its rows. A correct total is no finding.
type Finding struct {
	// What names the total. Row is the row that states it, counted from 1, or 0 for the table's own row of totals.
	What string `json:"what"`
	Row  int    `json:"-"`
	// Line is the row's line in its file, 0 if it did not come from a file.
	Line     int     `json:"line,omitempty"`
	Column   string  `json:"column"`
	Stated   Figure  `json:"stated"`
	Computed Figure  `json:"computed"`
	Verdict  Verdict `json:"verdict"`
	Reason   string  `json:"reason"`
}

// statedTotal is a stated total with the sum of its rows.
type statedTotal struct {
	what             string
	row              int
	column           string
	stated, computed Figure
	// lacking states that the sum is known to miss a part, such as off-heap memory.
	lacking bool
}

func (s statedTotal) holds() bool { return sameRounded(s.stated, s.computed) }

// auditTotals judges several totals over the same rows together. If one of them equals its sum, no row is missing.
// Another total that exceeds its sum is then wrong instead of partial. A total below its sum is always wrong, because
// no row is negative.
func auditTotals(totals []statedTotal) (findings []Finding, audited int) {
	complete := false
	for _, t := range totals {
		complete = complete || t.known() && t.holds() && !t.lacking
	}
	for _, t := range totals {
		if !t.known() {
			continue
		}
		audited++
		if t.holds() {
			continue
		}
		f := Finding{What: t.what, Row: t.row, Column: t.column, Stated: t.stated,
			Computed: Figure(tidy(float64(t.computed)))}
		switch {
		case t.stated < t.computed:
			f.Verdict, f.Reason = Wrong, "the sum of the rows is larger"
		case complete && !t.lacking:
			f.Verdict, f.Reason = Wrong, "the sum of the rows is smaller, although another total shows that no row is missing"
		case t.lacking:
			f.Verdict, f.Reason = Partial, "the sum of the rows is smaller, because they omit a part such as off-heap memory"
		default:
			f.Verdict, f.Reason = Partial, "the sum of the rows is smaller, so rows are missing"
		}
		findings = append(findings, f)
	}
	return findings, audited
}

func (s statedTotal) known() bool { return s.stated.Known() && s.computed.Known() }

// ceil rounds up, but ignores an excess over a whole number that is only a rounding error.
func ceil(v float64) int { return int(math.Ceil(v - 1e-9*math.Max(1, math.Abs(v)))) }
