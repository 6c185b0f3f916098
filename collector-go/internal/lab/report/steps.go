package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// window is how long queries run by themselves, in ms. Bullet's queries end after a duration of their own, and only
// what a result takes beyond it is caused by the topology. The tables then show the time beyond it, in seconds. The
// window is 0 where the duration is not known, or where queries end before it, so that all that they take is what is
// measured.
type window int64

// window is that of the queries whose steps these are.
func (r *Report) window() window {
	if r.durationMs > 0 &&
		r.anyStep(func(s StepReport) bool { return s.Clients.LatencyP99Ms >= Figure(r.durationMs) }) {
		return window(r.durationMs)
	}
	return 0
}

// head names a column or an axis of times to result, without its statistic.
func (w window) head() string {
	if w == 0 {
		return "Time to result"
	}
	return fmt.Sprintf("Result after the query's own %s", time.Duration(w)*time.Millisecond)
}

// unit is that of beyond.
func (w window) unit() string {
	if w == 0 {
		return "ms"
	}
	return "s late"
}

// beyond is a time to result as what it is beyond the window, in unit; negative where a query ended before.
func (w window) beyond(ms Figure) Figure {
	if w == 0 {
		return ms
	}
	return (ms - Figure(w)) / 1000
}

// decimals are as many as beyond has in a table.
func (w window) decimals() int {
	if w == 0 {
		return 0
	}
	return 2
}

// capital begins a text with a capital letter.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// stepHead heads the column that names the steps. A rate of records or queries is only asked for; what was reached has
// a column of its own.
func (r *Report) stepHead() string {
	name := r.axisName()
	if strings.HasSuffix(name, "/s") {
		name += " asked for"
	}
	return capital(name)
}

// stepCell names a step in a table whose head says what the steps count, so the unit is left out.
func (r *Report) stepCell(s StepReport) string {
	if s.Label == "" || s.Label == fmt.Sprintf("%d queries", s.Queries) {
		return strconv.Itoa(s.Queries)
	}
	name := r.axisName()
	if s.Label == "1 query" {
		return "1"
	}
	return strings.Replace(s.Label, " "+name[strings.LastIndex(name, " ")+1:], "", 1)
}

// stepColumn is a column of a table that has a row for each step.
type stepColumn = document.Of[StepReport]

// partColumn is a column of a part of the CPU; blank where the parts are not known.
func partColumn(head string, part func(StepReport) Figure) stepColumn {
	return document.Number(head, "ms/min", func(s StepReport) string {
		return strings.TrimPrefix(number(part(s), 0), document.Unknown)
	})
}

// timeColumn is a column of a time to result.
func timeColumn(w window, head string, ms func(StepReport) Figure) stepColumn {
	return figureColumn(head, w.unit(), w.decimals(), func(s StepReport) Figure { return w.beyond(ms(s)) })
}

// verdictColumn is the verdict. Steps for the cost of a query are marked, because they do not bound the capacity.
func verdictColumn() stepColumn {
	return document.Text("Verdict", func(s StepReport) string {
		if s.ForCost {
			return string(s.Verdict) + " (for the cost)"
		}
		return string(s.Verdict)
	})
}

// idleColumn is how much of the host was idle.
func (r *Report) idleColumn() stepColumn {
	return percentColumn(idleHead(r.host()), func(s StepReport) Figure { return s.HostIdle })
}

