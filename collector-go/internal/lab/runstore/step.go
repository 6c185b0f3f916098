package runstore

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Step is trials/NN-label/steps/NN.json: one measured step with its verdict. It is written once and never changed;
// progress.jsonl has its checksum. Its measured time is (MeasuredFromMs, EndMs], in ms since the Unix epoch.
type Step struct {
	// Number counts the steps of the trial from 1, in the order in which they were run.
	Number int      `json:"number"`
	Kind   StepKind `json:"kind"`
	// Value is the step's position on the plan's axis. Attempt counts the measurements at that value in this trial
	// from 1.
	Value   float64 `json:"value"`
	Attempt int     `json:"attempt"`
	// Launch counts the launches of the trial's topology from 1. It is above 1 if the run was resumed during the
	// trial.
	Launch         int   `json:"launch"`
	StartMs        int64 `json:"start_ms"`
	MeasuredFromMs int64 `json:"measured_from_ms"`
	EndMs          int64 `json:"end_ms"`

	// Queries is the number of concurrent queries. QueriesPerSecond is null unless queries were started at a rate.
	Queries          int           `json:"queries"`
	QueriesPerSecond tuning.Figure `json:"queries_per_second"`
	// RecordsPerSecond is the emitted rate and RecordsPerSecondAsked the requested one. RecordsLag is the number of
	// records that were overdue at the end.
	RecordsPerSecond      tuning.Figure `json:"records_per_second"`
	RecordsPerSecondAsked tuning.Figure `json:"records_per_second_asked"`
	// MiBPerSecond comes from the bytes that the source counted. If the source does not count bytes, it is computed
	// from the stated mean size of a record, and MiBEstimated is true.
	MiBPerSecond tuning.Figure `json:"mib_per_second"`
	MiBEstimated bool          `json:"mib_per_second_estimated,omitempty"`
	RecordsLag   int64         `json:"records_lag"`
	// CatchUpRatio is the multiple of the step's rate that the topology took when it was offered more; null if it was
	// not.
	CatchUpRatio tuning.Figure `json:"catch_up_ratio"`

	Clients  Clients       `json:"clients"`
	HostIdle tuning.Figure `json:"host_idle"`
	Shares   []Share       `json:"shares"`
	// CPUCores is the sum over all workers; Workers is how many reported CPU. They are null and 0 if none did.
	CPUCores tuning.Figure `json:"cpu_cores"`
	Workers  int           `json:"workers"`

	// Figures are the figures that the goals were judged by.
	Figures []tuning.GoalOutcome `json:"figures"`
	Verdict tuning.Verdict       `json:"verdict"`
	Reasons []string             `json:"reasons"`
	Notes   []string             `json:"notes,omitempty"`
	// Evidence is the evidence for the limiter of the step; Limitation is the conclusion from it. Both are nil if none
	// was gathered.
	Evidence   *tuning.Evidence   `json:"evidence,omitempty"`
	Limitation *tuning.Limitation `json:"limitation,omitempty"`
	// Overdue is the number of the step's queries that had not ended when it was judged.
	Overdue int `json:"overdue_queries,omitempty"`
	// Timeline is the result of a timeline step.
	Timeline *tuning.Timeline `json:"timeline,omitempty"`
	// AddedDelayMs is the mean delay that Bullet adds according to the timeline.
	AddedDelayMs *tuning.Figure `json:"added_delay_ms,omitempty"`
	// FilterLatency holds the percentiles that the latency hook reported; Sharing is how resources were shared. Either
	// is nil if there are no figures.
	FilterLatency *Percentiles `json:"filter_latency,omitempty"`
	Sharing       *Sharing     `json:"sharing,omitempty"`
}

// Measured returns the values and verdicts of the steps that a capacity search considers: all but the cost steps.
func Measured(steps []Step) []tuning.Measured { return tuning.MeasuredOf(RunSteps(steps)) }

