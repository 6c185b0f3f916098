package csvtable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// sizeColumns and throughputColumns are what a scaling curve may call its columns, best first. Of each kind the first
// that the table has is read.
var (
	sizeColumns       = []string{"nodes", "cores", "senders", tuning.ColumnUsedCPU, tuning.ColumnTotalCPU6}
	throughputColumns = []string{"throughput", tuning.ColumnRecordRate, "rows_per_s"}
)

// Curve is a scaling curve. Rows may be fewer than the table's; Locate needs Places to name the right lines. Names are
// the columns' own, so that findings name what the file says.
type Curve struct {
	*Table
	Rows  []tuning.ScalingRow
	Names tuning.ScalingColumns
	// Places are the table's rows of Rows.
	Places []int
}

// Scaling reads a curve. A table that repeats a volume for each of its components gives one row for it. The columns are
// taken in the order of sizeColumns and throughputColumns, so a table that has several is always read in the same way.
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

// oneOf is the first of some columns that the table has. It is an error if it has none, since a curve needs both of its
// axes. The message names the nearest column that is there.
func (t *Table) oneOf(names []string) (string, error) {
	for _, name := range names {
		if t.Has(name) {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s: line 1: none of the columns %s is there%s", t.name, strings.Join(names, ", "),
		t.near(names[0]))
}
