package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// RawQuery is the query of the experiments: a RAW query for the records of one probe, of which it takes Limit or what
// comes in Duration, whichever is first.
type RawQuery struct {
	// Limit is the most records that a query returns.
	Limit int
	// Duration is the longest that a query lives in the topology.
	Duration time.Duration
	// PerSecond is the rate of the probe's records.
	PerSecond float64
}

// DefaultRawQuery is the document's, "10 records or 30 s". Just over 10 matching records are made in 30 s, so that an
// answer of fewer than 10 shows even a small loss; with more, a topology could lose most of them and still return 10.
func DefaultRawQuery() RawQuery {
	return RawQuery{Limit: 10, Duration: 30 * time.Second, PerSecond: 0.4}
}

// Class implements Query.
func (RawQuery) Class() Class { return Raw }

// Life implements Query.
func (q RawQuery) Life() time.Duration { return q.Duration }

// ProbeRate implements Query.
func (q RawQuery) ProbeRate() float64 { return q.PerSecond }

// Validate reports which field makes no sense.
func (q RawQuery) Validate() error {
	if q.Limit < 1 {
		return fmt.Errorf("a query must take at least 1 record, not %d", q.Limit)
	}
	return validate(q.Duration, q.PerSecond)
}

// BQL is the query's text for one probe.
func (q RawQuery) BQL(probe string) string {
	return fmt.Sprintf("SELECT * FROM STREAM(%d, TIME) WHERE probe = '%s' LIMIT %d", q.Duration.Milliseconds(),
		probe, q.Limit)
}

// ProbeValue names the probe of a slot.
func ProbeValue(slot int) string { return probeValue("", slot) }

func probeValue(prefix string, slot int) string {
	if prefix == "" {
		prefix = "probe"
	}
	return fmt.Sprintf("%s-%d", prefix, slot)
}

// Probes are the record streams that n slots need.
func (q RawQuery) Probes(n int) []Probe { return Probes(q, n) }

// Generated is how many matching records the source made in (from, to].
func (q RawQuery) Generated(from, to time.Time) int { return generated(q.PerSecond, from, to) }

// Record is what a RAW query for a probe returns of a record. The query selects by the probe, so a record without these
// fields answers another one.
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
		return errors.New("it has no probe and probe_sequence, so it does not answer this query")
	}
	r.Probe, r.Sequence = *fields.Probe, *fields.Sequence
	return nil
}

// Check implements Query. Missing are records that the answer lacks of its limit although enough were made in its life.
// Which of the probe's records come is left open where there are more than the limit: with several filters the first
// ones to arrive need not be consecutive. Where there are fewer, each must be there.
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
	due, _ := spans(q.PerSecond, q.Duration, submitted, finished)
	switch {
	case len(distinct) >= q.Limit:
		check.Due = q.Limit
	case due.size() > q.Limit:
		check.Due, check.Missing = q.Limit, q.Limit-len(distinct)
	default:
		check.Due, check.Missing = due.size(), due.without(distinct)
	}
	return check, nil
}
