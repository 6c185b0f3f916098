package sheet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// CPU says what a column cpu_cores means, which does not say so itself.
type CPU string

// The meanings of a column cpu_cores.
const (
	CPUUnsaid CPU = ""
	CPUTotal  CPU = "total"
	CPUEach   CPU = "each"
)

// columnCPU is the CPU column whose name does not say what it means.
const columnCPU = "cpu_cores"

// ErrCPUUnsaid is a column cpu_cores of which nobody said what it means; ErrCPUSaidTwice one whose name says otherwise.
var (
	ErrCPUUnsaid    = errors.New("give --cpu total where it is each component's total, or --cpu each where it is one instance's")
	ErrCPUSaidTwice = errors.New("leave out --cpu, which is for a column cpu_cores")
)

var resourceColumns = []Column{
	{Name: tuning.ColumnComponent}, {Name: tuning.ColumnParallelism, Kind: Whole, MayBeEmpty: true},
	{Name: tuning.ColumnCPUTotal, Kind: Number, Optional: true, MayBeEmpty: true}, {Name: tuning.ColumnCPUEach, Kind: Number, Optional: true, MayBeEmpty: true},
	{Name: columnCPU, Kind: Number, Optional: true, MayBeEmpty: true},
	{Name: tuning.ColumnOnHeap, Kind: Number, Optional: true, MayBeEmpty: true}, {Name: tuning.ColumnOffHeap, Kind: Number, Optional: true, MayBeEmpty: true},
	{Name: tuning.ColumnTotalMemory, Kind: Number, Optional: true, MayBeEmpty: true},
}

// ResourceTable is a table of components, with the totals that it states itself.
type ResourceTable struct {
	*Table
	Components []tuning.Component
	Stated     *tuning.StatedTotals
	rows       []int // the components' rows
	statedLine int
}

// Resources reads a table of components. A row whose component is "Total" holds the table's own totals.
func Resources(path string, cpu CPU) (*ResourceTable, error) {
	t, err := Open(path, resourceColumns)
	if err != nil {
		return nil, err
	}
	column, cpu, err := t.cpuColumn(cpu)
	if err != nil {
		return nil, err
	}
	r := &ResourceTable{Table: t}
	for i := range t.Len() {
		if !isTotal(t.Text(i, tuning.ColumnComponent)) {
			r.Components, r.rows = append(r.Components, t.component(i, column, cpu)), append(r.rows, i)
			continue
		}
		if r.Stated != nil {
			return nil, fmt.Errorf("%s: a second row of totals; keep one (first in line %d)", t.at(i, tuning.ColumnComponent), r.statedLine)
		}
		r.statedLine = t.lines[i]
		r.Stated = &tuning.StatedTotals{Parallelism: t.Figure(i, tuning.ColumnParallelism), CPUCores: t.Figure(i, column),
			CPUColumn: column, MemoryMiB: t.Figure(i, tuning.ColumnTotalMemory)}
	}
	return r, t.emptyCells(r.rows, column)
}

// emptyCells are components without a parallelism or CPU, which only a row of totals may lack.
func (t *Table) emptyCells(rows []int, cpuColumn string) error {
	var wrong []error
	for _, i := range rows {
		for _, column := range []string{tuning.ColumnParallelism, cpuColumn} {
			if !t.Figure(i, column).Known() {
				wrong = append(wrong, fmt.Errorf("%s: the cell is empty; only a row of totals may leave it out", t.at(i, column)))
			}
		}
	}
	return t.first(wrong)
}

// Analyze is tuning.AnalyzeResources with faults and findings by the file's lines.
func (r *ResourceTable) Analyze(machine tuning.Machine) (*tuning.Resources, error) {
	result, err := tuning.AnalyzeResources(r.Components, r.Stated, machine)
	if err != nil {
		return nil, r.Locate(err, r.rows)
	}
	for i := range result.Audit {
		if f := &result.Audit[i]; f.Row == 0 {
			f.Line = r.statedLine
		} else {
			f.Line = r.lines[place(f.Row, r.rows)]
		}
	}
	result.Notes = append(result.Notes, r.Notes...)
	return result, nil
}

