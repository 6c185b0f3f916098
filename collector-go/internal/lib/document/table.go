package document

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
)

// Unknown is the cell for an unknown value.
const Unknown = "–"

// Table is a list of columns with the same number of cells.
type Table struct{ Columns []Column }

// Column is a column with its cells from top to bottom.
type Column struct {
	Head    string
	Numeric bool // numbers are right-aligned
	Cells   []string
}

// Words returns an empty column for text.
func Words(head string) Column { return Column{Head: head} }

// Numbers returns an empty column for numbers. The head is followed by the unit, which may be "".
func Numbers(head, unit string) Column {
	return Column{Head: strings.TrimSpace(head + " " + unit), Numeric: true}
}

// Of is a column for rows of type T: its head, and a function that returns the cell of a row.
type Of[T any] struct {
	Column
	cell func(T) string
}

// Text returns a column of text.
func Text[T any](head string, cell func(T) string) Of[T] { return Of[T]{Words(head), cell} }

// Number returns a column of numbers. The head is followed by the unit, which may be "".
func Number[T any](head, unit string, cell func(T) string) Of[T] {
	return Of[T]{Numbers(head, unit), cell}
}

// TableOf returns a table with one row per element of rows.
func TableOf[T any](rows []T, columns ...Of[T]) (t Table) {
	for _, c := range columns {
		for _, row := range rows {
			c.Cells = append(c.Cells, c.cell(row))
		}
		t.Columns = append(t.Columns, c.Column)
	}
	return t
}

// NewTable returns a table without rows.
func NewTable(columns ...Column) Table { return Table{Columns: columns} }

// Pairs returns an empty table for names and values, without heads.
func Pairs() Table { return NewTable(Words(""), Words("")) }

// Add adds a row with one cell per column.
func (t *Table) Add(cells ...string) {
	for i, cell := range cells {
		t.Columns[i].Cells = append(t.Columns[i].Cells, cell)
	}
}

// AddKnown adds pairs of a name and a value, without those whose value is "".
func (t *Table) AddKnown(pairs ...string) {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			t.Add(pair...)
		}
	}
}

// Rows returns the number of rows.
func (t Table) Rows() int {
	if len(t.Columns) == 0 {
		return 0
	}
	return len(t.Columns[0].Cells)
}

// row returns the cells of the i-th row, or the heads if i is -1.
func (t Table) row(i int) (cells []string) {
	for _, c := range t.Columns {
		if i < 0 {
			cells = append(cells, c.Head)
		} else {
			cells = append(cells, c.Cells[i])
		}
	}
	return cells
}

// WithoutBlank returns the table without columns that have only unknown or empty cells. The first column always
// remains.
func (t Table) WithoutBlank() (out Table) {
	for i, c := range t.Columns {
		known := func(cell string) bool { return cell != Unknown && cell != "" }
		if i == 0 || t.Rows() == 0 || slices.ContainsFunc(c.Cells, known) {
			out.Columns = append(out.Columns, c)
		}
	}
	return out
}

// Without returns the table without the columns that have the given heads.
func (t Table) Without(heads ...string) Table {
	t.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool {
		return slices.Contains(heads, c.Head)
	})
	return t
}

// First returns the table with its first n columns.
func (t Table) First(n int) Table { return Table{t.Columns[:min(n, len(t.Columns))]} }

// CSV returns the table as comma-separated values with a header line. Cells are written unchanged. If a program reads
// the file, the caller should use numbers without grouping, and empty cells for unknown values.
func (t Table) CSV() []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	for i := -1; i < t.Rows(); i++ {
		_ = w.Write(t.row(i)) // a buffer cannot fail
	}
	w.Flush()
	return out.Bytes()
}
