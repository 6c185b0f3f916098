package sheet

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
		return nil, fmt.Errorf("%s: larger than %d MiB; a table of measurements has hundreds of rows", path, maxBytes>>20)
	}
	return data, nil
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
