package doctor

import (
	"fmt"
	"math"
	"strings"
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
			return unknown("not made: nothing has come from the topology (see first batch)")
		}
		return why
	}
	worst, at := Skew{}, ""
	for worker, s := range f.Collector.Skews {
		if at == "" || math.Abs(s.Sure) > math.Abs(worst.Sure) || math.Abs(s.Sure) == math.Abs(worst.Sure) &&
			worker < at {
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
		return fail(setBack(back, by, f.Collector.SetBack[back]), "let the time service slew the clock (chronyd, ntpd -x) and step it at boot only")
	case at == "" && f.fresh():
		return waiting(f.awaited())
	case at == "":
		return unknown("no slice of a worker has closed yet")
	case math.Abs(worst.Sure) > limit:
		return fail(fmt.Sprintf("the clock of %s is at least %.3f s %s the collector's%s", at, math.Abs(worst.Sure),
			map[bool]string{true: "ahead of", false: "behind"}[worst.Sure > 0], blindness(worst.Sure)),
			fmt.Sprintf("keep the clocks together (NTP): latencies between hosts are wrong by as much; up to %g s are borne",
				limit))
	case math.IsInf(worst.Most, 1):
		return ok(fmt.Sprintf(
			"no clock is off beyond doubt (%s: ahead by at least %.3f s; no sender is on its host, so that nothing bounds it from above)",
			at, worst.Least))
	}
	return ok(fmt.Sprintf("no clock is off beyond doubt (%s: ahead by %.3f to %.3f s)", at, worst.Least, worst.Most))
}

// setBack returns the message that a worker's clock was set back. It includes the step and the number of refused
// samples if they are known.
func setBack(worker string, by time.Duration, samples int) string {
	says, refused := fmt.Sprintf("the clock of %s was set back", worker), "samples"
	if by > 0 {
		says += fmt.Sprintf(" by at least %s", by)
	}
	if samples > 0 {
		refused = fmt.Sprintf("%d samples", samples)
	}
	return fmt.Sprintf("%s in the last %s: %s of a time that it had shown before were refused (repeated_time)", says,
		Lookback, refused)
}

// offByMuch is the clock error from which alerts miss a topology. They are evaluated at the collector's time and read
// only the last minutes.
const offByMuch = time.Minute

// blindness returns how a clock error affects alerts; ahead is in seconds, and negative if the clock is behind.
func blindness(ahead float64) string {
	switch by := time.Duration(ahead * float64(time.Second)); {
	case by < -offByMuch:
		return "; meanwhile alerts about this topology are blind: rules look at the last minutes by the collector's clock, and what it reports is stored at its own time"
	case by > offByMuch:
		return "; meanwhile alerts about this topology come later by as much"
	}
	return ""
}

// noTopology returns the finding if the collector knows nothing about the topology, and false otherwise. It is not a
// failure if nobody listens at the default address and no address was given, because the collector may be elsewhere.
func noTopology(f Facts) (Finding, bool) {
	c := f.Collector
	switch {
	case c == nil:
		return unknown("not looked at: --collector names a running one"), true
	case c.Err != nil && c.Assumed:
		return unknown("not looked at: nobody answers at " + c.Address + ", and --collector names no other"), true
	case c.Err != nil:
		return fail("the collector cannot be asked: "+c.Err.Error(),
			"start bullet-metrics serve, or name the address of its http.listen"), true
	case c.Found == nil && c.Assumed && c.Topology == "" && len(c.Known) != 1:
		return unknown(fmt.Sprintf("not looked at: --topology names it; %s knows %s", c.Address, orNone(c.Known))), true
	case c.Found == nil:
		return f.notReported(), true
	}
	return Finding{}, false
}

// notReported explains why a topology may not report, with the help of the other facts. A topology that was submitted
// a moment ago gets the status Waiting. If an earlier check failed, that failure is the likely cause, and the advice
// refers to it.
func (f Facts) notReported() Finding {
	c := f.Collector
	known := "none has"
	if len(c.Known) > 0 {
		known = "those that have: " + strings.Join(c.Known, ", ")
	}
	says := fmt.Sprintf("topology %q has not reported to %s; %s", c.Topology, c.Address, known)
	if n := f.Cluster; n != nil && n.ID != "" && n.Uptime < startTime {
		return waiting(fmt.Sprintf("%s was submitted %s ago, and its workers start", n.ID, round(n.Uptime)))
	}
	for _, check := range []func(Facts) Finding{jar, settings, registration, files, address, security,
		submitted, logs} {
		if check(f).Status == Fail {
			return fail(says, "mend what failed above, and run doctor again, with --wait 3m where the topology is submitted again")
		}
	}
	return fail(says, "see whether the topology runs; --nimbus shows how it was submitted, and --log what the plugin says in a worker: its lines have \""+strings.TrimSpace(plugininfo.LogMark)+"\"")
}

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
		return fail(fmt.Sprintf("the last batch came %s ago", round(f.Collector.Now.Sub(t.LastSeen))),
			"see whether the topology runs; if so, whether its workers reach the collector: --log names a worker's log, and the plugin's lines in it")
	}
	if worker, samples := most(f.Collector.Twice); worker != "" && f.Collector.SetBack[worker] == 0 {
		return fail(fmt.Sprintf("%d samples of %s came twice in the last %s, and were refused (duplicate)", samples, worker,
			Lookback), "register the metrics consumer once in topology.metrics.consumer.register, and give a task's metrics names of their own")
	}
	says := fmt.Sprintf("%s reports, last %s ago", t.ID, round(f.Collector.Now.Sub(t.LastSeen)))
	if !t.Submitted.IsZero() {
		says += fmt.Sprintf("; its first batch came %s after its submission", round(t.FirstSeen.Sub(t.Submitted)))
	}
	return ok(says)
}

