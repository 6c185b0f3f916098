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