// stepTable is the table of Bullet's tuning document: simultaneous queries, average CPU, average result size. The
// further columns are what a reader needs to trust these, and blank columns are left out.
func (r *Report) stepTable() document.Table {
	return document.TableOf(r.Steps, document.Number(r.stepHead(), "", r.stepCell),
		figureColumn("Average CPU", "ms/min", 0, func(s StepReport) Figure { return s.AverageCPUMsPerMinute }),
		document.Number("Average result size", "", func(s StepReport) string {
			if s.Queries == 0 {
				return ""
			}
			return number(s.AverageResultSize, 2)
		}),
		document.Number("Records generated", "", generatedCell),
		document.Number("Records missing", "", missingCell),
		figureColumn("Filter latency, mean", "ms", 2, func(s StepReport) Figure { return s.FilterLatencyMeanMs }),
		document.Number("p99 ms by the hook", "", func(s StepReport) string {
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
		percentColumn("GC of CPU", func(s StepReport) Figure { return s.GCShareOfCPU }),
		figureColumn("Total GC", "ms/min", 0, func(s StepReport) Figure { return s.TotalGCMsPerMinute }),
		figureColumn("Heap, mean", "MiB", 0, func(s StepReport) Figure { return s.AverageHeapUsedBytes / mib }),
		figureColumn("Total heap", "MiB", 0, func(s StepReport) Figure { return s.TotalHeapUsedBytes / mib }),
		r.idleColumn(),
		figureColumn("Records/s", "", 0, func(s StepReport) Figure { return s.RecordsPerSecond }),
		figureColumn("MiB/s", "", 2, func(s StepReport) Figure { return s.MiBPerSecond })).WithoutBlank()
}

// summary is the steps in seven columns, for the first screen: the verdicts, and what they are based on.
func (r *Report) summary() document.Table {
	return document.TableOf(r.Steps, document.Number(r.stepHead(), "", r.stepCell), verdictColumn(),
		figureColumn("Total CPU", "ms/min", 0, func(s StepReport) Figure { return s.TotalCPUMsPerMinute }),
		figureColumn("Filter latency, mean", "ms", 2, func(s StepReport) Figure { return s.FilterLatencyMeanMs }),
		figureColumn("Average result size", "", 2, func(s StepReport) Figure { return s.AverageResultSize }),
		r.idleColumn(),
		document.Text("Limited by", StepReport.limiterCell)).WithoutBlank()
}

// generatedCell is how many records were generated for the queries that returned; blank where that is not known.
func generatedCell(s StepReport) string {
	if s.Clients.DueRecords == 0 {
		return ""
	}
	return grouped(s.Clients.GeneratedRecords)
}

// missingCell is how many of the records that were due are missing; blank where that is not known. 0 is said only of
// records that were counted.
func missingCell(s StepReport) string {
	c := s.Clients
	switch {
	case c.DueRecords == 0:
		return ""
	case c.MissingRecords == 0:
		return "0"
	}
	return grouped(c.MissingRecords) + " of " + grouped(c.DueRecords)
}

// queryTable is what became of the queries. The columns about the load client itself appear only if there is something
// to report of it in some step.
func (r *Report) queryTable() document.Table {
	w := r.window()
	columns := []stepColumn{
		document.Number(r.stepHead(), "", r.stepCell),
		countColumn("Submitted", func(s StepReport) int { return s.Clients.Submitted }),
		figureColumn("Running, mean", "", 1, func(s StepReport) Figure { return s.QueriesRunningMean }),
		countColumn("Returned", func(s StepReport) int { return s.Clients.Returned }),
		countColumn("Failed", func(s StepReport) int { return s.Clients.Failed }),
		countColumn("Unfinished", func(s StepReport) int { return s.Clients.Unfinished }),
		countColumn("Cut off by the end", func(s StepReport) int { return s.Clients.CutOff }),
		countColumn("Records missing", func(s StepReport) int { return s.Clients.MissingRecords }),
		timeColumn(w, w.head()+", mean", func(s StepReport) Figure { return s.Clients.LatencyMeanMs }),
		timeColumn(w, "p50", func(s StepReport) Figure { return s.Clients.LatencyP50Ms }),
		timeColumn(w, "p99", func(s StepReport) Figure { return s.Clients.LatencyP99Ms }),
	}
	// These count what the load client could not do as planned.
	for _, about := range []struct { // the load client, where there is something to report of any step
		head  string
		count func(StepReport) int
	}{
		{"Of the failed refused", func(s StepReport) int { return s.Clients.Refused }},
		{"Due and not submitted", func(s StepReport) int { return s.Clients.NotSubmitted }},
		{"Times that are lower bounds", func(s StepReport) int { return s.Clients.LowerBounds }},
	} {
		if r.anyStep(func(s StepReport) bool { return about.count(s) > 0 }) {
			columns = append(columns, countColumn(about.head, about.count))
		}
	}
	return document.TableOf(r.Steps, columns...)
}

// evidenceTable is what limited the steps, with the evidence that people look for first. report.json has all evidence.
// Steps without evidence are left out.
func (r *Report) evidenceTable() document.Table {
	var known []StepReport
	for _, s := range r.Steps {
		if s.Evidence != nil && s.Limitation != nil {
			known = append(known, s)
		}
	}
	return document.TableOf(known, document.Number(r.stepHead(), "", r.stepCell),
		verdictColumn(),
		document.Text("Limited by", StepReport.limiterCell),
		percentColumn("Busiest filter", func(s StepReport) Figure {
			busy := Unknown
			for _, b := range s.Evidence.Bolts {
				if b.Component == tuning.FilterBolt {
					busy = b.BusyMost
				}
			}
			return busy
		}),
		percentColumn("GC of time", func(s StepReport) Figure { return s.Evidence.GC.ShareOfTime }),
		percentColumn("Spouts held back", func(s StepReport) Figure {
			// Both keep a spout from emitting, so the column is their sum. Back-pressure may be unknown.
			held := s.Evidence.Spout.HeldByPending
			if back := s.Evidence.Spout.HeldByBackPressure; back.Known() {
				held += back
			}
			return held
		}),
		figureColumn("Source behind,", "records/s", 1,
			func(s StepReport) Figure { return s.Evidence.Source.LagGrowth }),
		figureColumn("Active at most", "", 0, func(s StepReport) Figure { return s.Evidence.Queries.ActiveMost }),
		figureColumn("Workers restarted", "", 0, func(s StepReport) Figure { return s.Evidence.Workers.Restarts }),
		r.idleColumn()).WithoutBlank()
}

// limiterCell names what limited the step. A step that was OK and has no known limiter shows none.
func (s StepReport) limiterCell() string {
	if s.Limitation == nil || s.Verdict == tuning.OK && !s.Limitation.Known() {
		return document.Unknown
	}
	return limitedBy(*s.Limitation)
}

// limitedBy names the limiters in a cell.
func limitedBy(l tuning.Limitation) string { return strings.Join(limiters(l), ", ") }

// limiters are the names of what limited a step, or why there is none.
func limiters(l tuning.Limitation) []string {
	switch {
	case l.Known():
		return tuning.Texts(l.Limiters)
	case len(l.Missing) > 0 || len(l.Contradictions) > 0:
		return []string{unknownLimiter}
	}
	return []string{noLimiter}
}

// What stands in a cell in place of limiters.
const (
	unknownLimiter = "cannot tell"
	noLimiter      = "nothing"
)

// shareTable is each process' share of the host, step by step.
func (r *Report) shareTable() document.Table {
	t := r.bySteps("Process")
	for i, s := range r.Steps {
		for _, share := range s.Shares {
			t.set(i, tuning.Percent(share.Ratio), share.Process)
		}
	}
	return t.table()
}

// reasons are why steps are not OK, in the words in which they were stored when the step was judged.
func (r *Report) reasons() (out []string) {
	for _, s := range r.Steps {
		for _, reason := range s.Reasons {
			out = append(out, fmt.Sprintf("%s (%s): %s.", s.name(), s.Verdict, reason))
		}
	}
	return out
}

// doubts are what is missing where a step missed its goals for no known reason, and steps that were OK although records
// are missing: their goals allow it, or none asks for them.
func (r *Report) doubts() (out []string) {
	for _, s := range r.Steps {
		if s.Limitation != nil && !s.Limitation.Known() && s.Verdict == tuning.Fail {
			out = append(out, fmt.Sprintf("%s: what limited the step: %s.", s.name(), s.Limitation.Text))
		}
	}
	for _, s := range r.Steps {
		c := s.Clients
		if s.Verdict != tuning.OK || c.MissingRecords == 0 || c.DueRecords == 0 {
			continue
		}
		out = append(out, fmt.Sprintf(
			"%s: OK by its goals, although %s of the %s records due to its queries are missing (completeness %s).",
			s.name(), grouped(c.MissingRecords), grouped(c.DueRecords), completenessText(c)))
	}
	return out
}

// completenessText never rounds a missing record away: 100.00% is said only if no record is missing.
func completenessText(c runstore.Clients) string {
	share := 100 * float64(c.Completeness())
	text := strconv.FormatFloat(share, 'f', 2, 64)
	if text == "100.00" && c.MissingRecords > 0 {
		return "above 99.99%"
	}
	return text + "%"
}

// hostStep is what the load client of one host did in one step, a row of the table of load hosts.
type hostStep struct {
	step StepReport
	host runstore.ClientHost
}

// loadHostBlocks are what the load clients did of each step, where they were on several hosts. A client at its limit
// makes latencies look worse than they are, so each host is shown by itself.
func (r *Report) loadHostBlocks() []document.Block {
	var rows []hostStep
	for _, s := range r.Steps {
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
		countColumn("Due and not submitted", func(row hostStep) int { return row.host.NotSubmitted }),
		figureColumn("Late, p99", "ms", 0, func(row hostStep) Figure { return row.host.LatenessP99Ms }),
		figureColumn("CPU", "cores", 2, func(row hostStep) Figure { return row.host.CPUCores }),
		figureColumn("Of", "cores", 0, func(row hostStep) Figure { return row.host.CPULimitCores }),
		document.Text("At its limit", func(row hostStep) string {
			e := row.step.Evidence
			return yesNo(e != nil && slices.Contains(e.Client.HostsAtLimit(), row.host.Host))
		})))}
}
