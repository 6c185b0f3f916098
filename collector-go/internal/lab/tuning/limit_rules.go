package tuning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/busy"
)

// filterRule checks the filter bolts' executors.
func filterRule(e Evidence) LimiterFinding {
	return busyRule(LimitedByFilterCPU, e.Bolt(FilterBolt).Believed())
}

func busyRule(limiter Limiter, b BoltEvidence) LimiterFinding {
	if !b.BusyMost.Known() {
		why := ""
		if b.BusyUnknown != "" {
			why = ": " + b.BusyUnknown
		}
		return finding(limiter, NotKnown, nil, "the busy share of %s is unknown%s", b.Component, why)
	}
	numbers := []Number{{"busiest executor", b.BusyMost, "ratio"}, {"all executors", b.BusyMean, "ratio"},
		{"executors", b.Executors, "executors"}}
	says := fmt.Sprintf("%s was %s busy", b.Component, shareText(b.BusyMost))
	if b.BusyMean.Known() && b.Executors > 1 {
		says += fmt.Sprintf(" in its busiest executor and %s on average over %s executors", shareText(b.BusyMean), figureText(b.Executors))
	}
	if used := b.WorkersCPU; used.Known() && b.Executors.Known() {
		numbers = append(numbers, Number{"CPU of its workers", used, "cores"})
		says += fmt.Sprintf("; its workers used %s cores of the %s that its executors can use", Digits(used),
			figureText(b.Executors))
	}
	if b.QueueMost.Known() {
		numbers = append(numbers, Number{"fullest receive queue", b.QueueMost, "ratio"})
	}
	f := finding(limiter, stateOf(b.BusyMost >= busyBound), numbers, "%s", says)
	f.Component = b.Component
	return f
}

// emptyQueue is the mean fill ratio of a receive queue up to which no tuples wait: a few dozen of its 32,768 places.
const emptyQueue = 0.001

// boltRule checks the busiest of the other bolts. Few tuples do not show how busy a bolt was, but if none wait for it,
// it does not delay the topology. A bolt that waits while it processes a tuple, as for an answer over HTTP, is busy
// without computing; it is then not reported as lacking CPU.
func boltRule(e Evidence) LimiterFinding {
	busiest, fullest, open := NoBoltEvidence("any other bolt"), Figure(0), false
	for _, b := range e.Bolts {
		if b = b.Believed(); b.Component == FilterBolt {
			continue
		}
		if b.BusyMost.Known() && !(b.BusyMost <= busiest.BusyMost) {
			busiest = b
		} else if !busiest.BusyMost.Known() && busiest.BusyUnknown == "" && b.BusyUnknown != "" {
			busiest.BusyUnknown = b.Component + ": " + b.BusyUnknown
		}
		open, fullest = open || !(b.QueueMost <= emptyQueue), Greater(fullest, b.QueueMost)
	}
	if !busiest.BusyMost.Known() && busiest.BusyUnknown != "" && !open {
		return finding(LimitedByBoltCPU, NotReached, []Number{{"fullest receive queue", fullest, "ratio"}},
			"no other bolt had waiting tuples: the fullest receive queue was %s full", shareText(fullest))
	}
	f := busyRule(LimitedByBoltCPU, busiest)
	if f.State == Reached {
		if why, waits := e.waits(busiest); waits {
			f.Limiter = LimitedByBoltBusy
			f.Says += "; " + why +
				", so its executors waited for part of that time; waiting for an HTTP response counts as busy"
		}
	}
	return f
}

// publishers are Bullet's bolts that publish results and loops to the pub-sub, and wait for it if it uses HTTP.
var publishers = []string{"ResultBolt", "LoopBolt"}

