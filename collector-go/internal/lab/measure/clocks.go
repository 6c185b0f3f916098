package measure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

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
	workers, readings := map[string]map[string]bool{}, map[string][]tuning.Figure{}
	for _, one := range series {
		worker := one.Labels["worker"]
		host := hostOf(worker)
		if workers[host] == nil {
			workers[host] = map[string]bool{}
		}
		workers[host][worker] = true
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
