package sheet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Bounds of a table. People's tables have a hundred rows.
const (
	maxBytes  = 16 << 20
	maxRows   = 10_000
	maxFaults = 20
)

// Table is a file's rows, whose cells are checked against their columns.
type Table struct {
	// Notes tell what of the file is not used.
	Notes []string

	name    string
	places  map[string]int // a column's name -> its place, from 0
	columns []Column
	rows    [][]string
	figures []map[string]tuning.Figure
	lines   []int
}

// Open reads the file. A fault names the file, the line and the column, and what to do.
func Open(path string, columns []Column) (*Table, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, columns)
}

func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the table: %w", err)
	}
	defer file.Close()
	if about, err := file.Stat(); err == nil && about.IsDir() {
		return nil, fmt.Errorf("read the table: %s is a directory; name a CSV file in it", path)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the table: %w", err)
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("%s: larger than %d MiB; a table of measurements has hundreds of rows", path, maxBytes>>20)
	}
	return data, nil
}

// Parse is Open of what was read already; name is the file's, for messages.
func Parse(name string, data []byte, columns []Column) (*Table, error) {
	t := &Table{name: name, columns: columns, places: map[string]int{}}
	records, err := t.records(data)
	if err != nil {
		return nil, err
	}
	if err := t.header(records.head); err != nil {
		return nil, err
	}
	t.rows, t.lines = records.rows, records.lines
	return t, t.check()
}

// records are a file's lines as fields.
type records struct {
	head  []string
	rows  [][]string
	lines []int
}

func (t *Table) records(data []byte) (*records, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fmt.Errorf("%s is empty; its first line must name the columns: %s", t.name, strings.Join(t.required(), ","))
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil, fmt.Errorf("%s is not UTF-8 text; save it as CSV in UTF-8", t.name)
	}
	reader := csv.NewReader(bytes.NewReader(data))
	reader.FieldsPerRecord, reader.TrimLeadingSpace = -1, true
	out := &records{}
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var broken *csv.ParseError
		if errors.As(err, &broken) {
			return nil, fmt.Errorf("%s: line %d: %w; put a field that holds a comma or a quote in quotes, and double the quotes within it", t.name, broken.Line, broken.Err)
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		if blank(fields) {
			continue
		}
		if out.head == nil {
			out.head = fields
			continue
		}
		line, _ := reader.FieldPos(0)
		out.rows, out.lines = append(out.rows, fields), append(out.lines, line)
		if len(out.rows) > maxRows {
			return nil, fmt.Errorf("%s: line %d: more than %d rows; give averages of each step, not samples", t.name, line, maxRows)
		}
	}
	if out.head == nil {
		return nil, fmt.Errorf("%s is empty; its first line must name the columns: %s", t.name, strings.Join(t.required(), ","))
	}
	if len(out.rows) == 0 {
		return nil, fmt.Errorf("%s: line 1 names columns, but there are no rows below it", t.name)
	}
	return out, nil
}

func blank(fields []string) bool {
	for _, f := range fields {
		if strings.TrimSpace(f) != "" {
			return false
		}
	}
	return true
}

func (t *Table) required() (names []string) {
	for _, c := range t.columns {
		if !c.Optional {
			names = append(names, c.Name)
		}
	}
	return names
}

func (t *Table) known() (names []string) {
	for _, c := range t.columns {
		names = append(names, c.Name)
	}
	return names
}

// header finds the columns. An unknown one is noted; one that is spelled nearly like a known one that is missing is a fault.
func (t *Table) header(head []string) error {
	if len(head) == 1 {
		for separator, word := range map[string]string{";": "semicolons", "\t": "tabs"} {
			if strings.Contains(head[0], separator) {
				return fmt.Errorf("%s: line 1: the columns are separated by %s; separate them by commas", t.name, word)
			}
		}
	}
	var wrong []error
	var strangers []string
	for i, cell := range head {
		name := strings.ToLower(strings.TrimSpace(cell))
		if earlier, twice := t.places[name]; twice {
			wrong = append(wrong, fmt.Errorf("%s: line 1, column %d: %s is there twice, first as column %d", t.name, i+1, name, earlier+1))
			continue
		}
		t.places[name] = i
		if !contains(t.known(), name) {
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
			wrong = append(wrong, fmt.Errorf("%s: line 1, column %d: unknown column %q; did you mean %s?", t.name, t.places[near]+1, near, c.Name))
		case !c.Optional:
			wrong = append(wrong, t.Missing(c.Name))
		}
	}
	for _, s := range strangers {
		t.Notes = append(t.Notes, fmt.Sprintf("column %q of %s is not used", s, t.name))
	}
	return errors.Join(wrong...)
}

