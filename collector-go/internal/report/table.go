package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// table is a table of text, for HTML and Markdown alike.
type table struct {
	Heads []string
	Rows  [][]string
	// Numeric says which columns are numbers, set flush right.
	Numeric []bool
}

// stepHead names the column that names the steps.
func (r *Report) stepHead() string {
	name := r.axisName()
	if strings.HasSuffix(name, "/s") {
		name += " asked for"
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// stepCell names a step in a table whose column says of what.
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

// stepTable is the document's table: simultaneous queries, average CPU, average result size; then what it takes to believe them.
func (r *Report) stepTable() table {
	t := table{
		Heads: []string{r.stepHead(), "Average CPU ms/min", "Average result size", "Records generated", "Records missing", "Filter latency, mean ms", "p99 ms by the hook", "Verdict",
			"Average cores", "Workers", "Total CPU ms/min", "Total cores", "GC of CPU", "Total GC ms/min", "Heap, mean MiB", "Total heap MiB", idleHead(r.host()), "Records/s", "MiB/s"},
		Numeric: []bool{true, true, true, true, true, true, true, false, true, true, true, true, true, true, true, true, true, true, true},
	}
	for _, s := range r.Steps {
		size, p99 := number(s.AverageResultSize, 2), "–"
		if s.FilterLatency != nil {
			p99 = number(s.FilterLatency.P99Ms, 2)
		}
		if s.Queries == 0 {
			size = ""
		}
		generated, missing := recordCells(s.Clients)
		t.Rows = append(t.Rows, []string{r.stepCell(s), number(s.AverageCPUMsPerMinute, 0), size, generated, missing, number(s.FilterLatencyMeanMs, 2), p99,
			string(s.Verdict), number(s.AverageCPUCores, 2), strconv.Itoa(s.Workers), number(s.TotalCPUMsPerMinute, 0), number(s.TotalCPUMsPerMinute/Figure(minuteMs), 2),
			percent(s.GCShareOfCPU), number(s.TotalGCMsPerMinute, 0), number(s.AverageHeapUsedBytes/(1<<20), 0),
			number(s.TotalHeapUsedBytes/(1<<20), 0), percent(s.HostIdle), number(s.RecordsPerSecond, 0), number(s.MiBPerSecond, 2)})
	}
	return t.withoutBlank()
}

// recordCells are how many records were generated for the queries that returned, and how many of those due are missing; blank where it
// cannot be told.
func recordCells(c Clients) (generated, missing string) {
	if c.DueRecords == 0 {
		return "", ""
	}
	missing = tuning.Grouped(strconv.Itoa(c.MissingRecords))
	if c.MissingRecords > 0 {
		missing += fmt.Sprintf(" of %s", tuning.Grouped(strconv.Itoa(c.DueRecords)))
	}
	return tuning.Grouped(strconv.Itoa(c.GeneratedRecords)), missing
}

// withoutBlank leaves out columns of which nothing is known.
func (t table) withoutBlank() table {
	var out table
	out.Rows = make([][]string, len(t.Rows))
	for column := range t.Heads {
		if column > 0 && len(t.Rows) > 0 && !slices.ContainsFunc(t.Rows, func(row []string) bool { return row[column] != "–" && row[column] != "" }) {
			continue
		}
		out.Heads, out.Numeric = append(out.Heads, t.Heads[column]), append(out.Numeric, t.Numeric[column])
		for i, row := range t.Rows {
			out.Rows[i] = append(out.Rows[i], row[column])
		}
	}
	return out
}

// queryTable is what became of the queries.
func (r *Report) queryTable() table {
	t := table{
		Heads: []string{r.stepHead(), "Submitted", "Running, mean", "Returned", "Failed", "Unfinished", "Cut off by the end", "Records missing",
			"Time to result, mean ms", "p50 ms", "p99 ms"},
		Numeric: []bool{true, true, true, true, true, true, true, true, true, true, true},
	}
	for _, s := range r.Steps {
		c := s.Clients
		t.Rows = append(t.Rows, []string{r.stepCell(s), strconv.Itoa(c.Submitted), number(s.QueriesRunningMean, 1), strconv.Itoa(c.Returned),
			strconv.Itoa(c.Failed), strconv.Itoa(c.Unfinished), strconv.Itoa(c.CutOff), strconv.Itoa(c.MissingRecords), number(c.LatencyMeanMs, 0), number(c.LatencyP50Ms, 0),
			number(c.LatencyP99Ms, 0)})
	}
	r.addClients(&t, "Of the failed refused", func(c Clients) int { return c.Refused })
	r.addClients(&t, "Due and not submitted", func(c Clients) int { return c.NotSubmitted })
	r.addClients(&t, "Times that are lower bounds", func(c Clients) int { return c.LowerBounds })
	return t
}

// addClients adds a column about the load client where there is something to tell in any step.
func (r *Report) addClients(t *table, head string, count func(Clients) int) {
	if !slices.ContainsFunc(r.Steps, func(s StepReport) bool { return count(s.Clients) > 0 }) {
		return
	}
	t.Heads, t.Numeric = append(t.Heads, head), append(t.Numeric, true)
	for i, s := range r.Steps {
		t.Rows[i] = append(t.Rows[i], strconv.Itoa(count(s.Clients)))
	}
}

// shareTable is each process' share of the host, step by step.
func (r *Report) shareTable() table {
	t := table{Heads: []string{"Process"}, Numeric: []bool{false}}
	rows := map[string]int{}
	for i, s := range r.Steps {
		t.Heads, t.Numeric = append(t.Heads, stepName(s)), append(t.Numeric, true)
		for _, share := range s.Shares {
			row, found := rows[share.Process]
			if !found {
				row = len(t.Rows)
				rows[share.Process] = row
				t.Rows = append(t.Rows, blanks(share.Process, len(r.Steps)))
			}
			t.Rows[row][i+1] = percent(share.Ratio)
		}
	}
	return t
}

func blanks(name string, n int) []string {
	row := make([]string, n+1)
	row[0] = name
	for i := range n {
		row[i+1] = "–"
	}
	return row
}

func entryTable(entries []Entry) table {
	t := table{Heads: []string{"", ""}, Numeric: []bool{false, false}}
	for _, e := range entries {
		t.Rows = append(t.Rows, []string{e.Key, e.Value})
	}
	return t
}

// markdown is the table as Markdown; a bar within a cell is escaped.
func (t table) markdown() string {
	var out strings.Builder
	row := func(cells []string) {
		out.WriteString("|")
		for _, cell := range cells {
			cell = strings.NewReplacer("|", `\|`, "\n", " ").Replace(cell)
			out.WriteString(" " + cell + " |")
		}
		out.WriteString("\n")
	}
	row(t.Heads)
	out.WriteString("|")
	for _, numeric := range t.Numeric {
		if numeric {
			out.WriteString("---:|")
		} else {
			out.WriteString("---|")
		}
	}
	out.WriteString("\n")
	for _, cells := range t.Rows {
		row(cells)
	}
	return out.String()
}

// Summary is the table of steps for a terminal.
func (r *Report) Summary() string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "queries\tCPU ms/min per worker\taverage result size\tfilter latency ms\thost idle\tverdict\t")
	for _, s := range r.Steps {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t\n", s.Queries, number(s.AverageCPUMsPerMinute, 0), number(s.AverageResultSize, 2),
			number(s.FilterLatencyMeanMs, 2), percent(s.HostIdle), s.Verdict)
	}
	w.Flush()
	for _, reason := range r.reasons() {
		out.WriteString(reason + "\n")
	}
	return out.String()
}