func isTotal(component string) bool {
	name := strings.ToLower(component)
	return name == "total" || name == "totals" || name == "sum"
}

// cpuColumn finds the column of CPU and what it means.
func (t *Table) cpuColumn(cpu CPU) (string, CPU, error) {
	var there []string
	for _, column := range []string{tuning.ColumnCPUTotal, tuning.ColumnCPUEach, columnCPU} {
		if t.Has(column) {
			there = append(there, column)
		}
	}
	if len(there) == 0 {
		return "", cpu, fmt.Errorf("%w, or %s, or %s", t.Missing(tuning.ColumnCPUTotal), tuning.ColumnCPUEach, columnCPU)
	}
	if len(there) > 1 {
		return "", cpu, fmt.Errorf("%s: line 1: both %s are there; keep one", t.name, strings.Join(there, " and "))
	}
	column := there[0]
	said := map[string]CPU{tuning.ColumnCPUTotal: CPUTotal, tuning.ColumnCPUEach: CPUEach}[column]
	switch {
	case said == CPUUnsaid && cpu == CPUUnsaid:
		return "", cpu, fmt.Errorf("%s: line 1, column %d: %s does not say what it counts; %w", t.name, t.places[column]+1, column, ErrCPUUnsaid)
	case said == CPUUnsaid:
		return column, cpu, nil
	case cpu != CPUUnsaid && cpu != said:
		return "", cpu, fmt.Errorf("%s: line 1, column %d: %s is not %q; %w", t.name, t.places[column]+1, column, cpu, ErrCPUSaidTwice)
	}
	return column, said, nil
}

func (t *Table) component(row int, column string, cpu CPU) tuning.Component {
	c := tuning.Component{Name: t.Text(row, tuning.ColumnComponent), Parallelism: t.Whole(row, tuning.ColumnParallelism),
		CPUCoresTotal: tuning.Unknown, CPUCoresEach: tuning.Unknown, OnHeapMiB: t.Figure(row, tuning.ColumnOnHeap),
		OffHeapMiB: t.Figure(row, tuning.ColumnOffHeap), TotalMemoryMiB: t.Figure(row, tuning.ColumnTotalMemory)}
	if cpu == CPUTotal {
		c.CPUCoresTotal = t.Figure(row, column)
	} else {
		c.CPUCoresEach = t.Figure(row, column)
	}
	return c
}

var concurrencyColumns = []Column{
	{Name: tuning.ColumnSimultaneousQueries, Kind: Whole}, {Name: tuning.ColumnAverageCPU, Kind: Number},
	{Name: tuning.ColumnAverageResultSize, Kind: Number, MayBeEmpty: true},
	{Name: tuning.ColumnWorkers, Kind: Whole, Optional: true, MayBeEmpty: true},
	{Name: tuning.ColumnTotalCPU, Kind: Number, Optional: true, MayBeEmpty: true},
	{Name: tuning.ColumnAverageGC, Kind: Number, Optional: true, MayBeEmpty: true},
}

// Concurrency reads a table of steps.
func Concurrency(path string) (*Table, []tuning.ConcurrencyRow, error) {
	t, err := Open(path, concurrencyColumns)
	if err != nil {
		return nil, nil, err
	}
	var rows []tuning.ConcurrencyRow
	for i := range t.Len() {
		rows = append(rows, tuning.ConcurrencyRow{Queries: t.Whole(i, tuning.ColumnSimultaneousQueries), AverageCPUMsPerMinute: t.Figure(i, tuning.ColumnAverageCPU),
			AverageResultSize: t.Figure(i, tuning.ColumnAverageResultSize), Workers: t.Figure(i, tuning.ColumnWorkers),
			TotalCPUMsPerMinute: t.Figure(i, tuning.ColumnTotalCPU), AverageGCMsPerMinute: t.Figure(i, tuning.ColumnAverageGC)})
	}
	return t, rows, nil
}

