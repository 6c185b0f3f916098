package load

import (
	"fmt"
	"math"
	"time"
)

// DistributionQuery counts a probe's records in ranges of their sequence numbers (FREQ). The counts add up to all
// records that the query saw. It keeps the same sketch in the topology as QUANTILE and CUMFREQ.
type DistributionQuery struct {
	// Points is the number of points that divide the ranges.
	Points int
	Aggregate
}

// Class implements Query.
func (DistributionQuery) Class() Class { return Distribution }

// BQL implements Query.
func (q DistributionQuery) BQL(probe string) string {
	return fmt.Sprintf("SELECT FREQ(probe_sequence, LINEAR, %d) %s", q.Points, q.from(probe))
}

// maxPoints is Bullet's own limit (bullet.query.aggregation.distribution.max.points).
const maxPoints = 200

// Validate implements Query.
func (q DistributionQuery) Validate() error {
	if q.Points < 2 || q.Points > maxPoints {
		return fmt.Errorf("a DISTRIBUTION must have 2 to %d points, not %d", maxPoints, q.Points)
	}
	return q.Aggregate.Validate()
}

// Check implements Query. A sketch that estimates moves records between ranges but loses none, so only the total is
// checked.
func (q DistributionQuery) Check(answer Answer, _ string, submitted, finished time.Time) (Check, error) {
	all, err := rows[struct {
		Count *number `json:"Count"`
	}](answer)
	if err != nil {
		return Check{}, err
	}
	total := 0.0
	for _, row := range all {
		if row.Count == nil {
			return Check{}, fmt.Errorf("a range of the answer has no Count")
		}
		if !math.IsNaN(float64(*row.Count)) { // there was no record
			total += float64(*row.Count)
		}
	}
	return q.counted(total, total, total, submitted, finished), nil
}
