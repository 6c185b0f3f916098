package measure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Fields of a record that hold its stages, in ms since the Unix epoch. The generator itself writes the first one: the
// time at which the record was scheduled. The others exist if the topology's settings name them
// (bullet.topology.source.*.field).
const (
	madeField     = "event_time_ms"
	kafkaField    = "kafka_received_ms"
	receivedField = "bullet_received_ms"
	filteredField = "bullet_filtered_ms"
)

// traceLead is the minimum time from a query's submission until a record is generated for it. It is long enough for a
// query to reach every filter bolt of a busy machine first.
const traceLead = 500 * time.Millisecond

// mostWithoutRecord is the number of consecutive queries without a record after which a probe stops.
const mostWithoutRecord = 10

// traceOptions configure the queries of a tracer.
type traceOptions struct {
	// Queries is the number of queries. They are spread evenly over Over, or take longer if the queries do.
	Queries int
	Over    time.Duration
	// Duration is the longest life of a query in the topology. Grace is how long after it the answer may arrive.
	Duration, Grace time.Duration
	// Generated means that each query looks for a record of Probe that is made after its submission; the source makes
	// PerSecond of them. Otherwise a query takes any record.
	Generated bool
	Probe     string
	PerSecond float64
}

// tracer follows records through Bullet. It runs queries for one record each, one after the other, and reads from each
// answer when the record and the query passed their stages. It is used once, by one goroutine.
type tracer struct {
	options traceOptions
	target  load.Submitter
	observe func(load.Outcome) // receives each query's outcome
}

// traceWarmUpPause is the interval between the queries of the warm-up.
const traceWarmUpPause = time.Second

// WarmUp runs queries of the same kind until a moment, and reports none of them, because the first ones load classes
// and open connections. Failures of the same kind show later in Run.
func (p *tracer) WarmUp(ctx context.Context, end time.Time) error {
	for time.Now().Before(end) {
		next := time.Now().Add(traceWarmUpPause)
		p.ask(ctx, -1)
		if next.After(end) {
			next = end
		}
		if !load.WaitUntil(ctx, next) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// Run runs the queries and returns the traces of those that found their record. The error states why Run stopped
// early: ctx ended, or too many consecutive queries found nothing.
func (p *tracer) Run(ctx context.Context) ([]tuning.Trace, error) {
	began := time.Now()
	traces, fruitless := []tuning.Trace{}, 0
	for i := range p.options.Queries {
		due := began.Add(p.options.Over * time.Duration(i) / time.Duration(p.options.Queries))
		if !load.WaitUntil(ctx, due) {
			return traces, context.Cause(ctx)
		}
		trace, outcome := p.ask(ctx, i)
		if ctx.Err() != nil {
			return traces, context.Cause(ctx)
		}
		p.observe(outcome)
		if trace != nil {
			traces, fruitless = append(traces, *trace), 0
			continue
		}
		if fruitless++; fruitless == mostWithoutRecord {
			return traces, fmt.Errorf("stopped after %d queries in a row without a record (%d queries found one): %s",
				mostWithoutRecord, len(traces), cmp.Or(outcome.Error, "they returned nothing"))
		}
	}
	return traces, nil
}

// ask runs one query. The trace is nil if the query found no record.
func (p *tracer) ask(ctx context.Context, number int) (*tuning.Trace, load.Outcome) {
	ctx, cancel := context.WithTimeout(ctx, p.options.Duration+p.options.Grace)
	defer cancel()
	submitted := time.Now()
	answer, err := p.target.Query(ctx, p.bql(submitted))
	finished := time.Now()
	outcome := load.Outcome{
		Class: load.Raw, Slot: number, Probe: p.options.Probe, IntendedMs: submitted.UnixMilli(),
		SubmittedMs: submitted.UnixMilli(), FinishedMs: finished.UnixMilli(),
		LatencyUs: finished.Sub(submitted).Microseconds(), End: load.Returned, Expected: 1, Missing: 1,
	}
	var at map[string]float64
	if err == nil {
		at, err = stagesOf(answer)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		outcome.End, outcome.Error = load.TimedOut, err.Error()
	case err != nil:
		outcome.End, outcome.Error, outcome.Refused = load.Failed, err.Error(), load.Refused(err)
	case at != nil:
		outcome.Records, outcome.Missing = 1, 0
		at[tuning.QuerySubmitted], at[tuning.QueryReturned] = fractionalMs(submitted), fractionalMs(finished)
		return &tuning.Trace{Query: number + 1, AtMs: at}, outcome
	}
	return nil, outcome
}

func fractionalMs(t time.Time) float64 { return float64(t.UnixMicro()) / 1000 }

// bql returns the text of a query that is submitted now. It asks for any record, or for the first record of the probe
// that is scheduled traceLead later.
func (p *tracer) bql(now time.Time) string {
	life := p.options.Duration.Milliseconds()
	if !p.options.Generated {
		return fmt.Sprintf("SELECT * FROM STREAM(%d, TIME) LIMIT 1", life)
	}
	// The source makes record k at k/PerSecond seconds since 1970 (io.github.bulletmetrics.topology.source.Share).
	due := float64(now.Add(traceLead).UnixMicro())
	return fmt.Sprintf("SELECT * FROM STREAM(%d, TIME) WHERE probe = '%s' AND probe_sequence = %d LIMIT 1", life,
		p.options.Probe, int64(math.Floor(due*p.options.PerSecond/1e6))+1)
}

// stagesOf returns the stages in an answer, in ms since the Unix epoch; nil if the answer has no record.
func stagesOf(answer load.Answer) (map[string]float64, error) {
	if len(answer.Records) == 0 {
		return nil, nil
	}
	var record map[string]json.RawMessage
	if err := json.Unmarshal(answer.Records[0], &record); err != nil {
		return nil, fmt.Errorf("the query's record: %w", err)
	}
	var meta struct {
		Query map[string]json.RawMessage
	}
	if err := json.Unmarshal(answer.Meta, &meta); err != nil {
		return nil, fmt.Errorf("the result's metadata: %w", err)
	}
	at := map[string]float64{}
	takeStages(at, record, map[string]string{tuning.RecordMade: madeField, tuning.KafkaReceived: kafkaField,
		tuning.BulletReceived: receivedField, tuning.BulletFiltered: filteredField})
	takeStages(at, meta.Query, map[string]string{tuning.QueryReceived: "Receive Time", tuning.QueryFinished: "Finish Time"})
	if _, known := at[tuning.QueryReceived]; !known {
		return nil, errors.New(
			"the metadata of the result do not contain the time at which the query was received; set bullet.result.metadata.enable to true and keep Bullet's metric names")
	}
	return at, nil
}

// takeStages copies the positive numbers among the named fields. Missing fields are skipped.
func takeStages(at map[string]float64, from map[string]json.RawMessage, stages map[string]string) {
	for stage, field := range stages {
		var v *float64
		if json.Unmarshal(from[field], &v) == nil && v != nil && *v > 0 {
			at[stage] = *v
		}
	}
}
