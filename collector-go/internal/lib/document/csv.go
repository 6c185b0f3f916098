package document

import (
	"bytes"
	"encoding/csv"
)

// CSV is the table as comma-separated values under its heads. Cells are written as they are: a caller whose file is
// read again by a program makes cells without grouping, and empty ones for what is not known.
func (t Table) CSV() []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	for i := -1; i < t.Rows(); i++ {
		_ = w.Write(t.row(i)) // a buffer takes all
	}
	w.Flush()
	return out.Bytes()
}
