package measure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
	prober := tracer{traceOptions{
		Queries: asked.TimelineQueries, Over: end.Sub(measured), Duration: load.DurationOf(asked.QueryDurationMs),
		Grace:     load.DefaultClosedOptions().Grace,
		Generated: generated, Probe: load.ProbeValue(0), PerSecond: float64(asked.MatchingPerSecond),
	}, s.ports.Queries, s.observe}
	var traces []tuning.Trace
	err := prober.WarmUp(s.ctx, measured)
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

// collectionSkew is the collector's metric of each worker's clock skew (proto/METRICS.md).
const collectionSkew = "bullet_metrics_collection_skew_seconds"

// mostHosts bounds the rows of a timeline's clock table.
const mostHosts = 256

// addClocks adds to a timeline how many hosts share each clock name and the clock skew of each host. If the collector
// cannot be asked, it adds a note, because the timeline is useful without the clocks.
func (s *Session) addClocks(t *tuning.Timeline, since time.Time) {
	roles := s.roleClocks()
	t.Notes = append(t.Notes, roles.Flag(t.Skews)...)
	if s.local() {
		t.Notes = append(t.Notes,
			"All parts ran on this machine and used one clock. Bounds that include 0 only show that the order of the times is right.")
	}
	hosts, err := s.hostClocks(since, time.Now())
	switch {
	case err != nil:
		t.Notes = append(t.Notes, fmt.Sprintf("The clocks of the worker hosts could not be read: %v.", err))
	case len(hosts) == 0 && !s.local():
		t.Notes = append(t.Notes, "The collector has no skew of the workers' clocks ("+collectionSkew+").")
	}
	t.Hosts = hosts
}

// roleClocks counts the hosts that run each role's component. It returns nil if the topology's facts are unavailable,
// or if everything runs on this host.
func (s *Session) roleClocks() tuning.Clocks {
	if s.ports.Facts == nil || s.local() {
		return nil
	}
	t, err := s.ports.Facts.Topology(s.ctx, s.o.Topology)
	if err != nil {
		return nil
	}
	source, _ := t.recordSpout()
	return tuning.Clocks{sourceClock: t.hostsOf(source), filterClock: t.hostsOf(tuning.FilterBolt),
		joinClock: t.hostsOf("JoinBolt")}
}

// hostsOf returns the number of hosts that run tasks of a component. Workers that have ended are not counted.
func (t Topology) hostsOf(component string) int {
	hosts := map[string]bool{}
	for _, w := range t.Workers {
		if w.Alive && slices.ContainsFunc(w.Components,
			func(c ComponentTasks) bool { return c.Component == component }) {
			hosts[hostOf(w.Worker)] = true
		}
	}
	return len(hosts)
}

// hostOf returns the host of a worker that is named "host:port".
func hostOf(worker string) string {
	if i := strings.LastIndexByte(worker, ':'); i > 0 {
		return worker[:i]
	}
	return worker
}

// hostClocks returns the collector's readings of the workers' clocks in (from, to], one row per host. Rows are sorted
// by host; there are at most mostHosts.
func (s *Session) hostClocks(from, to time.Time) (all []tuning.HostClock, err error) {
	series, err := s.ports.Slices.Slices(s.ctx, s.selector(collectionSkew), from, to)
	if err != nil {
		return nil, err
	}
	workers, readings := map[string][]string{}, map[string][]tuning.Figure{}
	for _, one := range series {
		worker := one.Labels["worker"]
		host := hostOf(worker)
		workers[host] = tuning.Union(workers[host], worker)
		for _, v := range one.Slices.Values {
			readings[host] = append(readings[host], 1000*v)
		}
	}
	for _, host := range slices.Sorted(maps.Keys(readings)) {
		if clock, ok := tuning.HostClockOf(host, len(workers[host]), readings[host]); ok && len(all) < mostHosts {
			all = append(all, clock)
		}
	}
	return all, nil
}
