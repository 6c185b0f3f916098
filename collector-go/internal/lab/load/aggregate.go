package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Aggregate holds what all aggregating queries share. They live for their whole duration and count the records of a
// probe, whose sequence numbers have no gaps.
type Aggregate struct {
	// Duration is how long the query lives in the topology.
	Duration time.Duration
	// PerSecond is the rate of the probe's records.
	PerSecond float64
}

// Life implements Query.
func (a Aggregate) Life() time.Duration { return a.Duration }

// ProbeRate implements Query.
func (a Aggregate) ProbeRate() float64 { return a.PerSecond }

// Validate returns an error that names an invalid parameter.
func (a Aggregate) Validate() error { return validate(a.Duration, a.PerSecond) }

func validate(duration time.Duration, perSecond float64) error {
	switch {
	case duration < time.Second:
		return fmt.Errorf("the duration of a query must be at least 1 s, not %s", duration)
	case !(perSecond >= 0) || math.IsInf(perSecond, 0):
		return fmt.Errorf("the rate of matching records must not be negative, not %v", perSecond)
	}
	return nil
}

// from returns the part of the text that all aggregating queries share. Durations are whole ms.
func (a Aggregate) from(probe string) string {
	return fmt.Sprintf("FROM STREAM(%d, TIME) WHERE probe = '%s'", a.Duration.Milliseconds(), probe)
}

// counted compares a count with the records that were generated. The engine states that the true count is within
// [least, most].
func (a Aggregate) counted(least, count, most float64, submitted, finished time.Time) Check {
	expected, possible := spans(a.PerSecond, a.Duration, submitted, finished)
	return Check{
		Records: int(math.Round(count)), Expected: expected.size(),
		Missing:  max(0, expected.size()-int(math.Floor(most+0.5))),
		Repeated: max(0, int(math.Ceil(least-0.5))-possible.size()),
	}
}

// number is a number in Bullet's JSON. NaN, the infinities and the values of a group are JSON strings.
type number float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	value, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if err != nil {
		return fmt.Errorf("%s is not a number", text)
	}
	*n = number(value)
	return nil
}

// rows decodes an answer's records.
func rows[T any](answer Answer) ([]T, error) {
	all := make([]T, len(answer.Records))
	for i, record := range answer.Records {
		if err := json.Unmarshal(record, &all[i]); err != nil {
			return nil, fmt.Errorf("record %d of the answer, %.200s: %w", i+1, record, err)
		}
	}
	return all, nil
}

// CountDistinctQuery counts a probe's distinct sequence numbers, which are as many as its records.
type CountDistinctQuery struct{ Aggregate }

// Class implements Query.
func (CountDistinctQuery) Class() Class { return CountDistinct }

// BQL implements Query.
func (q CountDistinctQuery) BQL(probe string) string {
	return "SELECT COUNT(DISTINCT probe_sequence) AS count " + q.from(probe)
}

// estimateError is the allowed relative error of an estimated count if Bullet does not state its own bounds. It is
// three standard deviations with Bullet's default of 16,384 entries
// (bullet.query.aggregation.count.distinct.sketch.entries).
const estimateError = 3.0 / 128

// exactEntries is the number of distinct values that Bullet counts exactly by default.
const exactEntries = 16384

// sketched is what an answer states about its sketch if bullet.result.metadata.enable is on.
type sketched struct {
	Sketch struct {
		Deviations map[string]struct {
			Lower number `json:"lowerBound"`
			Upper number `json:"upperBound"`
		} `json:"Standard Deviations"`
	} `json:"Sketch"`
}

// Check implements Query. A count that Bullet estimated is checked against its own bounds at three standard
// deviations.
func (q CountDistinctQuery) Check(answer Answer, _ string, submitted, finished time.Time) (Check, error) {
	all, err := rows[struct {
		Count *number `json:"count"`
	}](answer)
	if err != nil {
		return Check{}, err
	}
	if len(all) != 1 || all[0].Count == nil {
		return Check{}, fmt.Errorf("the answer to a COUNT DISTINCT must have one record with a count, got %d", len(all))
	}
	count := float64(*all[0].Count)
	least, most := count, count
	var meta sketched
	bounds, stated := meta.Sketch.Deviations["3"], false
	if json.Unmarshal(answer.Meta, &meta) == nil {
		bounds, stated = meta.Sketch.Deviations["3"]
	}
	switch {
	case stated:
		least, most = float64(bounds.Lower), float64(bounds.Upper)
	case count > exactEntries:
		least, most = count*(1-estimateError), count*(1+estimateError)
	}
	return q.counted(least, count, most, submitted, finished), nil
}

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
