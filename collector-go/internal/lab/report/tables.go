package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// repeatedFigure is a figure whose spread over the launches is shown. Its name is in report.json, so the names are a
// public format.
type repeatedFigure struct {
	name, unit string
	of         func(*StepReport) Figure
}

// timeToResultP99 is the name of the figure in report.json. The heading of its column differs if the queries run for a
// fixed time.
const timeToResultP99 = "time to result, p99"

// repeatedFigures are in the order of the columns. Ratios are in percent, as their units say.
var repeatedFigures = []repeatedFigure{
	{"filter latency, mean", "ms", func(s *StepReport) Figure { return s.FilterLatencyMeanMs }},
	{"CPU of all workers", "ms/min", func(s *StepReport) Figure { return s.TotalCPUMsPerMinute }},
	{"CPU, mean of a worker", "ms/min", func(s *StepReport) Figure { return s.AverageCPUMsPerMinute }},
	{"GC's share of CPU", "%", func(s *StepReport) Figure { return 100 * s.GCShareOfCPU }},
	{"result size", "records", func(s *StepReport) Figure { return s.AverageResultSize }},
	{timeToResultP99, "ms", func(s *StepReport) Figure { return s.Clients.LatencyP99Ms }},
	{"records", "records/s", func(s *StepReport) Figure { return s.RecordsPerSecond }},
	{hostIdle, "%", func(s *StepReport) Figure { return 100 * s.HostIdle }},
}

// repeats returns the values of the axis that several launches measured, with the spread of each known figure.
func (r *RunReport) repeats() (all []Repeated) {
	for _, row := range r.Rows {
		for _, m := range r.measured(row.Configuration) {
			if len(m.steps) < 2 {
				continue
			}
			repeated := Repeated{Configuration: row.Label, Value: m.value, Verdicts: m.verdicts}
			for _, f := range repeatedFigures {
				if spread := SpreadOf(tuning.Each(m.steps, f.of)); spread.Launches > 0 {
					repeated.Figures = append(repeated.Figures, RepeatedFigure{f.name, f.unit, spread})
				}
			}
			all = append(all, repeated)
		}
	}
	return all
}

// repeatBlocks returns the table with the means of the repeats and their spread.
func (r *RunReport) repeatBlocks() []document.Block {
	if len(r.Results.Repeats) == 0 {
		return nil
	}
	columns := []document.Of[Repeated]{
		document.Text("Configuration", func(r Repeated) string { return r.Configuration }),
		digitsColumn(capital(r.axis()), "", func(r Repeated) Figure { return Figure(r.Value) }),
		document.Text("Verdicts", func(r Repeated) string { return verdictsText(r.Verdicts) }),
	}
	columns = append(columns, tuning.Each(repeatedFigures, r.spreadColumn)...)
	return []document.Block{
		document.Paragraph("Each cell has the mean of the launches. In brackets are the minimum, the maximum and the number (n) of launches. report.json also has the standard deviation. The figures and fits above use the means."),
		document.Tabled(document.TableOf(r.Results.Repeats, columns...).WithoutBlank()),
	}
}

// spreadColumn is the column of one figure's spread. If the queries run for a fixed time, the times to result count
// from its end.
func (r *RunReport) spreadColumn(f repeatedFigure) document.Of[Repeated] {
	name, unit, shown := f.name, f.unit, Spread.String
	switch name {
	case hostIdle:
		name = r.host() + " idle"
	case timeToResultP99:
		w := window(0)
		for _, t := range r.reported() {
			w = max(w, t.Report.window())
		}
		name, unit, shown = w.head()+", p99", w.unit(), func(s Spread) string {
			s.Mean, s.Least, s.Most = w.beyond(s.Mean), w.beyond(s.Least), w.beyond(s.Most)
			return s.String()
		}
	}
	return document.Number(capital(name), unit, func(r Repeated) string {
		i := slices.IndexFunc(r.Figures, func(own RepeatedFigure) bool { return own.Name == f.name })
		return knownOr(i >= 0, func() string { return shown(r.Figures[i].Spread) })
	})
}

// verdictsText returns "OK" if all verdicts agree, else all of them: "OK, FAIL, OK".
func verdictsText(all []tuning.Verdict) string {
	names := tuning.Texts(all)
	if distinct := slices.Compact(slices.Clone(names)); len(distinct) == 1 {
		return distinct[0]
	}
	return strings.Join(names, ", ")
}

// Tables returns the run's figures in the form that tune analyze and tune size take.
func (r *RunReport) Tables() Tables {
	t := r.Results.tables
	t.Concurrency = slices.Concat(r.Results.Concurrency, r.Results.Costs)
	t.QueryGoals, t.Notes = r.queryGoals(), append([]string{}, r.Results.notes...)
	if !r.Finished {
		t.Notes = append(t.Notes, "the run has not ended, so its table is incomplete")
	}
	return t
}

// csvFiles returns the CSV files that tune analyze and tune size read, by their names. Numbers have all their digits,
// so that an analysis of a file gives the figures of the report. A table without rows has no file.
func (r *RunReport) csvFiles() map[string][]byte {
	files := map[string][]byte{}
	t := r.Tables()
	if len(t.Points) > 0 {
		files["queries.csv"] = t.points().CSV()
	}
	if len(t.Volumes) > 0 {
		files["data.csv"] = volumesTable(t.Volumes).CSV()
	}
	for i, c := range t.Concurrency {
		files[fmt.Sprintf("concurrency-%d.csv", i+1)] = c.steps().CSV()
	}
	return files
}

