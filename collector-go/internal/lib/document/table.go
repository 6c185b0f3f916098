package document

import (
	"slices"
	"strings"
)

// Unknown is the cell of what is not known.
const Unknown = "–"

// Table is columns of the same length.
type Table struct{ Columns []Column }

// Column is a column with its cells, from the top.
type Column struct {
	Head    string
	Numeric bool // of numbers, which are set flush right
	Cells   []string
}

// Words heads a column of text.
func Words(head string) Column { return Column{Head: head} }

// Numbers heads a column of numbers; unit, "" for none, stands behind its name.
func Numbers(head, unit string) Column {
	return Column{Head: strings.TrimSpace(head + " " + unit), Numeric: true}
}

// Of is a column of rows of some kind: its head, and what each row has there.
type Of[T any] struct {
	Column
	cell func(T) string
}

// Text is a column of text.
func Text[T any](head string, cell func(T) string) Of[T] { return Of[T]{Words(head), cell} }

// Number is a column of numbers; unit, "" for none, stands behind its name.
func Number[T any](head, unit string, cell func(T) string) Of[T] {
	return Of[T]{Numbers(head, unit), cell}
}

// TableOf has a row for each of rows.
func TableOf[T any](rows []T, columns ...Of[T]) (t Table) {
	for _, c := range columns {
		for _, row := range rows {
			c.Cells = append(c.Cells, c.cell(row))
		}
		t.Columns = append(t.Columns, c.Column)
	}
	return t
}

// NewTable is a table without rows.
func NewTable(columns ...Column) Table { return Table{Columns: columns} }

// Pairs is a table of names and values without heads.
func Pairs() Table { return NewTable(Words(""), Words("")) }

// Add adds a row, with a cell for each column.
func (t *Table) Add(cells ...string) {
	for i, cell := range cells {
		t.Columns[i].Cells = append(t.Columns[i].Cells, cell)
	}
}

// AddKnown adds a name with its value, unless that is "".
func (t *Table) AddKnown(name, value string) {
	if value != "" {
		t.Add(name, value)
	}
}

// Rows is how many rows the table has.
func (t Table) Rows() int {
	if len(t.Columns) == 0 {
		return 0
	}
	return len(t.Columns[0].Cells)
}

// row are the cells of the i-th row, -1 for the heads.
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

// WithoutBlank leaves out the columns, but for the first, of which nothing is known.
func (t Table) WithoutBlank() (out Table) {
	for i, c := range t.Columns {
		known := func(cell string) bool { return cell != Unknown && cell != "" }
		if i == 0 || t.Rows() == 0 || slices.ContainsFunc(c.Cells, known) {
			out.Columns = append(out.Columns, c)
		}
	}
	return out
}

// Without leaves out the columns of some heads.
func (t Table) Without(heads ...string) Table {
	t.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool {
		return slices.Contains(heads, c.Head)
	})
	return t
}

// First are the first n columns.
func (t Table) First(n int) Table { return Table{t.Columns[:min(n, len(t.Columns))]} }
