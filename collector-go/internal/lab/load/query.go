package load

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
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

// Class is a kind of query, by the state that the topology keeps for it. The names are those of Bullet's
// AggregationType in lower case, and the values of the label "class".
type Class string

// Classes of queries.
const (
	Raw           Class = "raw"
	GroupBy       Class = "group"
	CountDistinct Class = "count_distinct"
	Distribution  Class = "distribution"
	TopK          Class = "top_k"
)

// Classes lists all classes.
func Classes() []Class { return []Class{Raw, GroupBy, CountDistinct, Distribution, TopK} }

// ParseClass parses the name of a class, in any case, with - or _.
func ParseClass(text string) (Class, error) {
	name := Class(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), "-", "_"))
	if slices.Contains(Classes(), name) {
		return name, nil
	}
	return "", fmt.Errorf("unknown query class %q; known classes: %s", text,
		strings.Join(tuning.Texts(Classes()), ", "))
}

// Query is a query that a client submits repeatedly, each time for the records of one probe, together with the check
// of its answers. Implementations are immutable values and safe for concurrent use.
type Query interface {
	Class() Class
	// BQL returns the query's text for one probe.
	BQL(probe string) string
	// Life returns the longest time that the query lives in the topology.
	Life() time.Duration
	// ProbeRate returns the records/s that a probe must have, or 0 if the query needs no probe.
	ProbeRate() float64
	// Check compares an answer with the records that the source generated between the query's submission and its end.
	// An error means that the answer is not one of this class.
	Check(answer Answer, probe string, submitted, finished time.Time) (Check, error)
	// Validate returns an error that names an invalid parameter.
	Validate() error
}

// Check is the comparison of an answer with the generated records. In an answer of sums and counts, the records are
// those that the counts include.
type Check struct {
	// Records is the number of records in the answer.
	Records int
	// Expected is the minimum number of records that the answer must have.
	Expected int
	// Missing records were expected and did not come. Repeated records came more than once, or are more than were made.
	// Foreign records should not have come.
	Missing, Repeated, Foreign int
}

// Parameters are the settings of a query that its class does not determine.
type Parameters struct {
	// Limit is the records of a RAW answer, the groups of a GROUP BY, the points of a DISTRIBUTION
	// or the K of a TOP K; 0 means the default of the class.
	Limit int
	// Duration is the longest time that a query lives in the topology; 0 means 30 s.
	Duration time.Duration
	// PerSecond is the rate of a probe's records; 0 means the default of the class.
	PerSecond float64
	// NoSource states that no matching records are made, so that completeness is unknown.
	NoSource bool
	// Text is the user's own BQL, which replaces the query of the class. Its completeness is then checked only by
	// Expect.
	Text   string
	Expect Expectation
}

// NewQuery returns a validated query of a class.
func NewQuery(class Class, p Parameters) (Query, error) {
	p.Duration = cmp.Or(p.Duration, DefaultRawQuery().Duration)
	if p.Text != "" {
		query := TextQuery{Of: class, Text: p.Text, Duration: p.Duration, Expect: p.Expect}
		return query, query.Validate()
	}
	var query Query
	switch class {
	case Raw:
		raw := DefaultRawQuery()
		query = RawQuery{Limit: cmp.Or(p.Limit, raw.Limit), Duration: p.Duration, PerSecond: p.rate(raw.PerSecond)}
	case GroupBy:
		query = GroupByQuery{Groups: cmp.Or(p.Limit, 4), Aggregate: aggregate(p)}
	case CountDistinct:
		query = CountDistinctQuery{aggregate(p)}
	case Distribution:
		query = DistributionQuery{Points: cmp.Or(p.Limit, 10), Aggregate: aggregate(p)}
	case TopK:
		query = TopKQuery{K: cmp.Or(p.Limit, 3), Aggregate: aggregate(p)}
	default:
		_, err := ParseClass(string(class))
		return nil, err
	}
	return query, query.Validate()
}

func aggregate(p Parameters) Aggregate {
	return Aggregate{Duration: p.Duration, PerSecond: p.rate(10)}
}

func (p Parameters) rate(otherwise float64) float64 {
	if p.NoSource {
		return 0
	}
	return cmp.Or(p.PerSecond, otherwise)
}

// Probes returns the probes that n slots need for a query.
func Probes(query Query, n int) []Probe { return ProbesNamed("", query, n) }

// ProbesNamed is Probes with values that begin with prefix; "" means "probe".
func ProbesNamed(prefix string, query Query, n int) []Probe {
	probes := make([]Probe, n)
	for slot := range probes {
		probes[slot] = Probe{Value: probeValue(prefix, slot), PerSecond: query.ProbeRate()}
	}
	return probes
}

// made returns the sequence number of the newest record that the source has made of a probe up to a moment. The source
// makes record k at k/perSecond seconds since 1970 (io.github.bulletmetrics.topology.source.Share). Client and source
// can therefore count without communication.
func made(perSecond float64, at time.Time) int64 {
	return int64(math.Floor(float64(at.UnixMicro()) * perSecond / 1e6))
}

// generated returns how many records the source made in (from, to].
func generated(perSecond float64, from, to time.Time) int {
	return int(max(0, made(perSecond, to)-made(perSecond, from)))
}

// settling is a tolerance at both ends of a query's life. Records made within it need not be in the answer, because
// the query and the records take time to arrive.
const settling = time.Second

// arrears is how long before a query's submission a record may have been scheduled and still be seen by the query. The
// source emits records late if Storm delays it, and reports them as lag.
const arrears = 5 * time.Second

// span is a range of a probe's sequence numbers, both ends included; empty if last < first.
type span struct{ first, last int64 }

func (s span) size() int { return int(max(0, s.last-s.first+1)) }

// without returns how many sequence numbers of the span are not in the given set.
func (s span) without(given map[int64]bool) (n int) {
	for k := s.first; k <= s.last; k++ {
		if !given[k] {
			n++
		}
	}
	return n
}

// residues returns how many sequence numbers of the span have the given remainder modulo modulus.
func (s span) residues(modulus, remainder int64) int {
	upTo := func(n int64) int64 { return (n - remainder + modulus) / modulus } // of 0..n, for n >= remainder-modulus
	if s.size() == 0 {
		return 0
	}
	return int(upTo(s.last) - upTo(s.first-1))
}

// spans returns the records that a query must have seen (expected) and those that it may have seen (possible).
func spans(perSecond float64, duration time.Duration, submitted, finished time.Time) (expected, possible span) {
	end := finished
	if over := submitted.Add(duration); over.Before(end) {
		end = over
	}
	expected = span{made(perSecond, submitted.Add(settling)) + 1, made(perSecond, end.Add(-settling))}
	possible = span{made(perSecond, submitted.Add(-arrears)) + 1, made(perSecond, finished)}
	return expected, possible
}
