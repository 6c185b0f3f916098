package csvtable

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Measurement is what a table describes. Its values are the words that messages use.
type Measurement string

// The measurements that a table can hold.
const (
	OfResources Measurement = "components"
	OfQueries   Measurement = "filter bolts by queries"
	OfData      Measurement = "data volumes"
)

// About returns what a table describes, judged by its columns. It reads only the header and checks no cell. If the
// table has the columns of several measurements, the most specific one wins: a grid of queries, then data volumes, then
// components.
func About(path string) (Measurement, error) {
	data, err := read(path)
	if err != nil {
		return "", err
	}
	t := &Table{name: path, places: map[string]int{}, columns: []Column{{Name: tuning.ColumnFilterBolts},
		{Name: tuning.ColumnDataRate}, {Name: tuning.ColumnComponent}}}
	head, err := t.records(data)
	if err != nil {
		return "", err
	}
	for i, name := range head {
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
	return "", fmt.Errorf("%s: line 1: the kind of the table is unknown, because it has none of the columns %s (a grid of queries), %s (data volumes) and %s (components)",
		path, tuning.ColumnFilterBolts, tuning.ColumnDataRate, tuning.ColumnComponent)
}

// concurrencyColumns are the columns of a table of steps. A result size may be empty; such a step is inconclusive,
// unless it has a verdict or no queries.
var concurrencyColumns = []Column{
	{Name: tuning.ColumnSimultaneousQueries, Kind: Whole}, {Name: tuning.ColumnAverageCPU, Kind: Number},
	{Name: tuning.ColumnAverageResultSize, Kind: Number, MayBeEmpty: true}, optional(tuning.ColumnWorkers),
	optional(tuning.ColumnTotalCPU), optional(tuning.ColumnAverageGC), verdictColumn,
}

// optional is a column of numbers that a table need not have, nor fill.
func optional(name string) Column {
	return Column{Name: name, Kind: Number, Optional: true, MayBeEmpty: true}
}

// Concurrency reads a table of steps with simultaneous queries. Its averages are over workers. A column of its own may
// hold the total of the topology.
func Concurrency(path string) (*Table, []tuning.ConcurrencyRow, error) {
	t, err := Open(path, concurrencyColumns)
	if err != nil {
		return nil, nil, err
	}
	var rows []tuning.ConcurrencyRow
	for i := range t.Len() {
		rows = append(rows, tuning.ConcurrencyRow{
			Queries:               t.Whole(i, tuning.ColumnSimultaneousQueries),
			AverageCPUMsPerMinute: t.Figure(i, tuning.ColumnAverageCPU),
			AverageResultSize:     t.Figure(i, tuning.ColumnAverageResultSize),
			Workers:               t.Figure(i, tuning.ColumnWorkers),
			TotalCPUMsPerMinute:   t.Figure(i, tuning.ColumnTotalCPU),
			AverageGCMsPerMinute:  t.Figure(i, tuning.ColumnAverageGC),
			Verdict:               t.verdict(i)})
	}
	return t, rows, nil
}

// sizeColumns and throughputColumns are the accepted names for the columns of a scaling curve, in order of preference.
// The first name that the table has is used.
var (
	sizeColumns       = []string{"nodes", "cores", "senders", tuning.ColumnUsedCPU, tuning.ColumnTotalCPU6}
	throughputColumns = []string{"throughput", tuning.ColumnRecordRate, "rows_per_s"}
)

// Curve is a scaling curve. It may have fewer rows than its table, so Locate needs Places to name the right lines.
// Names are the names of the file's own columns, so that findings use the words of the file.
type Curve struct {
	*Table
	Rows  []tuning.ScalingRow
	Names tuning.ScalingColumns
	// Places maps each index of Rows to a row of the table.
	Places []int
}

// Scaling reads a scaling curve. If the table repeats a volume for each component, the repetitions give one row.
// Columns are chosen in the order of sizeColumns and throughputColumns, so that the choice does not depend on the order
// in the file.
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
		row := tuning.ScalingRow{Size: float64(t.Figure(i, c.Names.Size)),
			Throughput: float64(t.Figure(i, c.Names.Throughput))}
		if t.Has(tuning.ColumnComponent) && seen[row] {
			continue
		}
		seen[row] = true
		c.Rows, c.Places = append(c.Rows, row), append(c.Places, i)
	}
	return c, nil
}

