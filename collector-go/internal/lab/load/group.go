package load

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// GroupByQuery groups a probe's records by the remainders of their sequence numbers. It counts each group and asks for
// its first and last number, so that the exact number of missing records is known.
type GroupByQuery struct {
	// Groups is the number of groups.
	Groups int
	Aggregate
}

// Class implements Query.
func (GroupByQuery) Class() Class { return GroupBy }

// BQL implements Query.
func (q GroupByQuery) BQL(probe string) string {
	group := fmt.Sprintf("probe_sequence %% %d", q.Groups)
	return fmt.Sprintf("SELECT %s AS part, COUNT(*) AS count, MIN(probe_sequence) AS first, MAX(probe_sequence) AS last %s GROUP BY %[1]s",
		group, q.from(probe))
}

// Validate implements Query.
func (q GroupByQuery) Validate() error {
	if q.Groups < 1 || q.Groups > maxGroups {
		return fmt.Errorf("a GROUP BY must have 1 to %d groups, not %d", maxGroups, q.Groups)
	}
	return q.Aggregate.Validate()
}

// maxGroups is below the number of groups that Bullet counts exactly by default
// (bullet.query.aggregation.group.sketch.entries, 512).
const maxGroups = 500

type groupRow struct {
	Part  *number `json:"part"`
	Count number  `json:"count"`
	First number  `json:"first"`
	Last  number  `json:"last"`
}

// Check implements Query. Each group is checked alone, so that surplus records of one group cannot hide missing ones
// of another.
func (q GroupByQuery) Check(answer Answer, _ string, submitted, finished time.Time) (check Check, err error) {
	all, err := rows[groupRow](answer)
	if err != nil {
		return check, err
	}
	expected, possible := spans(q.PerSecond, q.Duration, submitted, finished)
	counts := make(map[int64]int, q.Groups)
	for _, row := range all {
		switch part, count := remainder(row.Part), int(row.Count); {
		case row.Part == nil:
			return check, errors.New("a group in the answer has no part")
		case part < 0 || part >= int64(q.Groups):
			check.Foreign += count
		default:
			counts[part] += count
			check.Missing += q.holes(row, expected)
		}
	}
	for part := range int64(q.Groups) {
		check.Records += counts[part]
		check.Repeated += max(0, counts[part]-possible.residues(int64(q.Groups), part))
	}
	check.Expected = expected.size()
	for part := range int64(q.Groups) {
		if counts[part] == 0 {
			check.Missing += expected.residues(int64(q.Groups), part)
		}
	}
	return check, nil
}

// holes returns how many expected records a group lacks, from its first and last sequence number and its count.
func (q GroupByQuery) holes(row groupRow, expected span) int {
	modulus, first, last := int64(q.Groups), int64(row.First), int64(row.Last)
	between := int((last-first)/modulus) + 1 - int(row.Count)
	part := remainder(row.Part)
	before := span{expected.first, first - 1}.residues(modulus, part)
	after := span{last + 1, expected.last}.residues(modulus, part)
	return max(0, between) + before + after
}

func remainder(part *number) int64 {
	if part == nil || math.IsNaN(float64(*part)) {
		return -1
	}
	return int64(*part)
}
