package sheet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// verdictColumn is the verdict of what was judged by more than the table's figures, as the tables of a run's report have it. An empty cell
// leaves the row to its figures.
var verdictColumn = Column{Name: tuning.ColumnVerdict, Optional: true, MayBeEmpty: true}

// verdicts are what the column may say.
var verdicts = []tuning.Verdict{tuning.OK, tuning.Fail, tuning.Limited, tuning.Inconclusive}

// verdict reads the cell, whatever its case.
func (t *Table) verdict(row int) (tuning.Verdict, error) {
	text := t.Text(row, tuning.ColumnVerdict)
	at := slices.IndexFunc(verdicts, func(v tuning.Verdict) bool { return strings.EqualFold(string(v), text) })
	switch {
	case text == "", strings.EqualFold(text, string(tuning.Baseline)): // a step of 0 queries is one by itself
		return "", nil
	case at < 0:
		return "", fmt.Errorf("%s: %q is no verdict; write OK, FAIL, limited or inconclusive, or leave the cell empty to have the row judged by its figures", t.at(row, tuning.ColumnVerdict), text)
	}
	return verdicts[at], nil
}
