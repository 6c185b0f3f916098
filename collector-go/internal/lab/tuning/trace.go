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

// Stages of a record in Bullet, with the names of "Tuning and Performance of Bullet in Storm".
const (
	KafkaReceived  = "Kafka Received"
	BulletReceived = "Bullet Received"
	BulletFiltered = "Bullet Filtered"
	QueryReceived  = "Query Received"
	QueryFinished  = "Query Finished"
)

// Stage is when records reached a stage, relative to Query Received, over all queries; negative means before it.
type Stage struct {
	Name string `json:"stage"`
	// Host is the clock that stamped the stage, "" if unknown. The difference between stages of two hosts includes the
	// skew of their clocks.
	Host  string `json:"host,omitempty"`
	Count int    `json:"count"`
	// Mean, standard deviation, extremes and percentiles of the delays, in ms.
	MeanMs      Figure `json:"mean_ms"`
	DeviationMs Figure `json:"standard_deviation_ms"`
	LeastMs     Figure `json:"least_ms"`
	MedianMs    Figure `json:"median_ms"`
	P95Ms       Figure `json:"p95_ms"`
	MostMs      Figure `json:"most_ms"`
}

// Timeline is the result for the records that a number of queries looked for.
type Timeline struct {
	// Queries is how many queries were run; Returned is how many of them found their record.
	Queries  int     `json:"queries"`
	Returned int     `json:"returned"`
	Stages   []Stage `json:"stages"`
	// AddedDelay is the delay that Bullet adds, from when record and query have met to the answer. FindTime is the
	// time to find a record that was generated for the query; unknown if the records were there already. Both are
	// means with their confidence interval.
	AddedDelay Estimate `json:"added_delay_ms"`
	FindTime   Estimate `json:"find_time_ms"`
	Skews      []Skew   `json:"skews"`
	// Hosts are those that the topology's workers ran on.
	Hosts []HostClock `json:"hosts,omitempty"`
	Notes []string    `json:"notes"`
	// Traces are the raw data: one for each query that found its record.
	Traces []Trace `json:"journeys,omitempty"`
}

// Skew is how far the clock To is ahead of the clock From, between LeastMs and MostMs. A side without a bound is
// unknown. It is shown next to delays and never subtracted from them.
type Skew struct {
	From    string `json:"from"`
	To      string `json:"to"`
	LeastMs Figure `json:"least_ms"`
	MostMs  Figure `json:"most_ms"`
	Method  string `json:"method"`
	// FromClocks and ToClocks are how many hosts' clocks share the names, 0 if unknown. Bounds over several clocks
	// hold for no single pair of them.
	FromClocks int `json:"from_clocks,omitempty"`
	ToClocks   int `json:"to_clocks,omitempty"`
}

// Excludes0 reports whether the two clocks certainly differ.
func (s Skew) Excludes0() bool { return s.LeastMs > 0 || s.MostMs < 0 }

// stampResolutionMs is how much earlier than the truth a stamp may be: most are truncated to whole milliseconds.
const stampResolutionMs = 1

// skews bounds each clock against the client's, and each against the previous one on the record's path, by causality.
// If an effect seems to follow its cause at once, or even to precede it, that bounds how far one clock can be ahead.
// The fastest of many records gives the tightest bound.
func skews(traces []Trace, clocks map[string]string) []Skew {
	all := []Skew{}
	add := func(from, to string) {
		known := slices.ContainsFunc(all, func(s Skew) bool {
			return s.From == from && s.To == to || s.From == to && s.To == from
		})
		if from == "" || to == "" || from == to || known {
			return
		}
		if s := bound(traces, clocks, from, to); s.LeastMs.Known() || s.MostMs.Known() {
			all = append(all, s)
		}
	}
	for _, stage := range Stages {
		add(clocks[QuerySubmitted], clocks[stage])
	}
	way := []string{RecordMade, KafkaReceived, BulletReceived, BulletFiltered, QueryFinished}
	for i := range way[1:] {
		add(clocks[way[i]], clocks[way[i+1]])
	}
	return all
}

