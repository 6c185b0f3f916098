package tuning

import "fmt"

// Capacity is how many simultaneous queries were held: somewhere in [LastOK, FirstFail).
type Capacity struct {
	// LastOK is the largest step that was OK below the first that failed; null where there is none.
	LastOK *int `json:"last_ok"`
	// FirstFail is the smallest step that failed; null where none did.
	FirstFail *int `json:"first_fail"`
	// Censored says that nothing failed: LastOK is a lower bound and no capacity.
	Censored bool   `json:"censored"`
	Note     string `json:"note,omitempty"`
}

// verdictAt is a step's verdict.
type verdictAt struct {
	queries int
	verdict Verdict
}

// capacityOf judges steps that ascend.
func capacityOf(steps []verdictAt) Capacity {
	var c Capacity
	over := 0
	for _, s := range steps {
		switch {
		case s.verdict == Fail && c.FirstFail == nil:
			c.FirstFail = &s.queries
		case s.verdict == OK && c.FirstFail == nil:
			c.LastOK = &s.queries
		case s.verdict == OK:
			over = s.queries
		}
	}
	switch {
	case c.FirstFail == nil && c.LastOK == nil:
		c.Note = "no step was judged OK or FAIL: nothing is known of the capacity"
	case c.FirstFail == nil:
		c.Censored = true
		c.Note = fmt.Sprintf("nothing failed: the capacity is at least %d, and how much more is unknown; measure with more queries", *c.LastOK)
	case c.LastOK == nil:
		c.Note = fmt.Sprintf("every step failed: the capacity is below %d; measure with fewer queries", *c.FirstFail)
	case over > 0:
		c.Note = fmt.Sprintf("%d queries were OK although %d failed: the capacity is told from what lies below the first failure; repeat these steps", over, *c.FirstFail)
	}
	if over > 0 && c.LastOK == nil && c.FirstFail != nil {
		c.Note = fmt.Sprintf("the smallest step failed, although %d queries were OK: repeat these steps", over)
	}
	return c
}
