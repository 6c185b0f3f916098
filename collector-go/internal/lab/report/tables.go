package report

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

const timeToResultP99 = "time to result, p99"

// repeatedFigures are those whose spread is shown.
var repeatedFigures = []struct {
	name, unit string
	of         func(*StepReport) Figure
}{
	{"filter latency, mean", "ms", func(s *StepReport) Figure { return s.FilterLatencyMeanMs }},
	{"CPU of all workers", "ms/min", func(s *StepReport) Figure { return s.TotalCPUMsPerMinute }},
	{"CPU, mean of a worker", "ms/min", func(s *StepReport) Figure { return s.AverageCPUMsPerMinute }},
	{"GC's share of CPU", "%", func(s *StepReport) Figure { return 100 * s.GCShareOfCPU }},
	{"result size", "records", func(s *StepReport) Figure { return s.AverageResultSize }},
	{timeToResultP99, "ms", func(s *StepReport) Figure { return s.Clients.LatencyP99Ms }},
	{"records", "records/s", func(s *StepReport) Figure { return s.RecordsPerSecond }},
	{hostIdle, "%", func(s *StepReport) Figure { return 100 * s.HostIdle }},
}

// repeats are the places that more than one launch measured.
func (r *RunReport) repeats() (all []Repeated) {
	for _, row := range r.Rows {
		for _, m := range r.measured(row.Configuration) {
			if len(m.steps) < 2 {
				continue
			}
			repeated := Repeated{Configuration: row.Label, Value: m.value, Verdicts: m.verdicts}
			for _, f := range repeatedFigures {
				var values []Figure
				for _, s := range m.steps {
					values = append(values, f.of(s))
				}
				if spread := SpreadOf(values); spread.Launches > 0 {
					repeated.Figures = append(repeated.Figures, RepeatedFigure{f.name, f.unit, spread})
				}
			}
			all = append(all, repeated)
		}
	}
	return all
}

// repeatBlocks are the means of the repeats with their spread beside them.
func (r *RunReport) repeatBlocks() []document.Block {
	w := window(0)
	for _, t := range r.reported() {
		w = max(w, t.Report.window())
	}
	columns := []document.Of[Repeated]{
		document.Text("Configuration", func(r Repeated) string { return r.Configuration }),
		digitsColumn(capital(r.axis()), "", func(r Repeated) Figure { return Figure(r.Value) }),
		document.Text("Verdicts", func(r Repeated) string { return verdictsText(r.Verdicts) }),
	}
	for _, f := range repeatedFigures {
		name, unit, shown := f.name, f.unit, func(s Spread) string { return s.String() }
		switch name {
		case hostIdle:
			name = r.host() + " idle"
		case timeToResultP99:
			name, unit, shown = w.head()+", p99", w.unit(), func(s Spread) string {
				s.Mean, s.Least, s.Most = w.beyond(s.Mean), w.beyond(s.Least), w.beyond(s.Most)
				return s.String()
			}
		}
		columns = append(columns, document.Number(capital(name), unit, func(r Repeated) string {
			i := slices.IndexFunc(r.Figures, func(own RepeatedFigure) bool { return own.Name == f.name })
			if i < 0 {
				return document.Unknown
			}
			return shown(r.Figures[i].Spread)
		}))
	}
	if len(r.Results.Repeats) == 0 {
		return nil
	}
	return []document.Block{
		document.Paragraph(
			"The mean of the launches, in brackets the least and the most of them and how many (n) there are; " +
				"report.json has their standard deviation too. The figures and fits above are of the means.",
		),
		document.Tabled(document.TableOf(r.Results.Repeats, columns...).WithoutBlank()),
	}
}

// verdictsText is "OK" where all agree, else each: "OK, FAIL, OK".
func verdictsText(all []tuning.Verdict) string {
	names := tuning.Texts(all)
	if distinct := slices.Compact(slices.Clone(names)); len(distinct) == 1 {
		return distinct[0]
	}
	return strings.Join(names, ", ")
}

// Tables are the run's.
func (r *RunReport) Tables() Tables {
	t := r.Results.tables
	for _, c := range slices.Concat(r.Results.Concurrency, r.Results.Costs) {
		t.Concurrency = append(t.Concurrency, c.table())
	}
	t.QueryGoals, t.Notes = r.queryGoals(), append([]string{}, r.Results.notes...)
	if !r.Finished {
		t.Notes = append(t.Notes, "the run has not ended: its table is as far as it came")
	}
	return t
}

