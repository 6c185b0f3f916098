package load

import (
	"errors"
	"fmt"
	"time"
)

// TopKQuery asks for the most frequent of five values that are computed from a probe's records. The values 0, 1 and 2
// occur twice as often as 3 and 4.
type TopKQuery struct {
	// K is the number of values requested.
	K int
	Aggregate
}

// The value of a record is its sequence number modulo topCycle modulo topValues.
const (
	topCycle  = 8
	topValues = 5
	topOften  = topCycle - topValues // values below it occur twice in a cycle
)

// Class implements Query.
func (TopKQuery) Class() Class { return TopK }

// BQL implements Query.
func (q TopKQuery) BQL(probe string) string {
	value := fmt.Sprintf("probe_sequence %% %d %% %d", topCycle, topValues)
	return fmt.Sprintf("SELECT TOP(%d, %s) AS count, %[2]s AS part %s", q.K, value, q.from(probe))
}

// Validate implements Query.
func (q TopKQuery) Validate() error {
	if q.K < 1 || q.K > topValues {
		return fmt.Errorf("a TOP K must have 1 to %d values, not %d", topValues, q.K)
	}
	return q.Aggregate.Validate()
}

// Check implements Query. The count of each returned value is checked separately. A rare value in the place of a
// frequent one is foreign if there were enough records to distinguish them.
func (q TopKQuery) Check(answer Answer, _ string, submitted, finished time.Time) (check Check, err error) {
	all, err := rows[struct {
		Part  *number `json:"part"`
		Count number  `json:"count"`
	}](answer)
	if err != nil {
		return check, err
	}
	expected, possible := spans(q.PerSecond, q.Duration, submitted, finished)
	seen := map[int64]bool{}
	for _, row := range all {
		part, count := remainder(row.Part), int(row.Count)
		seen[part] = true
		switch {
		case row.Part == nil:
			return check, errors.New("a value in the answer has no part")
		case part < 0 || part >= topValues:
			check.Foreign += count
			continue
		case part >= topOften && q.K <= topOften && topCount(expected, 0) > topCount(possible, part):
			check.Foreign += count
			continue
		}
		check.Records += count
		check.Expected += topCount(expected, part)
		check.Missing += max(0, topCount(expected, part)-count)
		check.Repeated += max(0, count-topCount(possible, part))
	}
	check.lack(expected, seen, q.K-len(all))
	return check, nil
}

// lack adds values that should have come and did not. It assumes the rarest ones, so that the answer is not required
// to contain more than it must.
func (c *Check) lack(expected span, seen map[int64]bool, values int) {
	for part := int64(topValues - 1); part >= 0 && values > 0; part-- {
		if n := topCount(expected, part); n > 0 && !seen[part] {
			c.Expected += n
			c.Missing += n
			values--
		}
	}
}

// topCount returns how many sequence numbers of a span have the given value.
func topCount(s span, value int64) int {
	n := s.residues(topCycle, value)
	if value < topOften {
		n += s.residues(topCycle, value+topValues)
	}
	return n
}
