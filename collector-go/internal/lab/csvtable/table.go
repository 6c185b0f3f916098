package csvtable

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
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

// header finds the columns. An unknown column is noted and ignored. A name that is nearly the name of a missing column
// is an error and not a note. Otherwise nobody would notice that a misspelled optional column is ignored. A file
// separated by semicolons or tabs has a single column and gets its own error.
func (t *Table) header(head []string) error {
	if len(head) == 1 {
		for separator, word := range map[string]string{";": "semicolons", "\t": "tabs"} {
			if strings.Contains(head[0], separator) {
				return fmt.Errorf("%s: line 1: the columns are separated by %s; separate them by commas, and write decimals with a point",
					t.name, word)
			}
		}
	}
	var wrong []error
	var strangers, missing []string
	for i, cell := range head {
		name := strings.ToLower(strings.TrimSpace(cell))
		if earlier, twice := t.places[name]; twice {
			wrong = append(wrong, fmt.Errorf("%s: line 1, column %d: duplicate column %s, first as column %d", t.name,
				i+1, name, earlier+1))
			continue
		}
		t.places[name] = i
		if !slices.ContainsFunc(t.columns, func(c Column) bool { return c.Name == name }) {
			strangers = append(strangers, name)
		}
	}
	for _, c := range t.columns {
		if _, there := t.places[c.Name]; there {
			continue
		}
		near, distance := nearest(c.Name, strangers)
		switch {
		case distance <= slip(c.Name):
			wrong = append(wrong, fmt.Errorf("%s: line 1, column %d: unknown column %q; did you mean %s?%s", t.name,
				t.places[near]+1, near, c.Name, otherUnit(near, c.Name)))
		case !c.Optional:
			missing = append(missing, c.Name)
		}
	}
	if len(missing) > 0 {
		wrong = append(wrong, t.Missing(missing...))
	}
	for _, s := range strangers {
		t.Notes = append(t.Notes, fmt.Sprintf("column %q of %s is not used", s, t.name))
	}
	return errors.Join(wrong...)
}

// units are the units with which the names of columns end.
var units = []string{"ms", "mib", "cores", "minute", "s"}

// otherUnit returns a warning if the two names differ in their unit, else "". The warning is added to the suggestion to
// rename a column. A column that is only renamed would keep its values in the old unit.
func otherUnit(name, known string) string {
	unit := known[strings.LastIndex(known, "_")+1:]
	if unit == name[strings.LastIndex(name, "_")+1:] || !slices.Contains(units, unit) {
		return ""
	}
	return fmt.Sprintf(" Its values are in %s; convert values of another unit", unit)
}

// required returns the columns that a table must have, in the order in which messages list them.
func (t *Table) required() []string {
	needed := tuning.Those(t.columns, func(c Column) bool { return !c.Optional })
	return tuning.Each(needed, func(c Column) string { return c.Name })
}

// Missing returns the error for absent columns. It names the nearest column that is there for each. It modifies the
// elements of columns.
func (t *Table) Missing(columns ...string) error {
	for i, column := range columns {
		columns[i] += t.near(column)
	}
	verb := "column %s is missing"
	if len(columns) > 1 {
		verb = "columns %s are missing"
	}
	return fmt.Errorf("%s: line 1: "+verb+"; the table needs the columns %s", t.name, strings.Join(columns, ", "),
		strings.Join(t.required(), ", "))
}

// near points to the column whose name resembles a missing one most. It returns "" if no name is similar.
func (t *Table) near(column string) string {
	if near, distance := nearest(column, slices.Sorted(maps.Keys(t.places))); distance <= len(column)/2 {
		return fmt.Sprintf(" (the nearest there is %q)", near)
	}
	return ""
}

// read returns the content of a file. A file larger than maxBytes is refused.
func read(path string) ([]byte, error) {
	data, err := textfile.Read(path, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("read the table: %w", err)
	}
	return data, nil
}

// records splits the data into the header and the rows of the table. It skips blank lines, also above the header. It
// stores the line of each row, because blank lines and rows over several lines make the line differ from the index.
// Rows may have any length here; check reports those that do not fit the header.
func (t *Table) records(data []byte) (head []string, err error) {
	if data, err = textfile.Clean(t.name, data); err != nil {
		return nil, err
	}
	reader := csv.NewReader(bytes.NewReader(data))
	reader.FieldsPerRecord, reader.TrimLeadingSpace = -1, true
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var broken *csv.ParseError
		if errors.As(err, &broken) {
			return nil, fmt.Errorf("%s: line %d: %w; put a field that holds a comma or a quote in quotes, and double the quotes within it",
				t.name, broken.Line, broken.Err)
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		if blank(fields) {
			continue
		}
		if head == nil {
			head = fields
			continue
		}
		line, _ := reader.FieldPos(0)
		t.rows, t.lines = append(t.rows, fields), append(t.lines, line)
		if len(t.rows) > maxRows {
			return nil, fmt.Errorf("%s: line %d: more than %d rows; give averages of each step, not samples", t.name,
				line, maxRows)
		}
	}
	if head == nil {
		return nil, fmt.Errorf("%s is empty; its first line must name the columns: %s", t.name,
			strings.Join(t.required(), ","))
	}
	if len(t.rows) == 0 {
		return nil, fmt.Errorf("%s: line 1 names columns, but there are no rows below it", t.name)
	}
	return head, nil
}

// blank reports whether all fields of a row are empty.
func blank(fields []string) bool { return strings.TrimSpace(strings.Join(fields, "")) == "" }
