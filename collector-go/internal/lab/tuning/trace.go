package tuning

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Further stages that the document does not name: the maker of the record, and the client that submits the query.
const (
	RecordMade     = "Record Made"
	QuerySubmitted = "Query Submitted"
	QueryReturned  = "Query Returned"
)

// Stages are all stages, the record's first, in the order of display.
var Stages = []string{RecordMade, KafkaReceived, BulletReceived, BulletFiltered, QuerySubmitted, QueryReceived,
	QueryFinished, QueryReturned}

// follows lists the stages that cannot happen before a stage, whatever the clocks say. Two cases are missing on
// purpose. A record may be filtered before the join bolt has the query, and a record that waits in Kafka is older than
// its query.
var follows = map[string][]string{
	RecordMade:     {KafkaReceived},
	KafkaReceived:  {BulletReceived},
	BulletReceived: {BulletFiltered},
	BulletFiltered: {QueryFinished},
	QuerySubmitted: {QueryReceived, BulletFiltered},
	QueryReceived:  {QueryFinished},
	QueryFinished:  {QueryReturned},
}

// after returns all stages that cannot happen before one: the transitive closure of follows.
func after(stage string) (all []string) {
	for _, next := range follows[stage] {
		all = Union(Union(all, next), after(next)...)
	}
	return all
}

// Trace is one query that found its record. It holds when each stage was reached, in ms since the Unix epoch, by the
// clock that stamped it. Stages without a stamp are missing.
type Trace struct {
	Query int                `json:"query"`
	AtMs  map[string]float64 `json:"at_ms"`
}

// Since returns the time from one stage to another; unknown if either is missing. It is negative if the second came
// first.
func (j Trace) Since(from, to string) Figure {
	a, known := j.AtMs[from]
	b, also := j.AtMs[to]
	if !known || !also {
		return Unknown
	}
	return Figure(b - a)
}

// Added returns the delay that Bullet adds. It is the time to Query Finished from the later of Query Received and
// Bullet Filtered, when record and query have met. Without a stamp for Bullet Filtered it counts from Query Received.
func (j Trace) Added() Figure {
	fromQuery, fromRecord := j.Since(QueryReceived, QueryFinished), j.Since(BulletFiltered, QueryFinished)
	if !fromRecord.Known() {
		return fromQuery
	}
	return min(fromQuery, fromRecord)
}

// TimelineOf combines traces. clocks names the clock that stamps each stage; queries is the number of queries that
// were run. generated states that each record was made after its query was submitted. Only then is there a time to
// find it, from Bullet Received (else Kafka Received) to Query Finished.
func TimelineOf(traces []Trace, queries int, generated bool, clocks map[string]string) Timeline {
	t := Timeline{Queries: queries, Returned: len(traces), Traces: traces, Stages: []Stage{},
		FindTime: noEstimate(), Skews: skews(traces, clocks), Notes: []string{}}
	for _, name := range Stages {
		t.Stages = append(t.Stages, stageOf(name, clocks[name], delays(traces, func(j Trace) Figure {
			return j.Since(QueryReceived, name)
		})))
	}
	t.AddedDelay = meanOf(delays(traces, Trace.Added))
	if t.count(BulletFiltered) == 0 {
		t.AddedDelay.Note = join(t.AddedDelay.Note, "from Query Received, because there is no time of Bullet Filtered")
	}
	if generated {
		t.FindTime = t.findTime()
	}
	if lost := queries - len(traces); lost > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d of %d queries returned without a record. They do not count in the delays.",
			lost, queries))
	}
	return t
}

func (t Timeline) findTime() Estimate {
	from := BulletReceived
	if t.count(from) == 0 {
		from = KafkaReceived
	}
	e := meanOf(delays(t.Traces, func(j Trace) Figure { return j.Since(from, QueryFinished) }))
	e.Note = join("from "+from, e.Note)
	return e
}

func (t Timeline) count(stage string) int {
	s, _ := First(t.Stages, func(s Stage) bool { return s.Name == stage })
	return s.Count
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// delays returns the known delays in ascending order.
func delays(traces []Trace, of func(Trace) Figure) []float64 {
	return slices.Sorted(slices.Values(floatsOf(Each(traces, of))))
}

func stageOf(name, host string, sorted []float64) Stage {
	s := unmeasured[Stage]()
	if s.Name, s.Host, s.Count = name, host, len(sorted); len(sorted) == 0 {
		return s
	}
	s.MeanMs, s.LeastMs, s.MostMs = Figure(stat.Mean(sorted, nil)), Figure(sorted[0]), Figure(sorted[len(sorted)-1])
	s.MedianMs, s.P95Ms = Figure(stat.Quantile(0.5, stat.Empirical, sorted, nil)),
		Figure(stat.Quantile(0.95, stat.Empirical, sorted, nil))
	s.DeviationMs = Figure(stat.StdDev(sorted, nil)) // unknown for a single delay
	return s
}

// meanOf returns the mean with its confidence interval by Student's t.
func meanOf(values []float64) Estimate {
	e := noEstimate()
	switch n := float64(len(values)); {
	case n == 0:
		e.Note = "no query found a record"
	case n == 1:
		e.Value, e.Note = Figure(values[0]), "one query only"
	default:
		mean, deviation := stat.MeanStdDev(values, nil)
		half := quantile(DefaultConfidence, n-1) * deviation / math.Sqrt(n)
		e.Value, e.Low, e.High = Figure(mean), Figure(mean-half), Figure(mean+half)
	}
	return e
}
