package csvtable

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

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
	{Name: tuning.ColumnCPUTotal, Kind: Number, Optional: true, MayBeEmpty: true},
	{Name: tuning.ColumnCPUEach, Kind: Number, Optional: true, MayBeEmpty: true},
	{Name: columnCPU, Kind: Number, Optional: true, MayBeEmpty: true},
	{Name: tuning.ColumnOnHeap, Kind: Number, Optional: true, MayBeEmpty: true},
	{Name: tuning.ColumnOffHeap, Kind: Number, Optional: true, MayBeEmpty: true},
}

var resourceColumns = slices.Concat(
	[]Column{{Name: tuning.ColumnComponent}, {Name: tuning.ColumnParallelism, Kind: Whole, MayBeEmpty: true}},
	requestColumns,
	[]Column{{Name: tuning.ColumnTotalMemory, Kind: Number, Optional: true, MayBeEmpty: true}})

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
	there := slices.DeleteFunc([]string{tuning.ColumnCPUTotal, tuning.ColumnCPUEach, columnCPU},
		func(column string) bool { return !t.Has(column) })
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
	case said == CPUUnsaid:
		return column, cpu, nil
	case cpu != CPUUnsaid && cpu != said:
		return "", cpu, fmt.Errorf("%s: line 1, column %d: %s is not %q; %w", t.name, t.places[column]+1, column, cpu,
			ErrCPUSaidTwice)
	}
	return column, said, nil
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