// Missing is the fault of a column that is not there: it names the nearest one that is.
func (t *Table) Missing(column string) error {
	var there []string
	for name := range t.places {
		there = append(there, name)
	}
	near := ""
	if name, distance := nearestOf(column, there); distance <= len(column)/2 {
		near = fmt.Sprintf(" (the nearest there is %q)", name)
	}
	return fmt.Errorf("%s: line 1: column %s is missing%s; the table needs the columns %s", t.name, column, near, strings.Join(t.required(), ", "))
}

// nearestOf is nearest with ties broken by the alphabet.
func nearestOf(name string, known []string) (string, int) {
	best, distance := nearest(name, known)
	for _, k := range known {
		if edits(name, k) == distance && k < best {
			best = k
		}
	}
	return best, distance
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// check reads every cell, so that all faults are told at once.
func (t *Table) check() error {
	var wrong []error
	for i, fields := range t.rows {
		t.figures = append(t.figures, map[string]tuning.Figure{})
		if len(fields) > len(t.places) || len(fields) < len(t.places) && !blank(fields) {
			wrong = append(wrong, fmt.Errorf("%s: line %d has %d fields, but line 1 names %d columns; put a field that holds a comma in quotes",
				t.name, t.lines[i], len(fields), len(t.places)))
			continue
		}
		for _, c := range t.columns {
			wrong = append(wrong, t.cell(i, c)...)
		}
	}
	return t.first(wrong)
}

func (t *Table) cell(row int, c Column) []error {
	place, there := t.places[c.Name]
	if !there {
		return nil
	}
	text := strings.TrimSpace(t.rows[row][place])
	if text == "" {
		if c.MayBeEmpty {
			return nil
		}
		return []error{fmt.Errorf("%s: the cell is empty; fill it in or leave out the row", t.at(row, c.Name))}
	}
	if c.Kind == Text {
		if strings.ContainsFunc(text, unicode.IsControl) {
			return []error{fmt.Errorf("%s: %q has a control character; write plain text", t.at(row, c.Name), text)}
		}
		return nil
	}
	v, err := c.parse(text)
	if err != nil {
		return []error{fmt.Errorf("%s: %w", t.at(row, c.Name), err)}
	}
	t.figures[row][c.Name] = v
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

// first keeps the first faults: a table in which all is wrong is mended from its beginning.
func (t *Table) first(faults []error) error {
	if len(faults) > maxFaults {
		faults = append(faults[:maxFaults:maxFaults], fmt.Errorf("%s: and %d more", t.name, len(faults)-maxFaults))
	}
	return errors.Join(faults...)
}

// Len is how many rows there are.
func (t *Table) Len() int { return len(t.rows) }

// Has tells whether the column is there.
func (t *Table) Has(column string) bool { _, there := t.places[column]; return there }

// Figure is a number; unknown where its cell is empty or its column is not there.
func (t *Table) Figure(row int, column string) tuning.Figure {
	if v, there := t.figures[row][column]; there {
		return v
	}
	return tuning.Unknown
}

// Whole is a whole number; 0 where its cell is empty.
func (t *Table) Whole(row int, column string) int {
	if v := t.Figure(row, column); v.Known() {
		return int(v)
	}
	return 0
}

// Text is a cell's text without spaces around it.
func (t *Table) Text(row int, column string) string {
	if place, there := t.places[column]; there {
		return strings.TrimSpace(t.rows[row][place])
	}
	return ""
}

// Locate turns what tuning finds wrong with a row into the file's line and column. rows maps tuning's rows to the table's, from 0;
// nil where they are the same.
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

// Lines gives findings the file's lines; their rows are the table's.
func (t *Table) Lines(findings []tuning.Finding) {
	for i := range findings {
		findings[i].Line = t.lines[findings[i].Row-1]
	}
}

func place(row int, rows []int) int {
	if rows == nil {
		return row - 1
	}
	return rows[row-1]
}

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
