package load

import (
	"fmt"
	"strings"
	"time"
)

// Class is a kind of query, by what the topology keeps for it. The names are those of Bullet's AggregationType, in
// small letters, and the values of the label "class".
type Class string

// The classes.
const (
	Raw           Class = "raw"
	GroupBy       Class = "group"
	CountDistinct Class = "count_distinct"
	Distribution  Class = "distribution"
	TopK          Class = "top_k"
)

// Classes lists all classes.
func Classes() []Class { return []Class{Raw, GroupBy, CountDistinct, Distribution, TopK} }

// ParseClass takes a class' name, in any case, with - for _.
func ParseClass(text string) (Class, error) {
	name := Class(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), "-", "_"))
	names := make([]string, 0, len(Classes()))
	for _, class := range Classes() {
		if class == name {
			return class, nil
		}
		names = append(names, string(class))
	}
	return "", fmt.Errorf("no class of queries is called %q; there are %s", text, strings.Join(names, ", "))
}

// Query is a query that a client submits repeatedly, each time for the records of one probe, together with the check of
// its answers. Implementations are immutable values and safe for concurrent use.
type Query interface {
	Class() Class
	// BQL is the query's text for one probe.
	BQL(probe string) string
	// Life is the longest that the query lives in the topology.
	Life() time.Duration
	// ProbeRate is how many records a second a probe must have for Check to say anything.
	ProbeRate() float64
	// Check compares an answer with what the record source generated between the query's submission and its end. An
	// error means that the answer cannot be read as one of this class.
	Check(answer Answer, probe string, submitted, finished time.Time) (Check, error)
	// Validate reports which parameter makes no sense.
	Validate() error
}

// Check is the comparison of an answer with the generated records. For an answer of sums and counts, "records" means
// the records that these account for.
type Check struct {
	// Records is how many records the answer holds or accounts for.
	Records int
	// Due is how many records the answer had to have at least.
	Due int
	// Missing are due and not there; Repeated are there more than once, or more than were made; Foreign should not be
	// there.
	Missing, Repeated, Foreign int
}

// Parameters are what the classes leave open.
type Parameters struct {
	// Limit is the most records of a RAW answer, the groups of a GROUP BY, the ranges of a DISTRIBUTION and the K of a
	// TOP K; 0 for the class' own default.
	Limit int
	// Duration is the longest that a query lives in the topology; 0 for 30 s.
	Duration time.Duration
	// PerSecond is the rate of a probe's records; 0 for the class' own default.
	PerSecond float64
	// NoSource states that nobody makes matching records, so that nothing is known of completeness.
	NoSource bool
	// Text is somebody's own BQL, asked instead of the class' query; completeness is then judged by Expect alone.
	Text   string
	Expect Expectation
}

// NewQuery returns the query of a class, checked.
func NewQuery(class Class, p Parameters) (Query, error) {
	if p.Duration == 0 {
		p.Duration = DefaultRawQuery().Duration
	}
	if p.Text != "" {
		query := TextQuery{Of: class, Text: p.Text, Duration: p.Duration, Expect: p.Expect}
		return query, query.Validate()
	}
	var query Query
	switch class {
	case Raw:
		raw := DefaultRawQuery()
		query = RawQuery{Limit: or(p.Limit, raw.Limit), Duration: p.Duration, PerSecond: p.rate(raw.PerSecond)}
	case GroupBy:
		query = GroupByQuery{Groups: or(p.Limit, 4), Aggregate: aggregate(p)}
	case CountDistinct:
		query = CountDistinctQuery{aggregate(p)}
	case Distribution:
		query = DistributionQuery{Points: or(p.Limit, 10), Aggregate: aggregate(p)}
	case TopK:
		query = TopKQuery{K: or(p.Limit, 3), Aggregate: aggregate(p)}
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
	return or(p.PerSecond, otherwise)
}

func or[T int | float64](given, otherwise T) T {
	if given == 0 {
		return otherwise
	}
	return given
}

// Probes are the record streams that n slots need for a query.
func Probes(query Query, n int) []Probe { return ProbesNamed("", query, n) }

// ProbesNamed are Probes whose values begin with prefix; "" for "probe".
func ProbesNamed(prefix string, query Query, n int) []Probe {
	probes := make([]Probe, n)
	for slot := range probes {
		probes[slot] = Probe{Value: probeValue(prefix, slot), PerSecond: query.ProbeRate()}
	}
	return probes
}