// oneOf returns the first of the names that is a column of the table. If the table has none of them, it returns an
// error that names the nearest column, because a curve needs both axes.
func (t *Table) oneOf(names []string) (string, error) {
	if name, found := tuning.First(names, t.Has); found {
		return name, nil
	}
	return "", fmt.Errorf("%s: line 1: none of the columns %s exists%s", t.name, strings.Join(names, ", "),
		t.near(names[0]))
}

// dataColumns are the columns of a table of data volumes. The component is optional, because a table may hold only the
// totals of each volume.
var dataColumns = slices.Concat(
	[]Column{
		{Name: tuning.ColumnDataRate, Kind: Number}, {Name: tuning.ColumnRecordRate, Kind: Number},
		{Name: tuning.ColumnComponent, Optional: true, MayBeEmpty: true},
		{Name: tuning.ColumnParallelism, Kind: Whole, Optional: true, MayBeEmpty: true},
	},
	requestColumns,
	[]Column{{Name: tuning.ColumnTotalCPU6, Kind: Number}, optional(tuning.ColumnUsedCPU),
		{Name: tuning.ColumnTotalMemory, Kind: Number, MayBeEmpty: true}})

// usedCores returns the used cores of a row, or 0 if they were not measured. tuning reads 0 as "not measured", because
// every running topology uses some CPU.
func (t *Table) usedCores(row int) tuning.Figure {
	return tuning.Greater(0, t.Figure(row, tuning.ColumnUsedCPU))
}

// Data reads a table of data volumes, with or without the components of each volume. The columns of components are
// required only if the table has a component column. The caller must then also say what an ambiguous CPU column means,
// as for a table of components.
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
		row := tuning.DataRow{DataMiBPerS: float64(t.Figure(i, tuning.ColumnDataRate)),
			RecordsPerS:    float64(t.Figure(i, tuning.ColumnRecordRate)),
			TotalCPUCores:  float64(t.Figure(i, tuning.ColumnTotalCPU6)),
			TotalMemoryMiB: float64(t.Figure(i, tuning.ColumnTotalMemory)), UsedCPUCores: float64(t.usedCores(i))}
		if column != "" {
			row.Component = t.component(i, column, cpu)
			row.Component.TotalMemoryMiB = tuning.Unknown // in this table it is the memory of the whole volume
		}
		rows = append(rows, row)
	}
	return t, rows, nil
}

// queryColumns are the columns of a grid of queries. There is one latency for each point. Only tables that a report
// wrote have a verdict, because a report judges its steps by further goals.
var queryColumns = []Column{
	{Name: tuning.ColumnFilterBolts, Kind: Whole}, {Name: tuning.ColumnQueries, Kind: Whole},
	{Name: tuning.ColumnLatency, Kind: Number}, {Name: tuning.ColumnTopologyCPU, Kind: Number},
	optional(tuning.ColumnTopologyMemory), optional(tuning.ColumnUsedCPU),
	{Name: tuning.ColumnRecordRate, Kind: Number, Optional: true}, verdictColumn,
}

// QueryTable is a grid of filter bolts by queries. Its points are not judged yet; tuning.AnalyzeQueries judges them.
type QueryTable struct {
	*Table
	Points []tuning.QueryPoint
	// RecordsPerS is the record rate of the test. It is unknown if the table has no column for it.
	RecordsPerS tuning.Figure
}

// Queries reads a grid. All rows must have the same record rate, because a grid is measured at one rate.
func Queries(path string) (*QueryTable, error) {
	t, err := Open(path, queryColumns)
	if err != nil {
		return nil, err
	}
	q := &QueryTable{Table: t, RecordsPerS: tuning.Unknown}
	for i := range t.Len() {
		q.Points = append(q.Points, tuning.QueryPoint{
			FilterBolts: t.Whole(i, tuning.ColumnFilterBolts), Queries: t.Whole(i, tuning.ColumnQueries),
			LatencyMs:         float64(t.Figure(i, tuning.ColumnLatency)),
			TopologyCPUCores:  t.Figure(i, tuning.ColumnTopologyCPU),
			TopologyMemoryMiB: t.Figure(i, tuning.ColumnTopologyMemory), UsedCPUCores: t.usedCores(i),
			Verdict: t.verdict(i)})
		rate := t.Figure(i, tuning.ColumnRecordRate)
		if i > 0 && rate.Known() && rate != q.RecordsPerS {
			return nil, fmt.Errorf("%s: %g records/s, but line %d has %g; use one file per record rate",
				t.at(i, tuning.ColumnRecordRate), float64(rate), t.lines[0], float64(q.RecordsPerS))
		}
		q.RecordsPerS = rate
	}
	return q, nil
}