// plainColumn is a column of numbers for programs: with all digits, and empty if the number is unknown.
func plainColumn[T any](head string, figure func(T) float64) document.Of[T] {
	return document.Number(head, "", func(row T) string {
		v := figure(row)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	})
}

// points returns the table of queries.csv. The columns of the record rate and of the used cores exist only if these are
// known.
func (t Tables) points() document.Table {
	type point = tuning.QueryPoint
	columns := []document.Of[point]{
		countColumn(tuning.ColumnFilterBolts, func(p point) int { return p.FilterBolts }),
		countColumn(tuning.ColumnQueries, func(p point) int { return p.Queries }),
		plainColumn(tuning.ColumnLatency, func(p point) float64 { return p.LatencyMs }),
		plainColumn(tuning.ColumnTopologyCPU, func(p point) float64 { return float64(p.TopologyCPUCores) }),
		plainColumn(tuning.ColumnTopologyMemory, func(p point) float64 { return float64(p.TopologyMemoryMiB) }),
		document.Text(tuning.ColumnVerdict, func(p point) string { return string(p.Verdict) }),
	}
	if t.RecordsPerS.Known() {
		columns = append(columns,
			plainColumn(tuning.ColumnRecordRate, func(point) float64 { return float64(t.RecordsPerS) }))
	}
	if slices.ContainsFunc(t.Points, func(p point) bool { return p.UsedCPUCores > 0 }) {
		columns = append(columns, plainColumn(tuning.ColumnUsedCPU, func(p point) float64 {
			// 0 means "not measured" in a point. In a file it would be read as no cores at all.
			if p.UsedCPUCores == 0 {
				return math.NaN()
			}
			return float64(p.UsedCPUCores)
		}))
	}
	return document.TableOf(t.Points, columns...)
}

// volumesTable has the columns of Test 6 of the tuning document and the off-heap memory. It has the used cores only if
// they are known for every volume. A volume without known components has empty cells for them.
func volumesTable(volumes []tuning.DataRow) document.Table {
	type row = tuning.DataRow
	ofComponent := func(head string, number func(tuning.Component) Figure) document.Of[row] {
		return plainColumn(head, func(v row) float64 {
			if v.Component.Name == "" {
				return math.NaN()
			}
			return float64(number(v.Component))
		})
	}
	columns := []document.Of[row]{
		plainColumn(tuning.ColumnDataRate, func(v row) float64 { return v.DataMiBPerS }),
		plainColumn(tuning.ColumnRecordRate, func(v row) float64 { return v.RecordsPerS }),
	}
	if slices.ContainsFunc(volumes, func(v row) bool { return v.Component.Name != "" }) {
		columns = append(columns,
			document.Text(tuning.ColumnComponent, func(v row) string { return v.Component.Name }),
			ofComponent(tuning.ColumnParallelism, func(c tuning.Component) Figure { return Figure(c.Parallelism) }),
			ofComponent(tuning.ColumnCPUEach, func(c tuning.Component) Figure { return c.CPUCoresEach }),
			ofComponent(tuning.ColumnOnHeap, func(c tuning.Component) Figure { return c.OnHeapMiB }),
			ofComponent(tuning.ColumnOffHeap, func(c tuning.Component) Figure { return c.OffHeapMiB }))
	}
	columns = append(columns, plainColumn(tuning.ColumnTotalCPU6, func(v row) float64 { return v.TotalCPUCores }))
	if !slices.ContainsFunc(volumes, func(v row) bool { return v.UsedCPUCores == 0 }) {
		columns = append(columns, plainColumn(tuning.ColumnUsedCPU, func(v row) float64 { return v.UsedCPUCores }))
	}
	columns = append(columns, plainColumn(tuning.ColumnTotalMemory, func(v row) float64 { return v.TotalMemoryMiB }))
	return document.TableOf(volumes, columns...)
}

// steps returns the table of a file concurrency-N.csv, with the columns of Bullet's tuning document and the verdicts.
// The verdicts are those of the run, because a step may have missed a goal that the table does not show.
func (c NamedConcurrency) steps() document.Table {
	type step = tuning.ConcurrencyRow
	return document.TableOf(c.Rows,
		countColumn(tuning.ColumnSimultaneousQueries, func(s step) int { return s.Queries }),
		plainColumn(tuning.ColumnAverageCPU, func(s step) float64 { return float64(s.AverageCPUMsPerMinute) }),
		plainColumn(tuning.ColumnAverageResultSize, func(s step) float64 { return float64(s.AverageResultSize) }),
		plainColumn(tuning.ColumnWorkers, func(s step) float64 { return float64(s.Workers) }),
		plainColumn(tuning.ColumnTotalCPU, func(s step) float64 { return float64(s.TotalCPUMsPerMinute) }),
		plainColumn(tuning.ColumnAverageGC, func(s step) float64 { return float64(s.AverageGCMsPerMinute) }),
		document.Text(tuning.ColumnVerdict, func(s step) string { return string(s.Verdict) }),
	)
}