var queryColumns = []Column{
	{Name: tuning.ColumnFilterBolts, Kind: Whole}, {Name: tuning.ColumnQueries, Kind: Whole}, {Name: tuning.ColumnLatency, Kind: Number},
	{Name: tuning.ColumnTopologyCPU, Kind: Number}, {Name: tuning.ColumnTopologyMemory, Kind: Number, Optional: true, MayBeEmpty: true},
	{Name: tuning.ColumnRecordRate, Kind: Number, Optional: true},
}

// QueryTable is a grid of filter bolts by queries.
type QueryTable struct {
	*Table
	Points []tuning.QueryPoint
	// RecordsPerS is the record rate of the test, where the table has it.
	RecordsPerS tuning.Figure
}

// Queries reads a grid.
func Queries(path string) (*QueryTable, error) {
	t, err := Open(path, queryColumns)
	if err != nil {
		return nil, err
	}
	q := &QueryTable{Table: t, RecordsPerS: tuning.Unknown}
	for i := range t.Len() {
		q.Points = append(q.Points, tuning.QueryPoint{FilterBolts: t.Whole(i, tuning.ColumnFilterBolts), Queries: t.Whole(i, tuning.ColumnQueries),
			LatencyMs: float64(t.Figure(i, tuning.ColumnLatency)), TopologyCPUCores: t.Figure(i, tuning.ColumnTopologyCPU),
			TopologyMemoryMiB: t.Figure(i, tuning.ColumnTopologyMemory)})
		rate := t.Figure(i, tuning.ColumnRecordRate)
		if i > 0 && rate.Known() && rate != q.RecordsPerS {
			return nil, fmt.Errorf("%s: %g records/s, but line %d has %g; a grid is measured at one rate, so keep a file for each",
				t.at(i, tuning.ColumnRecordRate), float64(rate), t.lines[0], float64(q.RecordsPerS))
		}
		q.RecordsPerS = rate
	}
	return q, nil
}

var dataColumns = []Column{
	{Name: tuning.ColumnDataRate, Kind: Number}, {Name: tuning.ColumnRecordRate, Kind: Number},
	{Name: tuning.ColumnComponent, Optional: true}, {Name: tuning.ColumnParallelism, Kind: Whole, Optional: true},
	{Name: tuning.ColumnCPUTotal, Kind: Number, Optional: true}, {Name: tuning.ColumnCPUEach, Kind: Number, Optional: true}, {Name: columnCPU, Kind: Number, Optional: true},
	{Name: tuning.ColumnOnHeap, Kind: Number, Optional: true}, {Name: tuning.ColumnOffHeap, Kind: Number, Optional: true, MayBeEmpty: true},
	{Name: tuning.ColumnTotalCPU6, Kind: Number}, {Name: tuning.ColumnTotalMemory, Kind: Number},
}

// Data reads a table of volumes, with or without the components of each.
func Data(path string, cpu CPU) (*Table, []tuning.DataRow, error) {
	t, err := Open(path, dataColumns)
	if err != nil {
		return nil, nil, err
	}
	column := ""
	if t.Has(tuning.ColumnComponent) {
		for _, needed := range []string{tuning.ColumnParallelism, tuning.ColumnOnHeap} {
			if !t.Has(needed) {
				return nil, nil, t.Missing(needed)
			}
		}
		if column, cpu, err = t.cpuColumn(cpu); err != nil {
			return nil, nil, err
		}
	}
	var rows []tuning.DataRow
	for i := range t.Len() {
		row := tuning.DataRow{DataMiBPerS: float64(t.Figure(i, tuning.ColumnDataRate)), RecordsPerS: float64(t.Figure(i, tuning.ColumnRecordRate)),
			TotalCPUCores: float64(t.Figure(i, tuning.ColumnTotalCPU6)), TotalMemoryMiB: float64(t.Figure(i, tuning.ColumnTotalMemory))}
		if column != "" {
			row.Component = t.component(i, column, cpu)
			row.Component.TotalMemoryMiB = tuning.Unknown // here the column is the volume's
		}
		rows = append(rows, row)
	}
	return t, rows, nil
}

