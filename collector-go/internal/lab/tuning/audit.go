package tuning

import "math"

// Verdicts of an audit against a total.
const (
	// Wrong means that the rows contradict the total.
	Wrong Verdict = "wrong"
	// Partial means that some rows of the total are missing.
	Partial Verdict = "partial"
)

// Finding is a total that does not follow from its rows. A correct total is no finding.
type Finding struct {
	// What names the total. Row is the row that states it, counted from 1, or 0 for the table's own row of totals.
	What string `json:"what"`
	Row  int    `json:"-"`
	// Line is the row's line in its file, 0 if it did not come from a file.
	Line     int     `json:"line,omitempty"`
	Column   string  `json:"column"`
	Stated   Figure  `json:"stated"`
	Computed Figure  `json:"computed"`
	Verdict  Verdict `json:"verdict"`
	Reason   string  `json:"reason"`
}

// statedTotal is a stated total with the sum of its rows.
type statedTotal struct {
	what             string
	row              int
	column           string
	stated, computed Figure
	// lacking states that the sum is known to miss a part, such as off-heap memory.
	lacking bool
}

func (s statedTotal) holds() bool { return sameRounded(s.stated, s.computed) }

// auditTotals judges several totals over the same rows together. If one of them equals its sum, no row is missing.
// Another total that exceeds its sum is then wrong instead of partial. A total below its sum is always wrong, because
// no row is negative.
func auditTotals(totals []statedTotal) (findings []Finding, audited int) {
	complete := false
	for _, t := range totals {
		complete = complete || t.known() && t.holds() && !t.lacking
	}
	for _, t := range totals {
		if !t.known() {
			continue
		}
		audited++
		if t.holds() {
			continue
		}
		f := Finding{What: t.what, Row: t.row, Column: t.column, Stated: t.stated,
			Computed: Figure(tidy(float64(t.computed)))}
		switch {
		case t.stated < t.computed:
			f.Verdict, f.Reason = Wrong, "the sum of the rows is larger"
		case complete && !t.lacking:
			f.Verdict, f.Reason = Wrong, "the sum of the rows is smaller, although another total shows that no row is missing"
		case t.lacking:
			f.Verdict, f.Reason = Partial, "the sum of the rows is smaller, because they omit a part such as off-heap memory"
		default:
			f.Verdict, f.Reason = Partial, "the sum of the rows is smaller, so rows are missing"
		}
		findings = append(findings, f)
	}
	return findings, audited
}

func (s statedTotal) known() bool { return s.stated.Known() && s.computed.Known() }

// ceil rounds up, but ignores an excess over a whole number that is only a rounding error.
func ceil(v float64) int { return int(math.Ceil(v - 1e-9*math.Max(1, math.Abs(v)))) }
