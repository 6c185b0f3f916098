package csvtable

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// dataColumns need no component: a table of volumes may state the totals of each alone.
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

// usedCores are 0 where nobody measured them. tuning takes 0 for not measured there, since no topology runs without
// using any.
func (t *Table) usedCores(row int) tuning.Figure {
	if used := t.Figure(row, tuning.ColumnUsedCPU); used.Known() {
		return used
	}
	return 0
}

// Data reads a table of volumes, with or without the components of each. The columns of components are needed only if
// the table has a column of components. The meaning of an ambiguous CPU column is then required as for a table of
// components.
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
			row.Component.TotalMemoryMiB = tuning.Unknown // here the column is the volume's
		}
		rows = append(rows, row)
	}
	return t, rows, nil
}
