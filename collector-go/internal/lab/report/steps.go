package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// window is the duration of the queries themselves, in ms. Bullet's queries end after a fixed duration, and only the
// time that a result takes beyond it is caused by the topology. The tables then show the time beyond it, in seconds.
// The window is 0 if the duration is not known or if queries end earlier. The tables then show the whole time to
// result.
type window int64

// window returns the window of the queries of this trial. It is 0 unless the p99 of some step reaches the duration.
func (r *Report) window() window {
	if r.durationMs > 0 &&
		r.anyStep(func(s StepReport) bool { return s.Clients.LatencyP99Ms >= Figure(r.durationMs) }) {
		return window(r.durationMs)
	}
	return 0
}

// head returns the heading of a time to result, without its statistic.
func (w window) head() string {
	if w == 0 {
		return "Time to result"
	}
	return fmt.Sprintf("Result after the query duration of %s", time.Duration(w)*time.Millisecond)
}

// unit returns the unit of the values of beyond.
func (w window) unit() string {
	if w == 0 {
		return "ms"
	}
	return "s late"
}

// beyond returns the part of a time to result that exceeds the window, in unit. It is negative if the query ended
// earlier.
func (w window) beyond(ms Figure) Figure {
	if w == 0 {
		return ms
	}
	return (ms - Figure(w)) / 1000
}

// capital returns the text with a capital first letter. The text must not be empty.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// stepHead returns the heading of the column that names the steps. For a rate it says "asked for", because the rate
// that was reached has a column of its own.
func (r *Report) stepHead() string {
	name := r.Axis
	if strings.HasSuffix(name, "/s") {
		name += " requested"
	}
	return capital(name)
}

// stepCell returns the name of a step without its unit, which is in the heading.
func (r *Report) stepCell(s StepReport) string {
	if s.Label == "1 query" {
		return "1"
	}
	return strings.Replace(s.Label, " "+r.Axis[strings.LastIndex(r.Axis, " ")+1:], "", 1)
}

// stepColumn is a column of a table that has a row for each step.
type stepColumn = document.Of[StepReport]

// partColumn is a column of a part of the CPU. Its cell is blank if the part is unknown.
func partColumn(head string, part func(StepReport) Figure) stepColumn {
	return document.Number(head, "ms/min", func(s StepReport) string {
		return strings.TrimPrefix(tuning.Fixed(part(s), 0), document.Unknown)
	})
}

// timeColumn is a column of a time to result. Seconds have two decimals.
func timeColumn(w window, head string, ms func(StepReport) Figure) stepColumn {
	decimals := 0
	if w > 0 {
		decimals = 2
	}
	return figureColumn(head, w.unit(), decimals, func(s StepReport) Figure { return w.beyond(ms(s)) })
}

// verdictColumn is the column of verdicts.
func verdictColumn() stepColumn {
	return document.Text("Verdict", func(s StepReport) string { return string(s.Verdict) })
}

// idleColumn is the column of the idle share of the host.
func (r *Report) idleColumn() stepColumn {
	return percentColumn(idleHead(r.host()), func(s StepReport) Figure { return s.HostIdle })
}

// stepTable is the table of Bullet's tuning document: simultaneous queries, average CPU, average result size. The other
// columns show how far these can be trusted. Blank columns are omitted.
func (r *Report) stepTable(steps []StepReport) document.Table {
	return document.TableOf(steps, document.Number(r.stepHead(), "", r.stepCell),
		figureColumn("Average CPU", "ms/min", 0, func(s StepReport) Figure { return s.AverageCPUMsPerMinute }),
		document.Number("Average result size", "", func(s StepReport) string {
			if s.Queries == 0 {
				return ""
			}
			return tuning.Fixed(s.AverageResultSize, 2)
		}),
		document.Number("Records generated", "", generatedCell),
		document.Number("Records missing", "", missingCell),
		figureColumn("Filter latency, mean", "ms", 2, func(s StepReport) Figure { return s.FilterLatencyMeanMs }),
		document.Number("Filter latency, p99 ms", "", func(s StepReport) string {
			return knownOr(s.FilterLatency != nil, func() string { return roundedMs(s.FilterLatency.P99Ms) })
		}),
		verdictColumn(),
		figureColumn("Average cores", "", 2, func(s StepReport) Figure { return s.AverageCPUCores }),
		countColumn("Workers", func(s StepReport) int { return s.Workers }),
		figureColumn("Total CPU", "ms/min", 0, func(s StepReport) Figure { return s.TotalCPUMsPerMinute }),
		partColumn("Total CPU, user", func(s StepReport) Figure { return s.TotalCPUUserMsPerMinute }),
		partColumn("Total CPU, system", func(s StepReport) Figure { return s.TotalCPUSystemMsPerMinute }),
		figureColumn("Total cores", "", 2,
			func(s StepReport) Figure { return s.TotalCPUMsPerMinute / Figure(minuteMs) }),
		percentColumn("GC share of CPU", func(s StepReport) Figure { return s.GCShareOfCPU }),
		figureColumn("Total GC", "ms/min", 0, func(s StepReport) Figure { return s.TotalGCMsPerMinute }),
		figureColumn("Heap, mean", "MiB", 0, func(s StepReport) Figure { return s.AverageHeapUsedBytes / mib }),
		figureColumn("Total heap", "MiB", 0, func(s StepReport) Figure { return s.TotalHeapUsedBytes / mib }),
		r.idleColumn(),
		figureColumn("Records/s", "", 0, func(s StepReport) Figure { return s.RecordsPerSecond }),
		figureColumn("MiB/s", "", 2, func(s StepReport) Figure { return s.MiBPerSecond })).WithoutBlank()
}

