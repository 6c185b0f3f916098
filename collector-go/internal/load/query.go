package load

import (
	"fmt"
	"math"
	"time"
)

// RawQuery is the query of the experiments: a RAW query for the records of one probe, of which it takes Limit or what comes in
// Duration, whichever is first.
type RawQuery struct {
	// Limit is the most records that a query returns.
	Limit int
	// Duration is the longest that a query lives in the topology.
	Duration time.Duration
	// PerSecond is the rate of the probe's records.
	PerSecond float64
}

// DefaultRawQuery is the document's, "10 records or 30 s". Just over 10 matching records are made in 30 s, so that an answer of
// fewer than 10 shows even a small loss; with more, a topology could lose most of them and still return 10.
func DefaultRawQuery() RawQuery {
	return RawQuery{Limit: 10, Duration: 30 * time.Second, PerSecond: 0.4}
}

// Validate tells which field makes no sense.
func (q RawQuery) Validate() error {
	switch {
	case q.Limit < 1:
		return fmt.Errorf("a query must take at least 1 record, not %d", q.Limit)
	case q.Duration < time.Second:
		return fmt.Errorf("a query must live at least 1 s, not %s", q.Duration)
	case !(q.PerSecond >= 0) || math.IsInf(q.PerSecond, 0):
		return fmt.Errorf("the rate of matching records must be at least 0, not %v", q.PerSecond)
	}
	return nil
}

// BQL is the query's text for one probe.
func (q RawQuery) BQL(probe string) string {
	return fmt.Sprintf("SELECT * FROM STREAM(%d, TIME) WHERE probe = '%s' LIMIT %d", q.Duration.Milliseconds(), probe, q.Limit)
}

// ProbeValue names the probe of a slot.
func ProbeValue(slot int) string { return fmt.Sprintf("probe-%d", slot) }

// Probes are the record streams that n slots need.
func (q RawQuery) Probes(n int) []Probe {
	probes := make([]Probe, n)
	for slot := range probes {
		probes[slot] = Probe{Value: ProbeValue(slot), PerSecond: q.PerSecond}
	}
	return probes
}

// Generated is how many matching records the source made in (from, to]. The source makes record k at k/PerSecond seconds since
// 1970 (io.github.bulletmetrics.topology.source.Share), so both ends can count alone.
func (q RawQuery) Generated(from, to time.Time) int {
	made := func(t time.Time) int64 { return int64(math.Floor(float64(t.UnixMicro()) * q.PerSecond / 1e6)) }
	return int(max(0, made(to)-made(from)))
}

// settling is how long after its submission, and before its end, a record may be made without a query being held to have seen
// it: the query travels to the filters, and the record to the query's end.
const settling = time.Second

// check compares an answer with what was generated. missing are records that the query lacks of its limit although enough were
// made in its life; repeated came twice; foreign are not the probe's. Which of the probe's records come is left open: with
// several filters the first ones to arrive need not be consecutive.
func (q RawQuery) check(records []Record, probe string, submitted, finished time.Time) (missing, repeated, foreign int) {
	distinct := map[int64]bool{}
	for _, record := range records {
		switch {
		case record.Probe != probe:
			foreign++
		case distinct[record.Sequence]:
			repeated++
		default:
			distinct[record.Sequence] = true
		}
	}
	return max(0, q.due(submitted, finished)-len(distinct)), repeated, foreign
}

// overdue tells of a query that has not returned whether it should have.
func (q RawQuery) overdue(life time.Duration) bool { return life > q.Duration+5*settling }

// due is how many records a query must have returned.
func (q RawQuery) due(submitted, finished time.Time) int {
	return min(q.Limit, q.Generated(submitted.Add(settling), finished.Add(-settling)))
}
