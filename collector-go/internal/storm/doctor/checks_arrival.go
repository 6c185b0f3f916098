package doctor

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// skew checks the workers' clocks, and reports the one with the largest certain error. A clock's error is known only
// as an interval, so that the check fails only if even the nearest end is too far. It always fails if a clock was set
// back, because samples with an already reported time were refused.
func skew(f Facts) Finding {
	if why, none := noTopology(f); none {
		if why.Status == Fail {
			return unknown("skipped, because first batch failed")
		}
		return why
	}
	worst, at := Skew{}, ""
	for _, worker := range slices.Sorted(maps.Keys(f.Collector.Skews)) {
		if s := f.Collector.Skews[worker]; at == "" || math.Abs(s.Sure) > math.Abs(worst.Sure) {
			worst, at = s, worker
		}
	}
	limit := catalog.CollectionSkewLimit.Seconds()
	back, by := most(f.Collector.SetBackBy)
	if back == "" {
		back, _ = most(f.Collector.SetBack)
	}
	switch {
	case back != "":
		return fail(setBack(back, by, f.Collector.SetBack[back]), "let the time service slew the clock (chronyd, ntpd -x), and step it only at boot")
	case at == "" && f.fresh():
		return waiting(f.awaited())
	case at == "":
		return unknown("no slice of a worker is complete yet")
	case math.Abs(worst.Sure) > limit:
		return fail(fmt.Sprintf("the clock of %s is at least %s %s the collector's%s", at, clock(math.Abs(worst.Sure)),
			map[bool]string{true: "ahead of", false: "behind"}[worst.Sure > 0], blindness(worst.Sure)),
			fmt.Sprintf("synchronize the clocks (NTP): latencies between hosts are wrong by this difference; up to %g s are tolerated",
				limit))
	case math.IsInf(worst.Most, 1):
		return ok(fmt.Sprintf(
			"no clock skew above %g s is certain (%s is ahead by at least %s; no upper bound, because no metrics consumer runs on its host)",
			limit, at, clock(worst.Least)))
	}
	return ok(fmt.Sprintf("no clock skew above %g s is certain (%s is ahead by %s to %s)", limit, at,
		clock(worst.Least), clock(worst.Most)))
}

// clock formats the error of a clock, which is in seconds.
func clock(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}

// setBack returns the message that a worker's clock was set back. It includes the step and the number of refused
// samples if they are known.
func setBack(worker string, by time.Duration, samples int) string {
	says, rejected := fmt.Sprintf("the clock of %s was set back", worker), "samples"
	if by > 0 {
		says += fmt.Sprintf(" by at least %s", by)
	}
	if samples > 0 {
		rejected = fmt.Sprintf("%d samples", samples)
	}
	return fmt.Sprintf("%s in the last %s: %s with times already reported were rejected (repeated_time)", says,
		Lookback, rejected)
}

// farOff is the clock error from which alerts miss a topology. They are evaluated at the collector's time and read
// only the last minutes.
const farOff = time.Minute

// blindness returns how a clock error affects alerts; ahead is in seconds, and negative if the clock is behind.
func blindness(ahead float64) string {
	switch by := time.Duration(ahead * float64(time.Second)); {
	case by < -farOff:
		return "; alert rules cannot see this topology, because they read the last minutes by the collector's clock, and its samples are stored with its own times"
	case by > farOff:
		return "; alerts about this topology are delayed by this difference"
	}
	return ""
}

// noTopology returns the finding if the collector knows nothing about the topology, and false otherwise. It is not a
// failure if nobody listens at the default address and no address was given, because the collector may be elsewhere.
func noTopology(f Facts) (Finding, bool) {
	c := f.Collector
	switch {
	case c == nil:
		return notChecked("set --collector to a running collector"), true
	case c.Err != nil && c.Assumed:
		return notChecked("no collector answers at " + c.Address + "; set --collector"), true
	case c.Err != nil:
		return fail("cannot query the collector: "+c.Err.Error(),
			"start bullet-metrics serve, or correct --collector (its http.listen), --tls-ca or --token-file"), true
	case c.Found == nil && c.Assumed && c.Topology == "" && len(c.Known) != 1:
		return notChecked(fmt.Sprintf("set --topology; topologies at %s: %s", c.Address, orNone(c.Known))), true
	case c.Found == nil:
		return f.notReported(), true
	}
	return Finding{}, false
}

