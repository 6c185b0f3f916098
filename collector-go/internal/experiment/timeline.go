package experiment

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/probe"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// timeline runs the probe of a timeline step: in its warm-up queries that are not counted, then those that are. It ends with the last query, which may be after the step's end.
// What went wrong is noted in the step.
func (s *Session) timeline(step *rundir.Step, measured, end time.Time) {
	asked := s.o.Plan.Load
	generated := asked.TimelineRecords == rundir.GeneratedRecords
	prober, err := probe.New(probe.Options{
		Queries: asked.TimelineQueries, Over: end.Sub(measured), Duration: milliseconds(asked.QueryDurationMs), Grace: load.DefaultHeldOptions().Grace,
		Generated: generated, Probe: load.ProbeValue(0), PerSecond: float64(asked.MatchingPerSecond),
	}, s.asked, s.runner.observe)
	var journeys []tuning.Journey
	if err == nil {
		err = prober.WarmUp(s.ctx, measured)
	}
	if err == nil {
		journeys, err = prober.Run(s.ctx)
	}
	if s.ctx.Err() != nil {
		return
	}
	if err != nil {
		step.Notes = append(step.Notes, fmt.Sprintf("the timeline is not whole: %v", err))
	}
	t := tuning.TimelineOf(journeys, asked.TimelineQueries, generated, s.clocks())
	t.Notes = append(t.Notes, s.noteClocks(t.Skews)...)
	t.Skews = append(t.Skews, s.workersSkew()...)
	if step.Timeline, err = json.Marshal(t); err != nil {
		step.Notes = append(step.Notes, fmt.Sprintf("the timeline was not kept: %v", err))
	}
	step.AddedDelayMs = &t.AddedDelay.Value
}

// The clocks that stamp stages. Those of two workers may be one machine's.
const (
	clientClock = "this host"
	makerClock  = "the record's maker"
	brokerClock = "the broker"
	sourceClock = "the source's worker"
	filterClock = "the filter bolt's worker"
	joinClock   = "the join bolt's worker"
)

func (s *Session) local() bool { return s.o.Plan.Launch == "local" }

// clocks are those of the stages. A local launch makes its records on this host.
func (s *Session) clocks() map[string]string {
	clocks := map[string]string{
		tuning.RecordMade: makerClock, tuning.KafkaReceived: brokerClock, tuning.BulletReceived: sourceClock, tuning.BulletFiltered: filterClock,
		tuning.QueryReceived: joinClock, tuning.QueryFinished: joinClock, tuning.QuerySubmitted: clientClock, tuning.QueryReturned: clientClock,
	}
	if s.local() {
		clocks[tuning.RecordMade] = clientClock
	}
	return clocks
}

func (s *Session) noteClocks(skews []tuning.Skew) (notes []string) {
	for _, skew := range skews {
		if skew.Excludes0() {
			notes = append(notes, fmt.Sprintf("The clocks of %s and %s are apart for certain: delays between their stages are wrong by that much.", skew.From, skew.To))
		}
	}
	if s.local() {
		notes = append(notes, "All parts ran on this machine, by one clock. That the bounds of its skew hold 0 shows only that the stamps are in order.")
	}
	return notes
}

// workersSkew is what the collector knows of its workers' clocks: how far the times of their samples are ahead of its own when they come. On
// its way a sample grows older, so that no clock is less ahead than that.
func (s *Session) workersSkew() []tuning.Skew {
	if s.ports.Calculator == nil {
		return nil
	}
	least, err := s.ports.Calculator.Calculate(s.ctx, fmt.Sprintf("1000 * min(%s)", s.runner.options.selector(collectionSkew)), time.Now())
	if err != nil || !least.Known() {
		return nil
	}
	return []tuning.Skew{{From: "the collector's host", To: "the workers", LeastMs: least, MostMs: tuning.Unknown, Method: "the times of their samples when these came (" + collectionSkew + ")"}}
}

// collectionSkew is the collector's own figure of each worker's clock (proto/METRICS.md).
const collectionSkew = "bullet_metrics_collection_skew_seconds"