// summary returns the climb in seven columns for the first screen: the verdicts and the figures behind them. Without a
// climb it returns the steps for the cost.
func (r *Report) summary() document.Table {
	steps, cost := r.byLoad()
	if len(steps) == 0 {
		steps = cost
	}
	return document.TableOf(steps, document.Number(r.stepHead(), "", r.stepCell), verdictColumn(),
		figureColumn("Total CPU", "ms/min", 0, func(s StepReport) Figure { return s.TotalCPUMsPerMinute }),
		figureColumn("Filter latency, mean", "ms", 2, func(s StepReport) Figure { return s.FilterLatencyMeanMs }),
		figureColumn("Average result size", "", 2, func(s StepReport) Figure { return s.AverageResultSize }),
		r.idleColumn(), document.Text("Limited by", StepReport.limiterCell)).WithoutBlank()
}

// generatedCell returns the number of records that were generated for the returned queries. It is blank if that is not
// known.
func generatedCell(s StepReport) string {
	if s.Clients.ExpectedRecords == 0 {
		return ""
	}
	return tuning.Count(s.Clients.GeneratedRecords)
}

// missingCell returns how many of the due records are missing. It is blank if that is not known, so that 0 always means
// that records were counted.
func missingCell(s StepReport) string {
	c := s.Clients
	switch {
	case c.ExpectedRecords == 0:
		return ""
	case c.MissingRecords == 0:
		return "0"
	}
	return tuning.Count(c.MissingRecords) + " of " + tuning.Count(c.ExpectedRecords)
}

// queryTable shows the outcomes of the queries. The columns about the load client appear only if some step has
// something to report in them.
func (r *Report) queryTable() document.Table {
	w := r.window()
	columns := []stepColumn{
		document.Number(r.stepHead(), "", r.stepCell),
		countColumn("Submitted", func(s StepReport) int { return s.Clients.Submitted }),
		figureColumn("Running, mean", "", 1, func(s StepReport) Figure { return s.QueriesRunningMean }),
		countColumn("Returned", func(s StepReport) int { return s.Clients.Returned }),
		countColumn("Failed", func(s StepReport) int { return s.Clients.Failed }),
		countColumn("Unfinished", func(s StepReport) int { return s.Clients.Unfinished }),
		countColumn("Cut off by step end", func(s StepReport) int { return s.Clients.CutOff }),
		countColumn("Records missing", func(s StepReport) int { return s.Clients.MissingRecords }),
		timeColumn(w, w.head()+", mean", func(s StepReport) Figure { return s.Clients.LatencyMeanMs }),
		timeColumn(w, "p50", func(s StepReport) Figure { return s.Clients.LatencyP50Ms }),
		timeColumn(w, "p99", func(s StepReport) Figure { return s.Clients.LatencyP99Ms }),
	}
	// These columns count what the load client could not do as planned.
	for _, about := range []struct {
		head  string
		count func(StepReport) int
	}{
		{"Failed: refused", func(s StepReport) int { return s.Clients.Refused }},
		{"Scheduled, not submitted", func(s StepReport) int { return s.Clients.NotSubmitted }},
		{"Times as lower bounds", func(s StepReport) int { return s.Clients.LowerBounds }},
	} {
		if r.anyStep(func(s StepReport) bool { return about.count(s) > 0 }) {
			columns = append(columns, countColumn(about.head, about.count))
		}
	}
	return document.TableOf(r.inOrder(), columns...)
}