// notReported explains why a topology may not report, with the help of the other facts. A topology that was submitted
// a moment ago gets the status Waiting. If an earlier check failed, that failure is the likely cause, and waiting does
// not help.
func (f Facts) notReported() Finding {
	c := f.Collector
	says := fmt.Sprintf("topology %q has not reported to %s; topologies that have: %s", c.Topology, c.Address,
		orNone(c.Known))
	none := c.Topology == "" && len(c.Known) == 0
	if none {
		says = "no topology has reported to " + c.Address
	}
	n := f.Cluster
	justSubmitted := n != nil && n.ID != "" && n.Uptime < startTime
	for _, check := range []func(Facts) Finding{jar, settings, registration, files, addresses, security, permission,
		submitted, logs} {
		switch {
		case check(f).Status != Fail:
		case justSubmitted:
			return unknown("skipped, because of the failures above")
		default:
			return fail(says, "fix the failures above, and run doctor again; use --wait 3m after a new submission")
		}
	}
	if justSubmitted {
		return waiting(fmt.Sprintf("%s was submitted %s ago; its workers are starting", n.ID, round(n.Uptime)))
	}
	if none {
		return fail(says, "put the plugin's jar into extlib/ of every Storm host, add the settings that bullet-metrics storm snippet prints, and submit the topology; --bullet-conf and --nimbus check both")
	}
	return fail(says, "check that the topology runs; --nimbus checks how it was submitted, and --log checks the plugin's messages in a worker's log")
}

// fewDuplicates is how many samples a worker sends for each duplicate at least, unless something is registered twice.
// Storm reports a short interval twice now and then.
const fewDuplicates = 100

// firstBatch checks whether the topology reports now. All checks of reported data depend on this one
// (afterFirstBatch).
func firstBatch(f Facts) Finding {
	if why, none := noTopology(f); none {
		return why
	}
	t := f.Collector.Found
	if t.Ended != "" {
		return f.ended()
	}
	if !t.Alive {
		return fail(fmt.Sprintf("the last batch arrived %s ago", round(f.Collector.Now.Sub(t.LastSeen))),
			"check that the topology runs and that its workers reach the collector; --log checks a worker's log")
	}
	if worker, samples := most(f.Collector.Duplicates); worker != "" && f.Collector.SetBack[worker] == 0 &&
		samples*fewDuplicates > f.Collector.Samples[worker] {
		return fail(fmt.Sprintf("%d duplicate samples of %s were rejected in the last %s", samples, worker, Lookback),
			"register the metrics consumer only once in "+plugininfo.Register+", and use a metric name only once in a task")
	}
	says := fmt.Sprintf("%s reports; its last batch arrived %s ago", t.ID, round(f.Collector.Now.Sub(t.LastSeen)))
	if !t.Submitted.IsZero() {
		says += fmt.Sprintf("; its first batch arrived %s after the submission", round(t.FirstSeen.Sub(t.Submitted)))
	}
	return ok(says)
}

// ended returns the finding for a topology that has ended.
func (f Facts) ended() Finding {
	t := f.Collector.Found
	ago := fmt.Sprintf("at %s, %s ago", t.EndedAt.UTC().Format("15:04:05 UTC"), round(f.Collector.Now.Sub(t.EndedAt)))
	if t.Ended == "killed" {
		return fail(fmt.Sprintf("%s was killed %s, as %s reported", t.ID, ago, t.EndedBy),
			"nothing if this was intended; otherwise submit it again")
	}
	return fail(fmt.Sprintf("%s was stopped %s: Storm closed its metrics consumer, which happens when the topology is killed or rebalanced, or when a worker is stopped", t.ID, ago),
		"nothing if it was killed or rebalanced on purpose; otherwise check Storm's UI (or --nimbus), and the Supervisor's log for why the worker was stopped")
}

// most returns the worker with the largest count, and the first by name of several. It returns "" if no count is
// positive.
func most[N int | time.Duration](counts map[string]N) (at string, n N) {
	for worker, count := range counts {
		if count > n || count == n && worker < at {
			at, n = worker, count
		}
	}
	return at, n
}

// restartLoop is the number of restarts of a worker within Lookback from which it counts as a restart loop.
const restartLoop = 2

// restarts fails if a worker restarts repeatedly. Each of its processes may report well for a while, so that other
// checks can pass.
func restarts(f Facts) Finding {
	at, most := most(f.Collector.Restarts)
	switch {
	case most == 0:
		return ok(fmt.Sprintf("no worker restarted in the last %s", Lookback))
	case most < restartLoop && len(f.Collector.Restarts) > 1 && len(f.Collector.Restarts) >= f.Collector.Found.Workers:
		return fail(fmt.Sprintf("all %d workers restarted in the last %s%s", len(f.Collector.Restarts), Lookback,
			f.lastRestart()),
			"nothing if the topology was restarted or rebalanced on purpose; otherwise read the logs of Nimbus and the Supervisors, and the ends of the workers' logs")
	case most < restartLoop:
		return ok(fmt.Sprintf("worker %s restarted once in the last %s%s, and no worker more often", at, Lookback, f.lastRestart()))
	}
	return fail(fmt.Sprintf("worker %s restarted %d times in the last %s", at, most, Lookback),
		"read the end of the worker's log, and the Supervisor's log for its exit code (137: killed, for example out of memory)")
}

// lastRestart returns the age of the newest restart in parentheses, or "" if it is unknown.
func (f Facts) lastRestart() string {
	if f.Collector.RestartedAt.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (the last %s ago)", round(f.Collector.Now.Sub(f.Collector.RestartedAt)))
}

