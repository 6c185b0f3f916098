package load

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// RawQuery is the query of the experiments: a RAW query for the records of one probe. It ends after Limit records or
// after Duration, whichever comes first.
type RawQuery struct {
	// Limit is the maximum number of records that a query returns.
	Limit int
	// Duration is the longest time that the query lives in the topology.
	Duration time.Duration
	// PerSecond is the rate of the probe's records.
	PerSecond float64
}

// DefaultRawQuery returns the query of the tuning document, "10 records or 30 s". Just over 10 matching records are
// made in 30 s, so that an answer of fewer than 10 shows even a small loss. With more records, a topology could lose
// most of them and still return 10.
func DefaultRawQuery() RawQuery {
	return RawQuery{Limit: 10, Duration: 30 * time.Second, PerSecond: 0.4}
}

// DurationOf is the duration of a setting or an order, which states it in ms.
func DurationOf(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// Class implements Query.
func (RawQuery) Class() Class { return Raw }

// Life implements Query.
func (q RawQuery) Life() time.Duration { return q.Duration }

// ProbeRate implements Query.
func (q RawQuery) ProbeRate() float64 { return q.PerSecond }

// Validate returns an error that names an invalid field.
func (q RawQuery) Validate() error {
	if q.Limit < 1 {
		return fmt.Errorf("the limit of records must be at least 1, not %d", q.Limit)
	}
	return validate(q.Duration, q.PerSecond)
}

// BQL returns the query's text for one probe.
func (q RawQuery) BQL(probe string) string {
	return fmt.Sprintf("SELECT * FROM STREAM(%d, TIME) WHERE probe = '%s' LIMIT %d", q.Duration.Milliseconds(),
		probe, q.Limit)
}

// ProbeValue returns the value of a slot's probe.
func ProbeValue(slot int) string { return probeValue("", slot) }

func probeValue(prefix string, slot int) string {
	prefix = cmp.Or(prefix, "probe")
	return fmt.Sprintf("%s-%d", prefix, slot)
}

// Record is a record in the answer to a RAW query for a probe. The query selects by the probe, so a record without
// these fields belongs to another query.
type Record struct {
	Probe    string `json:"probe"`
	Sequence int64  `json:"probe_sequence"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Record) UnmarshalJSON(text []byte) error {
	var fields struct {
		Probe    *string `json:"probe"`
		Sequence *int64  `json:"probe_sequence"`
	}
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	if fields.Probe == nil || fields.Sequence == nil {
		return errors.New("it has no probe and probe_sequence, so it is not an answer to this query")
	}
	r.Probe, r.Sequence = *fields.Probe, *fields.Sequence
	return nil
}

// Check implements Query. If at least Limit records were expected, Missing counts those that the answer lacks of its
// limit. It may contain any of the expected records, because with several filter bolts the first to arrive need not be
// consecutive. If fewer were expected, each of them must be in the answer.
func (q RawQuery) Check(answer Answer, probe string, submitted, finished time.Time) (Check, error) {
	records, err := rows[Record](answer)
	if err != nil {
		return Check{}, err
	}
	check, distinct := Check{Records: len(records)}, map[int64]bool{}
	for _, record := range records {
		switch {
		case record.Probe != probe:
			check.Foreign++
		case distinct[record.Sequence]:
			check.Repeated++
		default:
			distinct[record.Sequence] = true
		}
	}
	expected, _ := spans(q.PerSecond, q.Duration, submitted, finished)
	switch {
	case len(distinct) >= q.Limit:
		check.Expected = q.Limit
	case expected.size() > q.Limit:
		check.Expected, check.Missing = q.Limit, q.Limit-len(distinct)
	default:
		check.Expected, check.Missing = expected.size(), expected.without(distinct)
	}
	return check, nil
}