// CPU says what the column cpu_cores means, because its name does not: it may hold the total of a component or the CPU
// of one instance. A wrong guess would be wrong by a factor of the parallelism, so the user must say it.
type CPU string

// The meanings of a column cpu_cores.
const (
	CPUUnsaid CPU = ""
	CPUTotal  CPU = "total"
	CPUEach   CPU = "each"
)

// columnCPU is the CPU column with the ambiguous name.
const columnCPU = "cpu_cores"

// ErrCPUUnsaid means that the meaning of a column cpu_cores was not given. ErrCPUSaidTwice means that a meaning was
// given that contradicts the name of the column.
var (
	ErrCPUUnsaid    = errors.New("use --cpu total if it is the total of each component, or --cpu each if it is the CPU of one instance")
	ErrCPUSaidTwice = errors.New("remove --cpu, which only applies to a column cpu_cores")
)

// requestColumns are the resources that a component requests, for one instance or for all. A topology need not request
// any of them, so each column may be absent or empty.
var requestColumns = []Column{
	optional(tuning.ColumnCPUTotal), optional(tuning.ColumnCPUEach), optional(columnCPU),
	optional(tuning.ColumnOnHeap), optional(tuning.ColumnOffHeap),
}

var resourceColumns = slices.Concat(
	[]Column{{Name: tuning.ColumnComponent}, {Name: tuning.ColumnParallelism, Kind: Whole, MayBeEmpty: true}},
	requestColumns,
	[]Column{optional(tuning.ColumnTotalMemory)})

// ResourceTable is a table of components and the totals that the table states itself. The rows of the components are
// separate from the row of totals, so that a finding about either names the right line.
type ResourceTable struct {
	*Table
	Components []tuning.Component
	Stated     *tuning.StatedTotals
	rows       []int // the row of the table for each element of Components
	statedLine int
}

// Resources reads a table of components. A row whose component is "Total" holds the totals that the table states. A
// table of data volumes has these columns, too, but is refused. It repeats them for each volume, so its rows must not
// be added up.
func Resources(path string, cpu CPU) (*ResourceTable, error) {
	t, err := Open(path, resourceColumns)
	if err != nil {
		return nil, err
	}
	if t.Has(tuning.ColumnDataRate) {
		return nil, fmt.Errorf("%s: line 1, column %d: %s makes this a table of data volumes; use analyze data, or keep the rows of one volume for resources",
			t.name, t.places[tuning.ColumnDataRate]+1, tuning.ColumnDataRate)
	}
	column, cpu, err := t.cpuColumn(cpu)
	if err != nil {
		return nil, err
	}
	r := &ResourceTable{Table: t}
	for i := range t.Len() {
		// A row of stated totals is compared with the computed sums and is not a component.
		if !slices.Contains([]string{"total", "totals", "sum"}, strings.ToLower(t.Text(i, tuning.ColumnComponent))) {
			r.Components, r.rows = append(r.Components, t.component(i, column, cpu)), append(r.rows, i)
			continue
		}
		if r.Stated != nil {
			return nil, fmt.Errorf("%s: duplicate row of totals; keep one (first in line %d)",
				t.at(i, tuning.ColumnComponent), r.statedLine)
		}
		r.statedLine = t.lines[i]
		r.Stated = &tuning.StatedTotals{Parallelism: t.Figure(i, tuning.ColumnParallelism),
			CPUCores: t.Figure(i, column), CPUColumn: column, MemoryMiB: t.Figure(i, tuning.ColumnTotalMemory)}
	}
	return r, t.emptyCells(r.rows, column)
}

// emptyCells returns an error for every component without a parallelism or CPU. Only the row of totals may leave these
// cells empty. All errors are reported at once.
func (t *Table) emptyCells(rows []int, cpuColumn string) error {
	var wrong []error
	for _, i := range rows {
		for _, column := range []string{tuning.ColumnParallelism, cpuColumn} {
			if !t.Figure(i, column).Known() {
				wrong = append(wrong, fmt.Errorf("%s: the cell is empty; only a row of totals may omit it",
					t.at(i, column)))
			}
		}
	}
	return t.first(wrong)
}