// ended returns the finding for a topology that has ended.
func (f Facts) ended() Finding {
	t := f.Collector.Found
	ago := fmt.Sprintf("at %s, %s ago", t.EndedAt.UTC().Format("15:04:05 UTC"), round(f.Collector.Now.Sub(t.EndedAt)))
	if t.Ended == "killed" {
		return fail(fmt.Sprintf("%s was killed %s, by the word of %s", t.ID, ago, t.EndedBy),
			"nothing where that was meant; else submit it again")
	}
	return fail(fmt.Sprintf("%s was stopped %s: Storm closed its metrics consumer in order, as it does where a topology is killed or rebalanced, or its worker is stopped", t.ID, ago),
		"nothing where somebody killed or rebalances it; else see Storm's UI or --nimbus whether it is still there, and Supervisor's log for why the worker was stopped")
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

// inALoop is the number of restarts of a worker within Lookback from which it counts as a restart loop.
const inALoop = 2

// restarts fails if a worker restarts repeatedly. Each of its processes may report well for a while, so that other
// checks can pass.
func restarts(f Facts) Finding {
	if before := firstBatch(f); before.Status != OK {
		return afterFirstBatch(before)
	}
	at, most := most(f.Collector.Restarts)
	switch {
	case most == 0:
		return ok(fmt.Sprintf("no worker was started again in the last %s", Lookback))
	case most < inALoop && len(f.Collector.Restarts) > 1 && len(f.Collector.Restarts) >= f.Collector.Found.Workers:
		return fail(fmt.Sprintf("all %d workers were started again in the last %s%s", len(f.Collector.Restarts),
			Lookback, f.lastRestart()),
			"nothing where somebody restarted or rebalanced it; else one cause for all: see Nimbus' and Supervisors' logs, and the ends of the workers'")
	case most < inALoop:
		return ok(fmt.Sprintf("worker %s was started again once in the last %s%s, and no other more often", at, Lookback,
			f.lastRestart()))
	}
	return fail(fmt.Sprintf("worker %s was started again %d times in the last %s", at, most, Lookback),
		"read the end of that worker's log for what ends it, and Supervisor's for its exit code (137: killed, as for want of memory); --log finds the plugin's part")
}

// lastRestart returns the age of the newest restart in parentheses, or "" if it is unknown.
func (f Facts) lastRestart() string {
	if f.Collector.RestartedAt.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (the last %s ago)", round(f.Collector.Now.Sub(f.Collector.RestartedAt)))
}

// afterFirstBatch returns the result of a check that is skipped because firstBatch did not succeed.
func afterFirstBatch(before Finding) Finding {
	switch before.Status {
	case Fail:
		return unknown("not made, since first batch failed")
	case Waiting:
		return waiting("for the first batch")
	}
	return before
}

// seen checks whether the newest slice of a kind is recent enough, and whether all workers have one. The allowed age
// depends on the longest reporting interval of the topology. A topology or worker that has just started gets the
// status Waiting.
func seen(f Facts, kind Kind) Finding {
	if before := firstBatch(f); before.Status != OK {
		return afterFirstBatch(before)
	}
	c := f.Collector
	sight, found := c.Seen[kind]
	if !found && c.clockOff() {
		return unknown("no slice of it at the topology's own time; see skew")
	}
	if f.fresh() && (!found || kind != Latency && sight.Workers < c.Found.Workers) {
		return waiting(f.awaited())
	}
	if !found {
		return fail(fmt.Sprintf("no slice of it in the last %s", Lookback), notSeen(kind))
	}
	age := c.eventNow().Sub(sight.Newest)
	says := fmt.Sprintf("newest slice %s old, of %d of %d workers", round(age), sight.Workers, c.Found.Workers)
	most := f.latest()
	switch restarted := c.Now.Sub(c.RestartedAt); {
	case age <= most:
	case len(c.Restarts) > 0 && !c.RestartedAt.IsZero() && restarted < most+patience:
		return waiting(fmt.Sprintf("newest slice %s old, from before workers were started again %s ago; the first new ones close within %s",
			round(age), round(restarted), round(most-restarted+patience)))
	case len(c.Restarts) > 0:
		return fail(says+fmt.Sprintf("; it should be no older than %s, and workers were started again in the last %s", round(most),
			Lookback), "see restarts above: what keeps the workers from running")
	default:
		return fail(says+fmt.Sprintf("; it should be no older than %s", round(most)),
			"see bullet_metrics_producer_dropped_samples_total and bullet_metrics_feed_samples on /metrics; metric ticks queue behind data where a component is overloaded")
	}
	if kind != Latency && sight.Workers < c.Found.Workers {
		return fail(says, "see the log of the workers that are missing in /api/v1/topologies/"+c.Topology+
			"; a worker that has just started is a slice behind")
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
	if f.Collector.Now.After(f.firstClosed()) {
		return "first slices were to close at " + f.firstClosed().Format(time.TimeOnly) + "; for half a minute more"
	}
	return "first slices close at " + f.firstClosed().Format(time.TimeOnly)
}

// latest returns the maximum age of the newest slice.
func (f Facts) latest() time.Duration { return f.longestInterval() + slack }

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
		return "add the worker's sampler: " + plugininfo.Collector +
			"sampler.enabled must not be false; without Bullet, topology.worker.metrics names " + plugininfo.SamplerClass
	case Latency:
		return "see whether records flow: without records and acks no latency is reported; and whether bullet.topology.metrics.built.in.enable is true"
	}
	return "add the worker's sampler (topology.worker.metrics), and see v2 tick above"
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
