package csvtable

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// read reads a file of at most maxBytes; a larger one is refused.
func read(path string) ([]byte, error) {
	data, err := textfile.Read(path, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("read the table: %w", err)
	}
	return data, nil
}

// records takes a file's lines apart: the first is the head, the others are the table's rows. Blank lines are skipped,
// also above the head. The line of each row is remembered, since rows that span lines and skipped ones make it differ
// from the row's number. Rows of any length are taken here; check reports those that do not fit the head.
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
			return nil, fmt.Errorf(
				"%s: line %d: %w; put a field that holds a comma or a quote in quotes, and double the quotes within it",
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

// blank reports whether a row has nothing but separators.
func blank(fields []string) bool { return strings.TrimSpace(strings.Join(fields, "")) == "" }
