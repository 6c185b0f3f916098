package csvtable

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Bounds of a table. Tables written by hand have about a hundred rows, so a larger file is most likely the wrong file.
const (
	maxBytes  = 16 << 20
	maxRows   = 10_000
	maxFaults = 20
)

// Table holds the rows of a CSV file after every cell was checked against its column. A Table therefore never holds an
// invalid number, and its accessors return no errors. It remembers the line of each row, because faults that tuning
// finds later must name the place in the file (Locate).
type Table struct {
	// Notes name the parts of the file that are ignored.
	Notes []string

	name    string
	places  map[string]int // a column's name -> its place, from 0
	columns []Column
	rows    [][]string
	figures []map[string]tuning.Figure
	lines   []int
}

// Open reads the file. A fault names the file, the line and the column, and what to do. The caller lists the columns;
// any other column of the file is noted and not used.
func Open(path string, columns []Column) (*Table, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, columns)
}

// Parse is Open of what was read already; name is the file's, for messages.
func Parse(name string, data []byte, columns []Column) (*Table, error) {
	t := &Table{name: name, columns: columns, places: map[string]int{}}
	head, err := t.records(data)
	if err != nil {
		return nil, err
	}
	if err := t.header(head); err != nil {
		return nil, err
	}
	return t, t.check()
}

// check reads every cell, so that all faults are reported at once and a file is corrected in one round. A row with the
// wrong number of fields has one fault only, since its cells stand under the wrong names.
func (t *Table) check() error {
	var wrong []error
	for i, fields := range t.rows {
		t.figures = append(t.figures, map[string]tuning.Figure{})
		if len(fields) > len(t.places) || len(fields) < len(t.places) && !blank(fields) {
			wrong = append(wrong,
				fmt.Errorf("%s: line %d has %d fields, but line 1 names %d columns; put a field that holds a comma in quotes",
					t.name, t.lines[i], len(fields), len(t.places)))
			continue
		}
		for _, c := range t.columns {
			if err := t.cell(i, c); err != nil {
				wrong = append(wrong, err)
			}
		}
	}
	return t.first(wrong)
}

// cell checks a cell, and keeps its number where it holds one. Text must be free of control characters, because it is
// printed in reports and on terminals.
func (t *Table) cell(row int, c Column) (err error) {
	place, there := t.places[c.Name]
	if !there {
		return nil
	}
	text := strings.TrimSpace(t.rows[row][place])
	switch {
	case text == "" && c.MayBeEmpty:
	case text == "":
		err = errors.New("the cell is empty; fill it in or leave out the row")
	case c.Kind == VerdictOfRun:
		_, err = verdictOf(text)
	case c.Kind != Text:
		t.figures[row][c.Name], err = c.parse(text)
	case strings.ContainsFunc(text, unicode.IsControl):
		err = fmt.Errorf("%q has a control character; write plain text", text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.at(row, c.Name), err)
	}
	return nil
}

// at is the place of a cell, for messages.
func (t *Table) at(row int, column string) string {
	place, there := t.places[column]
	if !there {
		return fmt.Sprintf("%s: line %d (%s)", t.name, t.lines[row], column)
	}
	return fmt.Sprintf("%s: line %d, column %d (%s)", t.name, t.lines[row], place+1, column)
}

// first joins at most maxFaults faults, the first ones, and states how many more there are. A wrong separator or
// decimal mark would otherwise give a fault for each cell of the file.
func (t *Table) first(faults []error) error {
	if len(faults) > maxFaults {
		faults = append(faults[:maxFaults:maxFaults], fmt.Errorf("%s: and %d more", t.name, len(faults)-maxFaults))
	}
	return errors.Join(faults...)
}

// Len is how many rows there are. The head is none of them.
func (t *Table) Len() int { return len(t.rows) }

// Has reports whether the column is there.
func (t *Table) Has(column string) bool { _, there := t.places[column]; return there }

// Figure is a number; unknown where its cell is empty or its column is not there.
func (t *Table) Figure(row int, column string) tuning.Figure {
	if v, there := t.figures[row][column]; there {
		return v
	}
	return tuning.Unknown
}

// Whole is the integer in a cell; 0 where the cell is empty. Use Figure where empty must differ from 0.
func (t *Table) Whole(row int, column string) int {
	if v := t.Figure(row, column); v.Known() {
		return int(v)
	}
	return 0
}

// Text is a cell's text without spaces around it. It is "" where the column is not there.
func (t *Table) Text(row int, column string) string {
	if place, there := t.places[column]; there {
		return strings.TrimSpace(t.rows[row][place])
	}
	return ""
}

// Locate turns what tuning finds wrong with a row into the file's line and column. rows maps tuning's rows to the
// table's, from 0; nil where they are the same. An error that names no row gets the file's name alone.
func (t *Table) Locate(err error, rows []int) error {
	if err == nil {
		return nil
	}
	var wrong []error
	for _, e := range flatten(err) {
		var fault tuning.Fault
		if !errors.As(e, &fault) || fault.Row < 1 {
			wrong = append(wrong, fmt.Errorf("%s: %w", t.name, e))
			continue
		}
		text := fmt.Sprintf("%s: %s", t.at(place(fault.Row, rows), fault.Column), fault.Problem)
		if fault.Earlier > 0 {
			text += fmt.Sprintf(" (first in line %d)", t.lines[place(fault.Earlier, rows)])
		}
		wrong = append(wrong, errors.New(text))
	}
	return t.first(wrong)
}

// Lines gives findings the file's lines; their rows are the table's. The findings are changed in place.
func (t *Table) Lines(findings []tuning.Finding) {
	for i := range findings {
		findings[i].Line = t.lines[findings[i].Row-1]
	}
}

// place is a row of the table, from 0, for a row that tuning counts from 1.
func place(row int, rows []int) int {
	if rows == nil {
		return row - 1
	}
	return rows[row-1]
}

// flatten returns the single errors of joined ones, however deep they are joined, so that each gets its own place.
func flatten(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range many.Unwrap() {
			all = append(all, flatten(e)...)
		}
		return all
	}
	return []error{err}
}