// Clients holds what the load client observed about a step's queries. A query belongs to the step if it was scheduled
// in the step and lived in its measured time, whenever it ended.
type Clients struct {
	Submitted int `json:"submitted"`
	Returned  int `json:"returned"`
	// Failed includes the queries that timed out and those that were Refused because the target was full (429, 503).
	Failed     int `json:"failed"`
	Refused    int `json:"refused"`
	Unfinished int `json:"unfinished"`
	CutOff     int `json:"cut_off"`
	// NotSubmitted is the number of scheduled queries for which the limit of queries in flight left no room.
	NotSubmitted      int           `json:"not_submitted"`
	AverageResultSize tuning.Figure `json:"average_result_size"`
	// GeneratedRecords is how many records matched the returned queries and were made during their lives. Of these,
	// ExpectedRecords had to come back, as far as that is known, and MissingRecords did not. ExpectedRecords is 0 if
	// nothing is known, and in older runs.
	GeneratedRecords int `json:"generated_records"`
	ExpectedRecords  int `json:"due_records"`
	MissingRecords   int `json:"missing_records"`
	RepeatedRecords  int `json:"repeated_records"`
	ForeignRecords   int `json:"foreign_records"`
	// Latencies count from the scheduled start of a query. LowerBounds is the number of queries without an answer
	// (timed out, unfinished, not submitted); their latencies are lower bounds.
	LatencyMeanMs tuning.Figure `json:"latency_mean_ms"`
	LatencyP50Ms  tuning.Figure `json:"latency_p50_ms"`
	LatencyP99Ms  tuning.Figure `json:"latency_p99_ms"`
	LowerBounds   int           `json:"latency_lower_bounds"`
	// LatenessP99Ms is how late the client itself started its queries.
	LatenessP99Ms tuning.Figure `json:"client_lateness_p99_ms"`
	// Hosts are the hosts of the load clients, in the order of their parts; empty if the run itself asked the queries.
	Hosts []ClientHost `json:"hosts,omitempty"`
}

// ClientHost describes the load client of one host in a step: its share of the queries, its lateness, and the CPU that
// it used of its limit over the measured time.
type ClientHost struct {
	Host          string        `json:"host"`
	Submitted     int           `json:"submitted"`
	NotSubmitted  int           `json:"not_submitted"`
	LatenessP99Ms tuning.Figure `json:"lateness_p99_ms"`
	CPUCores      tuning.Figure `json:"cpu_cores"`
	CPULimitCores tuning.Figure `json:"cpu_limit_cores"`
}

// Completeness returns the share of the due records that came back; unknown if no record was due.
func (c Clients) Completeness() tuning.Figure {
	if c.ExpectedRecords == 0 {
		return tuning.Unknown
	}
	return 1 - tuning.Figure(min(c.MissingRecords, c.ExpectedRecords))/tuning.Figure(c.ExpectedRecords)
}

// FailedShare returns the share of the scheduled queries without a valid answer: failed, refused, timed out,
// unfinished or not submitted. It is unknown if no query was scheduled.
func (c Clients) FailedShare() tuning.Figure {
	bad := c.Failed + c.Unfinished + c.NotSubmitted
	if bad+c.Returned == 0 {
		return tuning.Unknown
	}
	return tuning.Figure(bad) / tuning.Figure(bad+c.Returned)
}

// UnmarshalJSON sets figures that an older run's file does not have to unknown.
func (c *Clients) UnmarshalJSON(text []byte) error {
	type plain Clients
	u := tuning.Unknown
	*c = Clients{AverageResultSize: u, LatencyMeanMs: u, LatencyP50Ms: u, LatencyP99Ms: u, LatenessP99Ms: u}
	return json.Unmarshal(text, (*plain)(c))
}

// EverythingElse is the Process of the CPU share that none of the run's own processes used.
const EverythingElse = "everything else on the host"

// Share is a process' share of all the host's CPU over a step's measured time.
type Share struct {
	Process string        `json:"process"`
	Pid     int           `json:"pid,omitempty"`
	Ratio   tuning.Figure `json:"ratio"`
}

// Evidence returns the share for the evidence of a limiter.
func (s Share) Evidence() tuning.ProcessShare {
	return tuning.ProcessShare{Process: s.Process, Ratio: s.Ratio}
}

// Complete corrects the limitation of a step that met its goals. It sets the percentiles that the step was judged by
// and its volume, because older runs lack them. It never computes the verdict again. The verdict decided how the
// search continued, and nothing may contradict the run. The volume comes from the bytes that the source counted, or
// else it is an estimate from the stated record size.
func (s *Step) Complete() {
	if s.Limitation != nil && s.Verdict == tuning.OK {
		l := s.Limitation.OfOK() // older programs named a limiter
		s.Limitation = &l
	}
	if s.FilterLatency == nil {
		s.FilterLatency = percentilesOf(s.Figures)
	}
	if s.Evidence != nil && s.Evidence.Source.BytesPerSecond.Known() {
		s.MiBPerSecond, s.MiBEstimated = s.Evidence.Source.BytesPerSecond/(1<<20), false
		return
	}
	s.MiBEstimated = s.MiBPerSecond.Known()
}

