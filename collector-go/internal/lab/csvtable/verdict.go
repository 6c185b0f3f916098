package csvtable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// verdictColumn leaves a row to its figures where its cell is empty.
var verdictColumn = Column{Name: tuning.ColumnVerdict, Kind: VerdictOfRun, Optional: true, MayBeEmpty: true}

// verdicts are what the column may contain.
var verdicts = []tuning.Verdict{tuning.OK, tuning.Fail, tuning.Limited, tuning.Inconclusive}

// verdictOf reads a verdict, whatever its case. A cell that says baseline is left to the figures, since a step without
// queries is one by itself.
func verdictOf(text string) (tuning.Verdict, error) {
	at := slices.IndexFunc(verdicts, func(v tuning.Verdict) bool { return strings.EqualFold(string(v), text) })
	switch {
	case text == "", strings.EqualFold(text, string(tuning.Baseline)): // a step of 0 queries is one by itself
		return "", nil
	case at < 0:
		return "", fmt.Errorf("%q is no verdict; write OK, FAIL, limited or inconclusive, "+
			"or leave the cell empty to have the row judged by its figures", text)
	}
	return verdicts[at], nil
}

// verdict is the row's, "" where it is left to its figures. The cell was checked when the table was read, so it can be
// read again without an error.
func (t *Table) verdict(row int) tuning.Verdict {
	v, _ := verdictOf(t.Text(row, tuning.ColumnVerdict)) // checked
	return v
}