// afterFirstBatch returns a check that is skipped if firstBatch does not succeed.
func afterFirstBatch(check func(Facts) Finding) func(Facts) Finding {
	return func(f Facts) Finding {
		switch before := firstBatch(f); before.Status {
		case OK:
			return check(f)
		case Fail:
			return unknown("skipped, because first batch failed")
		case Waiting:
			return waiting("the first batch has not arrived yet")
		default:
			return before
		}
	}
}

// seen checks whether the newest slice of a kind is recent enough, and whether all workers have one. The allowed age
// depends on the longest reporting interval of the topology. A topology or worker that has just started gets the
// status Waiting.
func seen(f Facts, kind Kind) Finding {
	c := f.Collector
	sight, found := c.Slices[kind]
	if !found && c.clockOff() {
		return unknown("no slice at the topology's own time (see skew)")
	}
	if f.fresh() && (!found || kind != Latency && sight.Workers < c.Found.Workers) {
		return waiting(f.awaited())
	}
	if !found {
		return fail(fmt.Sprintf("no slice in the last %s", Lookback), notSeen(kind))
	}
	age := c.eventNow().Sub(sight.Newest)
	says := fmt.Sprintf("the newest slice is %s old; %d of %d workers have slices", round(age), sight.Workers, c.Found.Workers)
	most := f.longestInterval() + slack // the maximum age
	switch restarted := c.Now.Sub(c.RestartedAt); {
	case age <= most:
	case len(c.Restarts) > 0 && !c.RestartedAt.IsZero() && restarted < most+patience:
		return waiting(fmt.Sprintf(
			"the newest slice is %s old, from before workers restarted %s ago; new slices should be complete within %s",
			round(age), round(restarted), round(most-restarted+patience)))
	case len(c.Restarts) > 0:
		return fail(fmt.Sprintf("%s; the maximum age is %s, and workers restarted in the last %s", says, round(most), Lookback),
			"find out why the workers restart (see restarts)")
	default:
		return fail(fmt.Sprintf("%s; the maximum age is %s", says, round(most)),
			"check bullet_metrics_producer_dropped_samples_total and bullet_metrics_feed_samples on /metrics; in an overloaded component, metric ticks wait behind data")
	}
	if kind != Latency && sight.Workers < c.Found.Workers {
		return fail(says, "read the logs of the missing workers; /api/v1/topologies/"+c.Topology+
			" lists all workers. A worker that has just started is one slice behind")
	}
	return ok(says)
}

// packAndTick is part of the time until a slice is complete: the time that a worker's sampler collects a pack, and the
// journal's tick. The other parts are the slice's width, the reporting interval and the lateness. patience is
// additional time for a machine that starts slowly.
const (
	packAndTick = 11 * time.Second
	patience    = 30 * time.Second
)

// firstClosed returns when the first slices of a topology are complete. These are the slices with its first reports.
// The reports one interval later move the workers' time past the end of these slices.
func (f Facts) firstClosed() time.Time {
	c := f.Collector
	interval := f.longestInterval()
	width := max(c.Width, interval)
	return c.Found.FirstSeen.Truncate(width).Add(width + interval + c.Lateness + packAndTick).Truncate(time.Second)
}

// fresh reports whether the topology's first slices may not all be complete yet.
func (f Facts) fresh() bool {
	c := f.Collector
	return c != nil && c.Found != nil && c.Width > 0 && !c.Found.FirstSeen.IsZero() &&
		c.Now.Before(f.firstClosed().Add(patience))
}

// awaited says when the first slices will be complete, so that the reader knows how long to wait.
func (f Facts) awaited() string {
	at := f.firstClosed().Format(time.TimeOnly)
	if f.Collector.Now.After(f.firstClosed()) {
		return "the first slices were expected at " + at + "; waiting 30 s longer"
	}
	return "the first slices are expected at " + at
}

// longestInterval returns the topology's longest reporting interval, or Storm's default if it is unknown.
func (f Facts) longestInterval() time.Duration {
	longest := float64(usualInterval)
	for i, name := range []string{plugininfo.Interval, plugininfo.V2Interval} {
		if value, _ := f.setting(name); value != nil {
			if n, is := number(value); is && (i == 0 || n > longest) {
				longest = n
			}
		}
	}
	return time.Duration(longest) * time.Second
}

// notSeen returns the advice for a kind that is missing entirely. It names the usual cause for this kind.
func notSeen(kind Kind) string {
	switch kind {
	case CPU:
		return "enable the worker sampler: " + plugininfo.Collector +
			"sampler.enabled must not be false; without Bullet, add " + plugininfo.SamplerClass + " to topology.worker.metrics"
	case Latency:
		return "check that records flow and are acknowledged, because otherwise no latency is reported, and that " +
			plugininfo.BuiltIn + " is true"
	}
	return "enable the worker sampler (topology.worker.metrics), and check v2 tick"
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
