package tuning

import "math"

// What an audit can say against a total.
const (
	// Wrong is a total that its rows contradict.
	Wrong Verdict = "wrong"
	// Partial is a total whose rows are not all there.
	Partial Verdict = "partial"
)

// Finding is a total that does not follow from its rows. A total that does is no finding.
type Finding struct {
	// What names the total; Row is the row that states it, counted from 1, or 0 for the table's own row of totals.
	What string `json:"what"`
	Row  int    `json:"-"`
	// Line is the row's line in its file, 0 where it came from none.
	Line     int     `json:"line,omitempty"`
	Column   string  `json:"column"`
	Stated   Figure  `json:"stated"`
	Computed Figure  `json:"computed"`
	Verdict  Verdict `json:"verdict"`
	Reason   string  `json:"reason"`
}

// statedTotal is a total with the sum of its rows.
type statedTotal struct {
	what             string
	row              int
	column           string
	stated, computed Figure
	// lacking states that the sum itself is known to miss something, such as off-heap memory.
	lacking bool
}

func (s statedTotal) holds() bool { return sameRounded(s.stated, s.computed) }

// auditTotals judges totals over the same rows together: where one of them is met exactly, all rows are there, so
// another that is larger than its sum is wrong rather than partial. A total below its sum is always wrong, since no row
// is negative.
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
			f.Verdict, f.Reason = Wrong, "the rows add up to more"
		case complete && !t.lacking:
			f.Verdict, f.Reason = Wrong, "the rows are all there, as another total shows, and add up to less"
		case t.lacking:
			f.Verdict, f.Reason = Partial, "the rows leave out a part, such as off-heap memory, and add up to less"
		default:
			f.Verdict, f.Reason = Partial, "the rows are not all there: they add up to less"
		}
		findings = append(findings, f)
	}
	return findings, audited
}

func (s statedTotal) known() bool { return s.stated.Known() && s.computed.Known() }

// ceil rounds up what is more than rounding above a whole number.
func ceil(v float64) int { return int(math.Ceil(v - 1e-9*math.Max(1, math.Abs(v)))) }