// waits reports whether a bolt's executors were busy without computing, and why that is known. On a starved or
// unobserved host they may have waited for a processor, so the answer is false. A worker's CPU includes all that runs
// in it. For a bolt that is known to wait, the CPU of all workers is therefore compared with the busy time of all
// bolts.
func (e Evidence) waits(b BoltEvidence) (why string, waits bool) {
	if e.Host.OfRun || !(e.Host.IdleRatio >= e.leastIdle()) {
		return "", false
	}
	if b.WorkersCPU < busy.Covered*b.busyCores() {
		return fmt.Sprintf("that is less than the %s cores that the busy time would need", Digits(b.busyCores())), true
	}
	all := Figure(0)
	for _, other := range e.Bolts {
		if cores := other.busyCores(); cores.Known() {
			all += cores
		}
	}
	if slices.Contains(publishers, b.Component) && e.Workers.CPUCores < busy.Covered*all {
		return fmt.Sprintf("the busy time of all bolts would need %s cores, and all workers used %s cores",
			Digits(all), Digits(e.Workers.CPUCores)), true
	}
	return "", false
}

func gcRule(e Evidence) LimiterFinding {
	g := e.GC
	if !g.ShareOfTime.Known() {
		return finding(LimitedByGC, NotKnown, nil, "the time of garbage collection is unknown")
	}
	numbers := []Number{{"share of time", g.ShareOfTime, "ratio"}, {"share of CPU", g.ShareOfCPU, "ratio"},
		{"heap in use of its limit", g.HeapUsedMost, "ratio"}}
	says := "garbage collection pauses took " + shareText(g.ShareOfTime) + " of the time"
	if g.Worker != "" {
		says += " in worker " + g.Worker
	}
	if g.ShareOfCPU.Known() {
		says += ", " + shareText(g.ShareOfCPU) + " of its CPU"
	}
	if g.HeapUsedMost >= fullHeap {
		says += fmt.Sprintf(", with %s of the heap in use", shareText(g.HeapUsedMost))
	}
	return finding(LimitedByGC, stateOf(g.ShareOfTime >= gcBound), numbers, "%s", says)
}

func restartRule(e Evidence) LimiterFinding {
	n := e.Workers.Restarts
	if !n.Known() {
		return finding(LimitedByRestart, NotKnown, nil, "it is unknown whether a worker restarted")
	}
	numbers := []Number{{"restarts", n, "restarts"}}
	says := "no worker restarted"
	switch {
	case n == 1:
		says = "a worker restarted during the step and lost its state"
	case n > 1:
		says = fmt.Sprintf("workers restarted %s times during the step and lost their state", figureText(n))
	}
	return finding(LimitedByRestart, stateOf(n > 0), numbers, "%s", says)
}

func pendingRule(e Evidence) LimiterFinding {
	s := e.Spout
	if !s.HeldByPending.Known() {
		return finding(LimitedByPending, NotKnown, nil, "it is unknown for how long the record spouts were throttled")
	}
	numbers := []Number{{"throttled by max spout pending", s.HeldByPending, "ratio"},
		{"throttled by back-pressure", s.HeldByBackPressure, "ratio"},
		{"topology.max.spout.pending", s.MaxPending, "tuples"}, {"complete latency", s.CompleteLatencyMs, "ms"}}
	says := fmt.Sprintf("max spout pending throttled the record spouts for %s of their time",
		shareText(s.HeldByPending))
	if s.MaxPending.Known() {
		says += " at " + s.pendingText()
	}
	if s.HeldByBackPressure > 0 {
		says += fmt.Sprintf(", back-pressure for %s", shareText(s.HeldByBackPressure))
	}
	return finding(LimitedByPending, stateOf(s.HeldByPending >= heldBound), numbers, "%s", says)
}

// pendingText describes the true max spout pending: a tuple that Storm counts may be a batch of records.
func (s SpoutEvidence) pendingText() string {
	if s.BatchSize > 1 {
		return fmt.Sprintf("%s batches of up to %s = %s records per spout", Digits(s.MaxPending), Digits(s.BatchSize),
			Digits(s.MaxPending*s.BatchSize))
	}
	return Digits(s.MaxPending) + " records per spout"
}

