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

// Table holds the rows of a CSV file. Every cell was checked against its column, so a Table never holds an invalid
// number and its accessors return no errors. It stores the line of each row, because errors that tuning finds later
// must name the place in the file (see Locate).
type Table struct {
	// Notes name the parts of the file that were ignored.
	Notes []string

	name    string
	places  map[string]int // column name -> index from 0
	columns []Column
	rows    [][]string
	figures []map[string]tuning.Figure
	lines   []int
}

// Open reads a CSV file with the given columns. An error names the file, the line and the column, and says how to
// correct it. Other columns of the file are ignored, with a note.
func Open(path string, columns []Column) (*Table, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, columns)
}

// Parse is like Open, but takes the content of the file. The name of the file is used only in messages.
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

// check checks every cell and reports all errors at once, so that the user can correct the file in one pass. A row with
// the wrong number of fields gets a single error, because its cells are under the wrong columns.
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

// cell checks a cell and stores its number if the column is numeric. Text must not have control characters, because it
// is printed in reports and on terminals.
func (t *Table) cell(row int, c Column) (err error) {
	place, there := t.places[c.Name]
	if !there {
		return nil
	}
	text := strings.TrimSpace(t.rows[row][place])
	switch {
	case text == "" && c.MayBeEmpty:
	case text == "":
		err = errors.New("the cell is empty; fill it in or remove the row")
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

// at returns the place of a cell for messages: file, line and column.
func (t *Table) at(row int, column string) string {
	place, there := t.places[column]
	if !there {
		return fmt.Sprintf("%s: line %d (%s)", t.name, t.lines[row], column)
	}
	return fmt.Sprintf("%s: line %d, column %d (%s)", t.name, t.lines[row], place+1, column)
}

// first joins the first maxFaults errors and says how many more there are. Otherwise a wrong separator or decimal mark
// would give an error for every cell of the file.
func (t *Table) first(faults []error) error {
	if len(faults) > maxFaults {
		faults = append(faults[:maxFaults:maxFaults], fmt.Errorf("%s: and %d more", t.name, len(faults)-maxFaults))
	}
	return errors.Join(faults...)
}

// Len returns the number of rows without the header.
func (t *Table) Len() int { return len(t.rows) }

// Has reports whether the table has the column.
func (t *Table) Has(column string) bool { _, there := t.places[column]; return there }

// Figure returns the number in a cell. It is unknown if the cell is empty or the table has no such column.
func (t *Table) Figure(row int, column string) tuning.Figure {
	if v, there := t.figures[row][column]; there {
		return v
	}
	return tuning.Unknown
}

// Whole returns the integer in a cell, or 0 if the cell is empty. Use Figure if an empty cell must differ from 0.
func (t *Table) Whole(row int, column string) int {
	return int(tuning.Greater(0, t.Figure(row, column)))
}

// Text returns the text of a cell without surrounding spaces. It is "" if the table has no such column.
func (t *Table) Text(row int, column string) string {
	if place, there := t.places[column]; there {
		return strings.TrimSpace(t.rows[row][place])
	}
	return ""
}

// Locate replaces the row in errors of tuning by the line and column in the file. rows maps the rows of tuning to rows
// of the table, from 0; nil means that they are the same. An error that names no row gets only the name of the file.
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

// Lines sets the lines of findings, in place. The rows of the findings must be the rows of the table, counted from 1.
func (t *Table) Lines(findings []tuning.Finding) {
	for i := range findings {
		findings[i].Line = t.lines[findings[i].Row-1]
	}
}

// place converts a row that tuning counts from 1 to a row of the table, which counts from 0.
func place(row int, rows []int) int {
	if rows == nil {
		return row - 1
	}
	return rows[row-1]
}

// flatten returns the single errors of joined errors, at any depth, so that each gets its own place in the file.
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