// csvFiles are the run's figures as the files that tune analyze and tune size read. A number is written with all its
// digits, so that what is made of the file is what the report states.
func (r *RunReport) csvFiles() map[string][]byte {
	files := map[string][]byte{}
	t := r.Tables()
	if len(t.Points) > 0 {
		files["queries.csv"] = csvOf(pointRows(t))
	}
	if len(t.Volumes) > 0 {
		files["data.csv"] = csvOf(volumeRows(t.Volumes))
	}
	for i, c := range t.Concurrency {
		files[fmt.Sprintf("concurrency-%d.csv", i+1)] = csvOf(stepRows(c.Rows))
	}
	return files
}

func pointRows(t Tables) [][]string {
	head := []string{
		tuning.ColumnFilterBolts, tuning.ColumnQueries, tuning.ColumnLatency, tuning.ColumnTopologyCPU,
		tuning.ColumnTopologyMemory, tuning.ColumnVerdict,
	}
	if t.RecordsPerS.Known() {
		head = append(head, tuning.ColumnRecordRate)
	}
	used := slices.ContainsFunc(t.Points, func(p tuning.QueryPoint) bool { return p.UsedCPUCores > 0 })
	if used {
		head = append(head, tuning.ColumnUsedCPU)
	}
	rows := [][]string{head}
	for _, p := range t.Points {
		row := []string{
			strconv.Itoa(p.FilterBolts), strconv.Itoa(p.Queries), plain(p.LatencyMs),
			plain(float64(p.TopologyCPUCores)), plain(float64(p.TopologyMemoryMiB)), string(p.Verdict),
		}
		if t.RecordsPerS.Known() {
			row = append(row, plain(float64(t.RecordsPerS)))
		}
		if used {
			row = append(row, plain(float64(cmp.Or(p.UsedCPUCores, Unknown))))
		}
		rows = append(rows, row)
	}
	return rows
}

// volumeRows have the columns of the document's Test 6, the off-heap memory, and the cores that were used where they
// are known of each volume.
func volumeRows(volumes []tuning.DataRow) [][]string {
	components := slices.ContainsFunc(volumes, func(v tuning.DataRow) bool { return v.Component.Name != "" })
	head := []string{tuning.ColumnDataRate, tuning.ColumnRecordRate}
	if components {
		head = append(head, tuning.ColumnComponent, tuning.ColumnParallelism, tuning.ColumnCPUEach, tuning.ColumnOnHeap,
			tuning.ColumnOffHeap)
	}
	head = append(head, tuning.ColumnTotalCPU6)
	used := !slices.ContainsFunc(volumes, func(v tuning.DataRow) bool { return v.UsedCPUCores == 0 })
	if used {
		head = append(head, tuning.ColumnUsedCPU)
	}
	rows := [][]string{append(head, tuning.ColumnTotalMemory)}
	for _, v := range volumes {
		row := []string{plain(v.DataMiBPerS), plain(v.RecordsPerS)}
		switch c := v.Component; {
		case components && c.Name == "":
			row = append(row, "", "", "", "", "")
		case components:
			row = append(row, c.Name, strconv.Itoa(c.Parallelism), plain(float64(c.CPUCoresEach)),
				plain(float64(c.OnHeapMiB)), plain(float64(c.OffHeapMiB)))
		}
		row = append(row, plain(v.TotalCPUCores))
		if used {
			row = append(row, plain(v.UsedCPUCores))
		}
		rows = append(rows, append(row, plain(v.TotalMemoryMiB)))
	}
	return rows
}

func stepRows(steps []tuning.ConcurrencyRow) [][]string {
	rows := [][]string{
		{
			tuning.ColumnSimultaneousQueries, tuning.ColumnAverageCPU, tuning.ColumnAverageResultSize,
			tuning.ColumnWorkers, tuning.ColumnTotalCPU, tuning.ColumnAverageGC, tuning.ColumnVerdict,
		},
	}
	for _, s := range steps {
		rows = append(rows, []string{
			strconv.Itoa(s.Queries), plain(float64(s.AverageCPUMsPerMinute)), plain(float64(s.AverageResultSize)),
			plain(float64(s.Workers)), plain(float64(s.TotalCPUMsPerMinute)),
			plain(float64(s.AverageGCMsPerMinute)), string(s.Verdict),
		})
	}
	return rows
}

// plain writes a number as a table of CSV has it; what is not known is an empty cell.
func plain(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func csvOf(rows [][]string) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.WriteAll(rows) // a buffer takes all
	return out.Bytes()
}