// sourceRule checks for records that wait to be read. If each partition already has its own spout, more spouts would
// read nothing.
func sourceRule(e Evidence) LimiterFinding {
	s := e.Source
	limiter := LimitedBySpouts
	partitioned := s.Partitions.Known() && e.Spout.Executors >= s.Partitions
	if partitioned {
		limiter = LimitedByPartitions
	}
	if !s.LagGrowth.Known() || !s.RecordsPerSecond.Known() {
		return finding(limiter, NotKnown, nil, "it is unknown whether the record source lags")
	}
	numbers := []Number{{"lag growth", s.LagGrowth, "records/s"}, {"read", s.RecordsPerSecond, "records/s"},
		{"lag at the end", s.LagEnd, "records"},
		{"Kafka partitions", s.Partitions, "partitions"}, {"spouts", e.Spout.Executors, "executors"}}
	if !(s.LagGrowth > lagBound*s.RecordsPerSecond && s.LagGrowth > 0) {
		return finding(limiter, NotReached, numbers, "the topology keeps up with the source at %s records/s",
			Digits(s.RecordsPerSecond))
	}
	lag := fmt.Sprintf("the lag of the source grows by %s records/s while %s records/s are read", Digits(s.LagGrowth),
		Digits(s.RecordsPerSecond))
	switch {
	case s.Partitions.Known():
		so := "more spouts would help"
		if partitioned {
			so = "more spouts would have no partition to read"
		}
		return finding(limiter, Reached, numbers, "%s; %s spouts read %s partitions, so %s",
			lag, figureText(e.Spout.Executors), figureText(s.Partitions), so)
	case s.Kind == SourceGenerator:
		return finding(limiter, Reached, numbers, "%s", lag)
	}
	return finding(limiter, NotKnown, numbers, "%s, and the number of Kafka partitions is unknown", lag)
}

// endpointRule checks for queries that were submitted and never ran.
func endpointRule(e Evidence) LimiterFinding {
	q := e.Queries
	limiter, name := LimitedByEndpoint, "the query endpoint"
	if q.Endpoint == EndpointDRPC {
		limiter, name = LimitedByDRPC, "DRPC"
	}
	numbers := []Number{{"submitted", q.Submitted, "queries"}, {"active at most", q.ActiveMost, "queries"},
		{"never active", q.NeverActive(), "queries"},
		{"let through", q.EndpointCapacity, "queries"}, {"refused", q.Refused, "queries"}}
	if q.Refused > 0 {
		return finding(limiter, Reached, numbers, "%s refused %s queries", name, Digits(q.Refused))
	}
	never := q.NeverActive()
	if !never.Known() {
		return finding(limiter, NotKnown, nil, "it is unknown how many of the submitted queries were active")
	}
	says := Digits(q.Submitted) + " queries submitted, "
	if never > 0 {
		says += Digits(q.ActiveMost) + " active"
	} else {
		says += "all of them active"
	}
	if never <= max(0.5, neverActiveBound*q.Submitted) {
		return finding(limiter, NotReached, numbers, "%s", says)
	}
	says += fmt.Sprintf(", %s never active", Digits(never))
	if q.Submitted == 0 || !q.EndpointCapacity.Known() {
		return finding(limiter, Reached, numbers, "%s", says)
	}
	if q.EndpointCapacity > 1.1*q.ActiveMost {
		return finding(limiter, NotKnown, numbers, "%s", says)
	}
	return finding(limiter, Reached, numbers, "%s; %s accepts %s at the same time", says, name,
		Digits(q.EndpointCapacity))
}

func hostRule(e Evidence) LimiterFinding {
	h := e.Host
	if h.OfRun {
		numbers := []Number{{"idle on tune run's host", h.IdleRatio, "ratio"}}
		return finding(LimitedByHost, NotKnown, numbers,
			"worker hosts: not measured (%s of tune run's host was idle)", shareText(h.IdleRatio))
	}
	if !h.IdleRatio.Known() {
		return finding(LimitedByHost, NotKnown, nil, "the idle share of the host is unknown")
	}
	least := e.leastIdle()
	numbers := []Number{{"idle", h.IdleRatio, "ratio"}, {"least idle", least, "ratio"}}
	says := fmt.Sprintf("%s of the host was idle", shareText(h.IdleRatio))
	for _, s := range h.Shares {
		numbers = append(numbers, Number{s.Process, s.Ratio, "ratio"})
	}
	if h.IdleRatio < least {
		says += "; " + h.changed()
	}
	return finding(LimitedByHost, stateOf(h.IdleRatio < least), numbers, "%s", says)
}

