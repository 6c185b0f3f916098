package document

import (
	"bytes"
	"encoding/csv"
)

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