func bound(traces []Trace, clocks map[string]string, from, to string) Skew {
	least, most, records := math.Inf(-1), math.Inf(1), 0
	for _, j := range traces {
		used := false
		for _, earlier := range Stages {
			for _, later := range after(earlier) {
				d := j.Since(earlier, later)
				if !d.Known() {
					continue
				}
				switch {
				case clocks[earlier] == from && clocks[later] == to:
					most, used = min(most, float64(d)+stampResolutionMs), true
				case clocks[earlier] == to && clocks[later] == from:
					least, used = max(least, -float64(d)-stampResolutionMs), true
				}
			}
		}
		if used {
			records++
		}
	}
	known := func(v float64) Figure {
		if math.IsInf(v, 0) {
			return Unknown
		}
		return Figure(v)
	}
	return Skew{From: from, To: to, LeastMs: known(least), MostMs: known(most),
		Method: fmt.Sprintf("the order of cause and effect in %d records", records)}
}

// HostClock is what the collector knows about the clock of a host that ran workers. A reading is how far the time of a
// worker's newest sample was ahead of the collector's clock on arrival, in ms. A sample ages in transit, so the clock
// is ahead by at least each reading, and the highest reading is the closest.
type HostClock struct {
	Host     string `json:"host"`
	Workers  int    `json:"workers"`
	Readings int    `json:"readings"`
	// AheadMs is the highest reading, LowestMs the lowest.
	AheadMs     Figure `json:"ahead_at_least_ms"`
	MeanMs      Figure `json:"mean_ms"`
	DeviationMs Figure `json:"standard_deviation_ms"`
	LowestMs    Figure `json:"lowest_ms"`
}

// HostClockOf combines the readings of a host's workers; ok is false if there are none.
func HostClockOf(host string, workers int, readings []Figure) (clock HostClock, ok bool) {
	known := floatsOf(readings)
	if len(known) == 0 {
		return HostClock{}, false
	}
	slices.Sort(known)
	clock = HostClock{Host: host, Workers: workers, Readings: len(known), AheadMs: Figure(known[len(known)-1]),
		LowestMs: Figure(known[0]),
		MeanMs:   Figure(stat.Mean(known, nil)), DeviationMs: Figure(stat.StdDev(known, nil))}
	return clock, true
}

// Apart returns the apparent distance between the hosts' clocks in ms, from their highest readings. Its error is the
// difference between the transit times of the fastest samples. It is unknown for fewer than two hosts.
func Apart(hosts []HostClock) Figure {
	if len(hosts) < 2 {
		return Unknown
	}
	ahead := Each(hosts, func(h HostClock) Figure { return h.AheadMs })
	return slices.Max(ahead) - slices.Min(ahead)
}

// Empty reports whether no skew satisfies the bounds. They then do not belong to one undisturbed pair of clocks.
func (s Skew) Empty() bool { return s.LeastMs > s.MostMs }

// Clocks maps a role to the number of hosts whose clocks stamp it. A missing role counts as one clock.
type Clocks map[string]int

// Flag sets for each skew how many clocks it mixes. It returns notes about skews that mix clocks, contradict
// themselves or exclude 0.
func (c Clocks) Flag(all []Skew) (notes []string) {
	for i := range all {
		s := &all[i]
		s.FromClocks, s.ToClocks = c[s.From], c[s.To]
		several := s.FromClocks > 1 || s.ToClocks > 1
		switch {
		case several && s.Empty():
			notes = append(notes, fmt.Sprintf("No single skew between %s and %s fits all records (at least %s ms, at most %s ms), because these are several clocks: %s and %s.",
				s.From, s.To, Digits(s.LeastMs), Digits(s.MostMs), clocksText(s.FromClocks), clocksText(s.ToClocks)))
		case several:
			notes = append(notes, fmt.Sprintf("The bounds for %s and %s cover several clocks together (%s and %s). Single pairs may differ, and their bounds may be wider.",
				s.From, s.To, clocksText(s.FromClocks), clocksText(s.ToClocks)))
		case s.Empty():
			notes = append(notes, fmt.Sprintf("The bounds for %s and %s contradict each other (at least %s ms, at most %s ms). Either there are further clocks, or a clock was set during the measurement.",
				s.From, s.To, Digits(s.LeastMs), Digits(s.MostMs)))
		case s.Excludes0():
			notes = append(notes, fmt.Sprintf("The clocks of %s and %s certainly differ. The delays between their stages are wrong by that difference.",
				s.From, s.To))
		}
	}
	return notes
}

func clocksText(n int) string {
	if n <= 1 {
		return "one clock"
	}
	return fmt.Sprintf("those of %d hosts", n)
}