// Analyze calls tuning.AnalyzeResources and adds the lines of the file to its errors and findings. A finding about the
// stated totals has row 0 and gets the line of the row of totals.
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

// cpuColumn returns the name of the CPU column and its meaning. A name that states its meaning decides; a --cpu that
// contradicts it is refused. Two CPU columns are refused, because they could contradict each other.
func (t *Table) cpuColumn(cpu CPU) (string, CPU, error) {
	there := tuning.Those([]string{tuning.ColumnCPUTotal, tuning.ColumnCPUEach, columnCPU}, t.Has)
	if len(there) == 0 {
		return "", cpu, fmt.Errorf("%w, or %s, or %s", t.Missing(tuning.ColumnCPUTotal),
			tuning.ColumnCPUEach, columnCPU)
	}
	if len(there) > 1 {
		return "", cpu, fmt.Errorf("%s: line 1: the columns %s exclude each other; keep one", t.name, strings.Join(there, " and "))
	}
	column := there[0]
	said := map[string]CPU{tuning.ColumnCPUTotal: CPUTotal, tuning.ColumnCPUEach: CPUEach}[column]
	switch {
	case said == CPUUnsaid && cpu == CPUUnsaid:
		return "", cpu, fmt.Errorf("%s: line 1, column %d: %s is ambiguous; %w", t.name,
			t.places[column]+1, column, ErrCPUUnsaid)
	case said != CPUUnsaid && cpu != CPUUnsaid && cpu != said:
		return "", cpu, fmt.Errorf("%s: line 1, column %d: %s is not %q; %w", t.name, t.places[column]+1, column, cpu,
			ErrCPUSaidTwice)
	}
	return column, cmp.Or(said, cpu), nil
}

// component converts a row to a component. It sets exactly one of the two CPU figures; tuning derives the other from
// the parallelism.
func (t *Table) component(row int, column string, cpu CPU) tuning.Component {
	c := tuning.Component{Name: t.Text(row, tuning.ColumnComponent),
		Parallelism:   t.Whole(row, tuning.ColumnParallelism),
		CPUCoresTotal: tuning.Unknown, CPUCoresEach: tuning.Unknown, OnHeapMiB: t.Figure(row, tuning.ColumnOnHeap),
		OffHeapMiB: t.Figure(row, tuning.ColumnOffHeap), TotalMemoryMiB: t.Figure(row, tuning.ColumnTotalMemory)}
	if cpu == CPUTotal {
		c.CPUCoresTotal = t.Figure(row, column)
	} else {
		c.CPUCoresEach = t.Figure(row, column)
	}
	return c
}

// verdictColumn is optional. A row with an empty cell is judged by its figures.
var verdictColumn = Column{Name: tuning.ColumnVerdict, Kind: VerdictOfRun, Optional: true, MayBeEmpty: true}

// verdicts are the values that the column may contain besides baseline.
var verdicts = []tuning.Verdict{tuning.OK, tuning.Fail, tuning.Limited, tuning.Inconclusive}

// verdictOf reads a verdict and ignores its case. It returns "" for an empty cell and for baseline, because a step
// without queries becomes a baseline by its figures.
func verdictOf(text string) (tuning.Verdict, error) {
	at := slices.IndexFunc(verdicts, func(v tuning.Verdict) bool { return strings.EqualFold(string(v), text) })
	switch {
	case text == "", strings.EqualFold(text, string(tuning.Baseline)): // a step with 0 queries is a baseline anyway
		return "", nil
	case at < 0:
		return "", fmt.Errorf("%q is not a verdict; write OK, FAIL, limited or inconclusive, "+
			"or leave the cell empty to judge the row by its figures", text)
	}
	return verdicts[at], nil
}

// verdict returns the verdict of a row, or "" if the row is judged by its figures. Open has checked the cell, so
// reading it again cannot fail.
func (t *Table) verdict(row int) tuning.Verdict {
	v, _ := verdictOf(t.Text(row, tuning.ColumnVerdict)) // cannot fail: Open checked the cell
	return v
}