// evidenceTable shows what limited the steps, with the most important evidence. report.json has all evidence. Steps
// without evidence are left out.
func (r *Report) evidenceTable() document.Table {
	known := tuning.Those(r.inOrder(), func(s StepReport) bool { return s.Evidence != nil && s.Limitation != nil })
	return document.TableOf(known, document.Number(r.stepHead(), "", r.stepCell),
		verdictColumn(),
		document.Text("Limited by", StepReport.limiterCell),
		percentColumn("Busiest filter", func(s StepReport) Figure { return s.Evidence.Bolt(tuning.FilterBolt).BusyMost }),
		percentColumn("GC share of time", func(s StepReport) Figure { return s.Evidence.GC.ShareOfTime }),
		percentColumn("Spouts throttled", func(s StepReport) Figure {
			// Both keep a spout from emitting, so the column is their sum. Back-pressure may be unknown.
			held := s.Evidence.Spout.HeldByPending
			if back := s.Evidence.Spout.HeldByBackPressure; back.Known() {
				held += back
			}
			return held
		}),
		figureColumn("Source lag growth,", "records/s", 1,
			func(s StepReport) Figure { return s.Evidence.Source.LagGrowth }),
		figureColumn("Active, maximum", "", 0, func(s StepReport) Figure { return s.Evidence.Queries.ActiveMost }),
		figureColumn("Workers restarted", "", 0, func(s StepReport) Figure { return s.Evidence.Workers.Restarts }),
		r.idleColumn()).WithoutBlank()
}

// limiterCell returns the limiters of the step for a table cell. It returns Unknown for an OK step without a known
// limiter.
func (s StepReport) limiterCell() string {
	if s.Limitation == nil || s.Verdict == tuning.OK && !s.Limitation.Known() {
		return document.Unknown
	}
	return limitedBy(*s.Limitation)
}

// limitedBy lists the limiters for a table cell.
func limitedBy(l tuning.Limitation) string { return strings.Join(l.Names(), ", ") }

// shareTable shows each process' share of the host in each step.
func (r *Report) shareTable() document.Table {
	t := newGrid(r.inOrder(), "Process")
	for i, s := range t.steps {
		for _, share := range s.Shares {
			t.set(i, tuning.Percent(share.Ratio), share.Process)
		}
	}
	return t.table()
}

// reasons returns the stored reasons of the steps that were not OK.
func (r *Report) reasons() (out []string) {
	for _, s := range r.inOrder() {
		for _, reason := range s.Reasons {
			out = append(out, fmt.Sprintf("%s (%s): %s.", s.Label, s.Verdict, reason))
		}
	}
	return out
}

// doubts lists two kinds of steps: those that failed without a known limiter, with the reason why it is not known, and
// those that were OK although records are missing. The latter happens if their goals allow it or if there is no such
// goal.
func (r *Report) doubts() (out []string) {
	for _, s := range r.inOrder() {
		if s.Limitation != nil && !s.Limitation.Known() && s.Verdict == tuning.Fail {
			out = append(out, fmt.Sprintf("%s: limiter: %s.", s.Label, s.Limitation.Text))
		}
	}
	for _, s := range r.inOrder() {
		c := s.Clients
		if s.Verdict != tuning.OK || c.MissingRecords == 0 || c.ExpectedRecords == 0 {
			continue
		}
		out = append(out, fmt.Sprintf("%s: OK, because its goals allow it, although %s of %s records are missing from the answers (completeness %s).",
			s.Label, tuning.Count(c.MissingRecords), tuning.Count(c.ExpectedRecords), completenessText(c)))
	}
	return out
}

// completenessText formats the completeness with two decimals. It returns 100.00% only if no record is missing.
func completenessText(c runstore.Clients) string {
	text := tuning.PercentIn(c.Completeness(), 2)
	if text == "100.00%" && c.MissingRecords > 0 {
		return "above 99.99%"
	}
	return text
}

// hostStep is the work of one load host in one step, a row of the table of load hosts.
type hostStep struct {
	step StepReport
	host runstore.ClientHost
}

// loadHostBlocks shows what each load client did in each step, if there were several load hosts. Each host has its own
// rows, because a client at its limit makes latencies look worse than they are.
func (r *Report) loadHostBlocks() []document.Block {
	var rows []hostStep
	for _, s := range r.inOrder() {
		for _, h := range s.Clients.Hosts {
			rows = append(rows, hostStep{s, h})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return []document.Block{document.Tabled(document.TableOf(rows,
		document.Number(r.stepHead(), "", func(row hostStep) string { return r.stepCell(row.step) }),
		document.Text("Load host", func(row hostStep) string { return row.host.Host }),
		countColumn("Queries submitted", func(row hostStep) int { return row.host.Submitted }),
		percentColumn("Share of all", func(row hostStep) Figure {
			return Figure(row.host.Submitted) / Figure(row.step.Clients.Submitted)
		}),
		countColumn("Scheduled, not submitted", func(row hostStep) int { return row.host.NotSubmitted }),
		figureColumn("Late, p99", "ms", 0, func(row hostStep) Figure { return row.host.LatenessP99Ms }),
		figureColumn("CPU", "cores", 2, func(row hostStep) Figure { return row.host.CPUCores }),
		figureColumn("CPU limit", "cores", 0, func(row hostStep) Figure { return row.host.CPULimitCores }),
		document.Text("At its limit", func(row hostStep) string {
			e := row.step.Evidence
			return tuning.YesNo(e != nil && slices.Contains(e.Client.HostsAtLimit(), row.host.Host))
		})))}
}