// percentilesOf returns the percentiles of the filter latency among the outcomes of a step's goals, or nil if there are
// none. Older runs stored percentiles only in these outcomes.
func percentilesOf(outcomes []tuning.GoalOutcome) *Percentiles {
	p := Percentiles{Records: tuning.Unknown, P50Ms: tuning.Unknown, P95Ms: tuning.Unknown, P99Ms: tuning.Unknown}
	percentiles := map[tuning.Statistic]*tuning.Figure{tuning.P50: &p.P50Ms, tuning.P95: &p.P95Ms,
		tuning.P99: &p.P99Ms}
	found := false
	for _, o := range outcomes {
		at := percentiles[o.Goal.Statistic]
		if o.Goal.Figure == tuning.FilterLatency && at != nil && o.Measured.Known() {
			*at, found = o.Measured, true
		}
	}
	if !found {
		return nil
	}
	return &p
}

// Span is a range of time, (From, To] in ms since the Unix epoch. A slice belongs to the span in which it ends.
//
// The increase of a total in a span ends at the last slice within the span. It starts at the last slice that ended at
// or before From, if that is no older than staleAfter. Otherwise it starts at the first slice within the span.
type Span struct{ From, To int64 }

// staleAfter is the age up to which a slice counts as the current value.
const staleAfter = 90 * time.Second

// Seconds returns the length of the span.
func (p Span) Seconds() float64 { return float64(p.To-p.From) / 1000 }

// Within returns the indices [low, high) of the slices that end in the span.
func (p Span) Within(s Slices) (low, high int) {
	low, _ = slices.BinarySearch(s.TimesMs, p.From+1)
	high, _ = slices.BinarySearch(s.TimesMs, p.To+1)
	return low, high
}

// values returns the values of the slices that end in the span.
func (p Span) values(s Slices) []tuning.Figure {
	low, high := p.Within(s)
	return s.Values[low:high]
}

// Mean returns the mean of the slices; unknown if there are none.
func (p Span) Mean(s Slices) tuning.Figure { return Average(p.values(s)) }

// Most returns the largest value of the slices; unknown if there are none.
func (p Span) Most(s Slices) tuning.Figure {
	return tuning.Largest(p.values(s))
}

// First returns the value of the first slice; unknown if there is none.
func (p Span) First(s Slices) tuning.Figure {
	if all := p.values(s); len(all) > 0 {
		return all[0]
	}
	return tuning.Unknown
}

// Last returns the value of the last slice; unknown if there is none.
func (p Span) Last(s Slices) tuning.Figure {
	if all := p.values(s); len(all) > 0 {
		return all[len(all)-1]
	}
	return tuning.Unknown
}

// edges returns the indices of the slices between which a total increases in the span; ok is false if there are not
// two.
func (p Span) edges(s Slices) (first, last int, ok bool) {
	low, high := p.Within(s)
	if low > 0 && p.From-s.TimesMs[low-1] <= staleAfter.Milliseconds() {
		low--
	}
	return low, high - 1, high-low >= 2
}

// Increase returns the increase of a total. A total that began in the span is counted from its first slice, so an
// increase from 0 counts only if that slice was 0.
func (p Span) Increase(s Slices) tuning.Figure {
	first, last, ok := p.edges(s)
	if !ok {
		return tuning.Unknown
	}
	return s.Values[last] - s.Values[first]
}

// Rate returns the increase of a total per second, over the part of the span that its slices cover.
func (p Span) Rate(s Slices) tuning.Figure {
	first, last, ok := p.edges(s)
	if !ok {
		return tuning.Unknown
	}
	return (s.Values[last] - s.Values[first]) * 1000 / tuning.Figure(s.TimesMs[last]-s.TimesMs[first])
}

// Increases returns the sum of the known increases of several totals; unknown if none is known.
func (p Span) Increases(all []Slices) tuning.Figure {
	return Total(slices.DeleteFunc(tuning.Each(all, p.Increase), func(f tuning.Figure) bool { return !f.Known() }))
}

