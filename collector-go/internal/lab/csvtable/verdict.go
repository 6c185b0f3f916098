package csvtable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// verdictColumn is optional. A row with an empty cell is judged by its figures.
var verdictColumn = Column{Name: tuning.ColumnVerdict, Kind: VerdictOfRun, Optional: true, MayBeEmpty: true}

// verdicts are the values that the column may contain besides baseline.
var verdicts = []tuning.Verdict{tuning.OK, tuning.Fail, tuning.Limited, tuning.Inconclusive}

// verdictOf reads a verdict and ignores its case. It returns "" for an empty cell and for baseline, because a step
// without queries becomes a baseline by its figures.
func verdictOf(text string) (tuning.Verdict, error) {
	at := slices.IndexFunc(verdicts, func(v tuning.Verdict) bool { return strings.EqualFold(string(v), text) })
	switch {
	case text == "", strings.EqualFold(text, string(tuning.Baseline)): // a step with 0 queries is a baseline anyway
		return "", nil
	case at < 0:
		return "", fmt.Errorf("%q is not a verdict; write OK, FAIL, limited or inconclusive, "+
			"or leave the cell empty to judge the row by its figures", text)
	}
	return verdicts[at], nil
}

// verdict returns the verdict of a row, or "" if the row is judged by its figures. Open has checked the cell, so
// reading it again cannot fail.
func (t *Table) verdict(row int) tuning.Verdict {
	v, _ := verdictOf(t.Text(row, tuning.ColumnVerdict)) // cannot fail: Open checked the cell
	return v
}
