package csvtable

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// dataColumns are the columns of a table of data volumes. The component is optional, because a table may hold only the
// totals of each volume.
var dataColumns = slices.Concat(
	[]Column{
		{Name: tuning.ColumnDataRate, Kind: Number}, {Name: tuning.ColumnRecordRate, Kind: Number},
		{Name: tuning.ColumnComponent, Optional: true, MayBeEmpty: true},
		{Name: tuning.ColumnParallelism, Kind: Whole, Optional: true, MayBeEmpty: true},
	},
	requestColumns,
	[]Column{
		{Name: tuning.ColumnTotalCPU6, Kind: Number},
		{Name: tuning.ColumnUsedCPU, Kind: Number, Optional: true, MayBeEmpty: true},
		{Name: tuning.ColumnTotalMemory, Kind: Number, MayBeEmpty: true},
	})

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