// leastRise is the minimum increase of a process' share for the process to be named.
const leastRise = 0.02

// changed names the process whose share of the host rose most since the step before. The process with the largest
// share need not be the one that caused the change.
func (h HostEvidence) changed() string {
	before := map[string]Figure{}
	for _, s := range h.SharesBefore {
		before[s.Process] = s.Ratio
	}
	busiest, risen := ProcessShare{Ratio: Unknown}, ProcessShare{Ratio: Unknown}
	for _, s := range h.Shares {
		if s.Ratio.Known() && !(s.Ratio <= busiest.Ratio) {
			busiest = s
		}
		if was, known := before[s.Process]; known && s.Ratio-was > leastRise &&
			!(s.Ratio-was <= risen.Ratio-before[risen.Process]) {
			risen = s
		}
	}
	switch {
	case risen.Process != "":
		return fmt.Sprintf("the share of %s rose from %s to %s", risen.Process, shareText(before[risen.Process]),
			shareText(risen.Ratio))
	case len(before) > 0:
		return "no process used over 2 percentage points more than before"
	case busiest.Process != "":
		return fmt.Sprintf("%s used %s of it, and there is no earlier step to compare with", busiest.Process,
			shareText(busiest.Ratio))
	}
	return "the processes that used it are unknown"
}

// silenceRule checks for expected workers that do not report. They ended, or their data was lost; nothing is blamed
// for it.
func silenceRule(e Evidence) LimiterFinding {
	w := e.Workers
	numbers := []Number{{"silent", w.Silent, "workers"}, {"expected", w.Expected, "workers"}}
	if w.Silent == 0 {
		return finding(LimitedBySilence, NotReached, numbers, "all %s workers reported until the end",
			figureText(w.Expected))
	}
	what := "it is unknown whether it ended or its samples were lost"
	if w.Silent > 1 {
		what = "it is unknown whether they ended or their samples were lost"
	}
	return finding(LimitedBySilence, Reached, numbers, "%s of %s workers sent no more samples by the end of the step: %s",
		figureText(w.Silent), figureText(w.Expected), what)
}

// collectorRule checks whether the collecting itself distorted the figures: by its CPU on a starved host, or by
// missing slices.
func collectorRule(e Evidence) LimiterFinding {
	c := e.Collector
	missing := c.MissingSlices / c.ExpectedSlices
	if !c.ShareOfHost.Known() && !missing.Known() {
		return finding(LimitedByCollector, NotKnown, nil,
			"the collector's share of the host and the missing slices are unknown")
	}
	numbers := []Number{{"share of the host", c.ShareOfHost, "ratio"}, {"missing slices", c.MissingSlices, "slices"},
		{"expected slices", c.ExpectedSlices, "slices"},
		{"late samples", c.LateSamples, "samples"}, {"dropped samples", c.DroppedSamples, "samples"}}
	starved := !e.Host.OfRun && e.Host.IdleRatio < e.leastIdle() && c.ShareOfHost >= collectorBound
	says := "the collector"
	if c.ShareOfHost.Known() {
		says += " used " + shareText(c.ShareOfHost) + " of the host"
	}
	if missing.Known() {
		if c.ShareOfHost.Known() {
			says += " and"
		}
		says += fmt.Sprintf(" missed %s of %s slices", Digits(c.MissingSlices), Digits(c.ExpectedSlices))
	}
	if c.LateSamples > 0 {
		says += fmt.Sprintf("; %s samples came too late", Digits(c.LateSamples))
	}
	if c.DroppedSamples > 0 {
		says += fmt.Sprintf("; the workers dropped %s samples", Digits(c.DroppedSamples))
	}
	return finding(LimitedByCollector, stateOf(starved || missing >= missingBound), numbers, "%s", says)
}