// Slope returns the increase of a gauge per second, by least squares.
func (p Span) Slope(s Slices) tuning.Figure {
	low, high := p.Within(s)
	var x, y []float64
	for i := low; i < high; i++ {
		if s.Values[i].Known() {
			x, y = append(x, float64(s.TimesMs[i]-p.From)/1000), append(y, float64(s.Values[i]))
		}
	}
	return tuning.FitLine(x, y, tuning.DefaultConfidence).Slope
}

// ValueAt returns the value of the slice that ends at a time, or of the last slice before it if that is no older than
// staleAfter.
func (s Slices) ValueAt(at int64) tuning.Figure {
	i, found := slices.BinarySearch(s.TimesMs, at)
	if !found {
		i--
	}
	if i < 0 || at-s.TimesMs[i] > staleAfter.Milliseconds() {
		return tuning.Unknown
	}
	return s.Values[i]
}

// Average returns the mean of the known values; unknown if none is known.
func Average(values []tuning.Figure) tuning.Figure {
	sum, known := tuning.Figure(0), 0
	for _, v := range values {
		if v.Known() {
			sum, known = sum+v, known+1
		}
	}
	return sum / tuning.Figure(known)
}

// Slices is a series as the collector stored it. Times are the ends of slices in ms since the Unix epoch, ascending. A
// missing time is a gap.
type Slices struct {
	TimesMs []int64         `json:"times_ms"`
	Values  []tuning.Figure `json:"values"`
}

// At returns the value of the slice that ends at timeMs; unknown if there is none.
func (s Slices) At(timeMs int64) tuning.Figure {
	i, found := slices.BinarySearch(s.TimesMs, timeMs)
	if !found {
		return tuning.Unknown
	}
	return s.Values[i]
}

// Rise returns the increase of a total in (timeMs-widthMs, timeMs]; unknown if a slice is missing at either end.
func (s Slices) Rise(timeMs, widthMs int64) tuning.Figure { return s.At(timeMs) - s.At(timeMs-widthMs) }

// joined returns an earlier series followed by a later one.
func joined(earlier, later Slices) Slices {
	return Slices{
		TimesMs: append(slices.Clone(earlier.TimesMs), later.TimesMs...),
		Values:  append(slices.Clone(earlier.Values), later.Values...),
	}
}

// continued is joined for a total, which continues from its earlier value.
func continued(earlier, later Slices) Slices { return joined(earlier, later.raised(earlier)) }

// raised returns a total that continues from the last value of an earlier one.
func (s Slices) raised(earlier Slices) Slices {
	if len(earlier.Values) == 0 {
		return s
	}
	out := Slices{TimesMs: s.TimesMs, Values: slices.Clone(s.Values)}
	for i := range out.Values {
		out.Values[i] += earlier.Values[len(earlier.Values)-1]
	}
	return out
}

// DataVolume is the rate of data that a topology took, averaged over the measured time of a test. Unknown rates are
// null.
type DataVolume struct {
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
	MiBPerSecond     tuning.Figure `json:"mib_per_second"`
}

// AverageVolume returns the mean over steps, weighted by their measured time. Steps without a known rate are left out.
func AverageVolume(steps []Step) DataVolume {
	return DataVolume{
		RecordsPerSecond: overTime(steps, func(s Step) tuning.Figure { return s.RecordsPerSecond }),
		MiBPerSecond:     overTime(steps, func(s Step) tuning.Figure { return s.MiBPerSecond }),
	}
}

// overTime returns the mean of a figure weighted by measured time; NaN if no step has the figure.
func overTime(steps []Step, figure func(Step) tuning.Figure) tuning.Figure {
	sum, ms := tuning.Figure(0), tuning.Figure(0)
	for _, s := range steps {
		if v, lasted := figure(s), tuning.Figure(s.EndMs-s.MeasuredFromMs); v.Known() && lasted > 0 {
			sum, ms = sum+v*lasted, ms+lasted
		}
	}
	return sum / ms
}

// Volume returns the average over all steps of the run.
func (r *Run) Volume() DataVolume {
	return AverageVolume(slices.Concat(tuning.Each(r.Trials, func(t Trial) []Step { return t.Steps })...))
}

