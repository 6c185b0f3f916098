package csvtable

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

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
		return nil, fmt.Errorf("%s: larger than %d MiB; a table of measurements has hundreds of rows", path,
			maxBytes>>20)
	}
	return data, nil
}

// records takes a file's lines apart: the first is the head, the others are the table's rows.
func (t *Table) records(data []byte) (head []string, err error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil, fmt.Errorf("%s is not UTF-8 text; save it as CSV in UTF-8", t.name)
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

func blank(fields []string) bool { return strings.TrimSpace(strings.Join(fields, "")) == "" }
