package csvtable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

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
