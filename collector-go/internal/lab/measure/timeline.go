package measure

import (
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// timeline runs the probe of a timeline step. It runs uncounted queries during the warm-up and then the counted ones.
// It ends with the last query, which may be after the step's end. Errors are noted in the step. It may run
// concurrently with the load of the step, because it writes only fields that nobody else writes meanwhile.
func (s *Session) timeline(step *runstore.Step, measured, end time.Time) {
	asked := s.o.Plan.Load
	generated := asked.TimelineRecords == runstore.GeneratedRecords
	prober, err := newTracer(traceOptions{
		Queries: asked.TimelineQueries, Over: end.Sub(measured), Duration: load.DurationOf(asked.QueryDurationMs),
		Grace:     load.DefaultClosedOptions().Grace,
		Generated: generated, Probe: load.ProbeValue(0), PerSecond: float64(asked.MatchingPerSecond),
	}, s.ports.Queries, s.observe)
	var traces []tuning.Trace
	if err == nil {
		err = prober.WarmUp(s.ctx, measured)
	}
	if err == nil {
		traces, err = prober.Run(s.ctx)
	}
	if s.ctx.Err() != nil {
		return
	}
	if err != nil {
		step.Notes = append(step.Notes, fmt.Sprintf("the timeline is incomplete: %v", err))
	}
	t := tuning.TimelineOf(traces, asked.TimelineQueries, generated, s.clocks())
	s.addClocks(&t, measured)
	step.Timeline = &t
	step.AddedDelayMs = &t.AddedDelay.Value
}

// Names of the clocks that stamp the stages, by role. Two workers may share the clock of one machine, and a bolt may
// run on many machines.
const (
	clientClock = "this host"
	makerClock  = "the record's maker"
	brokerClock = "the broker"
	sourceClock = "the source's worker"
	filterClock = "the filter bolt's worker"
	joinClock   = "the join bolt's worker"
)

// local reports whether everything runs on this machine, with one clock.
func (s *Session) local() bool { return s.o.Plan.Launch == "local" }

// clocks returns the clock of each stage. In a local launch this host makes the records.
func (s *Session) clocks() map[string]string {
	clocks := map[string]string{
		tuning.RecordMade: makerClock, tuning.KafkaReceived: brokerClock, tuning.BulletReceived: sourceClock,
		tuning.BulletFiltered: filterClock, tuning.QueryReceived: joinClock, tuning.QueryFinished: joinClock,
		tuning.QuerySubmitted: clientClock, tuning.QueryReturned: clientClock,
	}
	if s.local() {
		clocks[tuning.RecordMade] = clientClock
	}
	return clocks
}