func (e Evidence) leastIdle() Figure {
	if e.Host.MinIdleRatio.Known() {
		return e.Host.MinIdleRatio
	}
	return Figure(DefaultGoals().MinHostIdle)
}

// clientRule checks the load client, or each of them if there are several hosts.
func clientRule(e Evidence) LimiterFinding {
	c := e.Client
	if len(c.Hosts) > 0 {
		return c.hostsRule()
	}
	if !c.LatenessP99Ms.Known() && !(c.CPUCores / c.CPULimitCores).Known() {
		return finding(LimitedByClient, NotKnown, nil, "the state of the load client is unknown")
	}
	one := ClientHost{LatenessP99Ms: c.LatenessP99Ms, CPUCores: c.CPUCores, CPULimitCores: c.CPULimitCores}
	return finding(LimitedByClient, stateOf(one.limits(c)), one.numbers(""), "the load client%s", one.says())
}

// hostsRule judges the load client of each host. The finding names those at their limit; if there are none, it names
// the latest one.
func (c ClientEvidence) hostsRule() LimiterFinding {
	var numbers []Number
	var limits, unknown []string
	latest := c.Hosts[0]
	for _, h := range c.Hosts {
		numbers = append(numbers, h.numbers(h.Host+": ")...)
		says := fmt.Sprintf("the load client on %s%s", h.Host, h.says())
		switch {
		case h.limits(c):
			limits = append(limits, says)
		case !h.LatenessP99Ms.Known() && !(h.CPUCores / h.CPULimitCores).Known():
			unknown = append(unknown, h.Host)
		}
		if !(latest.LatenessP99Ms >= h.LatenessP99Ms) {
			latest = h
		}
	}
	switch {
	case len(limits) > 0:
		return finding(LimitedByClient, Reached, numbers, "%s", strings.Join(limits, "; "))
	case len(unknown) > 0:
		return finding(LimitedByClient, NotKnown, numbers, "the state of the load client is unknown on %s",
			strings.Join(unknown, ", "))
	}
	return finding(LimitedByClient, NotReached, numbers, "the busiest of the load clients on %d hosts, the one on %s,%s",
		len(c.Hosts), latest.Host, latest.says())
}

// HostsAtLimit returns the hosts whose load clients could not keep up with their share of the load.
func (c ClientEvidence) HostsAtLimit() []string {
	limits := Those(c.Hosts, func(h ClientHost) bool { return h.limits(c) })
	return Each(limits, func(h ClientHost) string { return h.Host })
}

// limits reports whether a client could not keep up with its share of the load.
func (h ClientHost) limits(c ClientEvidence) bool {
	mostLate := Greater(latenessBoundMs, heldLatenessBound*c.HeldMs)
	return h.LatenessP99Ms > mostLate || h.CPUCores/h.CPULimitCores >= clientBound
}

func (h ClientHost) numbers(of string) []Number {
	return []Number{{of + "lateness, p99", h.LatenessP99Ms, "ms"}, {of + "CPU", h.CPUCores, "cores"},
		{of + "CPU limit", h.CPULimitCores, "cores"}}
}

// says describes the client's figures. The text follows the client's name.
func (h ClientHost) says() string {
	var parts []string
	if h.LatenessP99Ms.Known() {
		parts = append(parts, fmt.Sprintf(" submitted its queries up to %s ms late (p99)", Digits(h.LatenessP99Ms)))
	}
	if share := h.CPUCores / h.CPULimitCores; share.Known() {
		parts = append(parts, fmt.Sprintf(" used %s of its %s cores", shareText(share), Digits(h.CPULimitCores)))
	}
	return strings.Join(parts, " and")
}

// LimitedByRecordSource means that the source made fewer records than the step requested.
const LimitedByRecordSource Limiter = "the record source"