// Volume returns the data volume of the plan, such as "68,400 records/s, 120.2 MiB/s". It is "" if the run itself
// finds the record rate.
func (p Plan) Volume() string {
	low, high := p.Load.RecordsPerSecond, p.Load.RecordsPerSecond
	if p.Axis == RecordsPerSecond {
		low, high = tuning.Unknown, tuning.Unknown
		if values := p.StepValues(); len(values) > 0 {
			low, high = tuning.Figure(slices.Min(values)), tuning.Figure(slices.Max(values))
		}
	}
	if !low.Known() {
		return ""
	}
	text := span(low, high, "records/s")
	if bytes := p.Load.MeanRecordBytes; bytes.Known() {
		text += ", " + span(low*bytes/(1<<20), high*bytes/(1<<20), "MiB/s") + fmt.Sprintf(" (%s bytes a record)",
			tuning.Digits(bytes))
	}
	return text
}

func span(low, high tuning.Figure, unit string) string {
	if low == high {
		return tuning.Digits(low) + " " + unit
	}
	return fmt.Sprintf("%s to %s %s", tuning.Digits(low), tuning.Digits(high), unit)
}

// Percentiles are the percentiles of the filter latency in a step's measured time, in ms. They come from the latency
// hook's histogram over all filter tasks.
type Percentiles struct {
	Records tuning.Figure `json:"records"` // number of measured records
	P50Ms   tuning.Figure `json:"p50_ms"`
	P95Ms   tuning.Figure `json:"p95_ms"`
	P99Ms   tuning.Figure `json:"p99_ms"`
	// Spectrum holds the percentiles of SpectrumShares, in ms; older runs do not have it.
	Spectrum []tuning.Figure `json:"spectrum_ms,omitempty"`
}

// SpectrumShares are the shares of records to which the latencies in Percentiles.Spectrum belong.
var SpectrumShares = []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999}

// Placement states where a topology's tasks ran.
type Placement struct {
	Workers []PlacedWorker `json:"workers"`
	// Unplaced are tasks whose worker the collector does not know.
	Unplaced []PlacedTasks `json:"unplaced,omitempty"`
}

// PlacedWorker is a worker with the tasks that it ran.
type PlacedWorker struct {
	Worker     string        `json:"worker"`
	Host       string        `json:"host"`
	Components []PlacedTasks `json:"components"`
}

// PlacedTasks is a number of tasks of one component.
type PlacedTasks struct {
	Component string `json:"component"`
	Tasks     int    `json:"tasks"`
}

// Sharing states how components and workers shared resources in a step's measured time.
type Sharing struct {
	Components []ComponentFlow `json:"components"`
	// Traffic lists the traffic between workers, most first.
	Traffic []Traffic `json:"traffic"`
	// TrafficLeftOut is the number of pairs that are not in Traffic, because others had more traffic.
	TrafficLeftOut int `json:"traffic_left_out,omitempty"`
}

// ComponentFlow states how long a tuple waited for a component's tasks and how long it then took, as means over its
// tuples.
type ComponentFlow struct {
	Component       string        `json:"component"`
	TuplesPerSecond tuning.Figure `json:"executed_per_second"`
	// QueueWaitMs is the time in the tasks' receive queues, which Storm computes from queue size and arrival rate.
	// QueueWaitMostMs is that of the task with the longest wait. Both are unknown for a spout, which receives acks,
	// and for few tuples.
	QueueWaitMs     tuning.Figure `json:"queue_wait_ms"`
	QueueWaitMostMs tuning.Figure `json:"queue_wait_most_ms"`
	// ExecuteMs is the time of a tuple in execute(); unknown if Storm's own figure is too coarse.
	ExecuteMs tuning.Figure `json:"execute_ms"`
	// Note states why a figure is unknown.
	Note string `json:"note,omitempty"`
}

// Traffic is the message rate from one worker to another.
type Traffic struct {
	From string `json:"from"`
	// To is "" if Storm reported only the traffic to all other workers together.
	To                string        `json:"to,omitempty"`
	MessagesPerSecond tuning.Figure `json:"messages_per_second"`
}

// Annotation is a collector's annotation on the topology's time axis (docs/annotations.md).
type Annotation struct {
	ID      string `json:"id"`
	StartMs int64  `json:"start_ms"`
	// EndMs is 0 for an annotation that is a moment or still open.
	EndMs int64    `json:"end_ms,omitempty"`
	Title string   `json:"title"`
	Text  string   `json:"text"`
	Tags  []string `json:"tags"`
	// Origin states who made it: "registry" (the collector itself), "stream" or "api".
	Origin string `json:"origin"`
}