// sizeColumns and throughputColumns are what a scaling curve may call its columns, best first.
var (
	sizeColumns       = []string{"nodes", "cores", tuning.ColumnTotalCPU6}
	throughputColumns = []string{"throughput", tuning.ColumnRecordRate, "rows_per_s"}
)

// Curve is a scaling curve.
type Curve struct {
	*Table
	Rows  []tuning.ScalingRow
	Names tuning.ScalingColumns
	// Places are the table's rows of Rows.
	Places []int
}

// Scaling reads a curve. A table that repeats a volume for each of its components gives one row for it.
func Scaling(path string) (*Curve, error) {
	columns := []Column{{Name: tuning.ColumnComponent, Optional: true}}
	for _, name := range slices.Concat(sizeColumns, throughputColumns) {
		columns = append(columns, Column{Name: name, Kind: Number, Optional: true})
	}
	t, err := Open(path, columns)
	if err != nil {
		return nil, err
	}
	c := &Curve{Table: t}
	if c.Names.Size, err = t.oneOf(sizeColumns); err != nil {
		return nil, err
	}
	if c.Names.Throughput, err = t.oneOf(throughputColumns); err != nil {
		return nil, err
	}
	seen := map[tuning.ScalingRow]bool{}
	for i := range t.Len() {
		row := tuning.ScalingRow{Size: float64(t.Figure(i, c.Names.Size)), Throughput: float64(t.Figure(i, c.Names.Throughput))}
		if t.Has(tuning.ColumnComponent) && seen[row] {
			continue
		}
		seen[row] = true
		c.Rows, c.Places = append(c.Rows, row), append(c.Places, i)
	}
	return c, nil
}

func (t *Table) oneOf(names []string) (string, error) {
	for _, name := range names {
		if t.Has(name) {
			return name, nil
		}
	}
	var there []string
	for name := range t.places {
		there = append(there, name)
	}
	near := ""
	if name, distance := nearestOf(names[0], there); distance <= len(name)/2 {
		near = fmt.Sprintf(" (the nearest there is %q)", name)
	}
	return "", fmt.Errorf("%s: line 1: none of the columns %s is there%s", t.name, strings.Join(names, ", "), near)
}

// Measurement is what a table is about.
type Measurement string

// The measurements that a table can hold.
const (
	OfResources Measurement = "components"
	OfQueries   Measurement = "filter bolts by queries"
	OfData      Measurement = "data volumes"
)

// About tells by its columns what a table is about.
func About(path string) (Measurement, error) {
	data, err := read(path)
	if err != nil {
		return "", err
	}
	t := &Table{name: path, places: map[string]int{}, columns: []Column{{Name: tuning.ColumnFilterBolts}, {Name: tuning.ColumnDataRate}, {Name: tuning.ColumnComponent}}}
	records, err := t.records(data)
	if err != nil {
		return "", err
	}
	for i, name := range records.head {
		t.places[strings.ToLower(strings.TrimSpace(name))] = i
	}
	switch {
	case t.Has(tuning.ColumnFilterBolts):
		return OfQueries, nil
	case t.Has(tuning.ColumnDataRate):
		return OfData, nil
	case t.Has(tuning.ColumnComponent):
		return OfResources, nil
	}
	return "", fmt.Errorf("%s: line 1: none of the columns %s (a grid of queries), %s (data volumes) and %s (components) is there: what the table is about is not known",
		path, tuning.ColumnFilterBolts, tuning.ColumnDataRate, tuning.ColumnComponent)
}
