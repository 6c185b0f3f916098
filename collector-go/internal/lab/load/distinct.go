package load

import (
	"encoding/json"
	"fmt"
	"time"
)

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
