package load

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

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