// SourceRateEvidence shows whether the requested records were made: emitted by the topology's own source, or written
// by the producers for Kafka. Both rates are totals that include the records that queries look for.
type SourceRateEvidence struct {
	AskedPerSecond Figure `json:"asked_records_per_second"`
	MadePerSecond  Figure `json:"made_records_per_second"`
}

// Bounds of a shortage.
const (
	// leastSourceRate is the smallest share of the requested records that is not a shortage.
	leastSourceRate = 0.9
	// leastShort is the minimum number of missing records for a shortage. At low rates, one record more or less at the
	// step's ends is a large share.
	leastShort = 10
)

func (s SourceRateEvidence) known() bool { return s.AskedPerSecond > 0 && s.MadePerSecond.Known() }

// sourceRateRule compares the rate that was made with the requested one.
func sourceRateRule(e Evidence) LimiterFinding {
	s := e.SourceRate
	share := s.MadePerSecond / s.AskedPerSecond
	numbers := []Number{{"asked for", s.AskedPerSecond, "records/s"}, {"made", s.MadePerSecond, "records/s"},
		{"share", share, "ratio"}}
	says := fmt.Sprintf("the record source emitted %s of the %s requested records/s, %s", Digits(s.MadePerSecond),
		Digits(s.AskedPerSecond), shareText(share))
	if e.Source.Kind == SourceKafka {
		numbers = append(numbers, Number{"read", e.Source.RecordsPerSecond, "records/s"})
		switch {
		case e.short(s.MadePerSecond):
			says += " (producers share a rate: RecordProducer --part)"
		case e.short(e.Source.RecordsPerSecond):
			says = fmt.Sprintf("the topology read %s of the %s requested records/s, %s, although they were emitted",
				Digits(e.Source.RecordsPerSecond), Digits(s.AskedPerSecond),
				shareText(e.Source.RecordsPerSecond/s.AskedPerSecond))
			return finding(LimitedByRecordSource, Reached, numbers, "%s", says)
		}
	}
	return finding(LimitedByRecordSource, stateOf(e.short(s.MadePerSecond)), numbers, "%s", says)
}

// short reports whether a rate is too far below the requested one.
func (e Evidence) short(perSecond Figure) bool {
	asked, seconds := e.SourceRate.AskedPerSecond, Figure(e.ToMs-e.FromMs)/1000
	return perSecond < leastSourceRate*asked && (asked-perSecond)*seconds >= leastShort
}

// explainSourceRate marks a shortage as a consequence if it has another cause. For the topology's own source, and for
// reads from Kafka, that is whatever slows the topology down. For the producers before Kafka it is only the host's
// CPU.
func (l *limiting) explainSourceRate(busy string) {
	switch {
	case l.reached(LimitedByHost):
		l.follows(LimitedByRecordSource, "the host had no CPU left for it")
	case l.evidence.Source.Kind == SourceKafka && l.evidence.short(l.evidence.SourceRate.MadePerSecond):
	case busy != "":
		l.follows(LimitedByRecordSource, "the topology reads no more because of "+busy)
	case l.reached(LimitedBySpouts, LimitedByPartitions):
		l.follows(LimitedByRecordSource, "the spouts emit no more")
	}
}

// short returns the finding of a shortage of records; nil if there was none.
func (l *Limitation) short() *LimiterFinding {
	f, found := First(l.Findings, func(f LimiterFinding) bool {
		return f.Limiter == LimitedByRecordSource && (f.State == Reached || f.State == Consequence)
	})
	if !found {
		return nil
	}
	return &f
}

// ofShort returns the verdict of a step that met its goals with too few records. If the topology itself caused the
// shortage, it did not hold its load. Otherwise the step says nothing about that load.
func (l *Limitation) ofShort() Judgement {
	short, reasons := l.short(), []string{l.Text}
	if !strings.Contains(l.Text, short.Says) {
		reasons = []string{short.Says, l.Text}
	}
	switch {
	case l.spoiled():
		return Judgement{Inconclusive, reasons}
	case short.State == Consequence && l.BlamesTopology():
		return Judgement{Fail, reasons}
	}
	return Judgement{Limited, reasons}
}
