package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// analyses are what follows from all trials together, as people read it.
func (r *RunReport) analyses() (all []*Analysis) {
	if r.Judged.Queries != nil {
		all = append(all, OfQueries(r.Judged.Queries))
	}
	if r.Judged.Data != nil {
		a := OfData(r.Judged.Data)
		if r.Judged.Data.Fits.RecordsPerCore.Slope.Known() { // without a line there is nothing to be off
			a.Charts = append(a.Charts, residualChart(r.Judged.Data))
		}
		all = append(all, a)
	}
	for _, c := range r.Judged.Concurrency {
		all = append(all, named(OfConcurrency(c.Concurrency), c.Label, len(r.Judged.Concurrency)))
	}
	for _, c := range r.Judged.Costs {
		all = append(all, named(OfCost(c.Concurrency), c.Label, len(r.Judged.Costs)))
	}
	for _, t := range r.Judged.Timelines {
		all = append(all, named(OfTimeline(t.Timeline), t.Label, len(r.Judged.Timelines)))
	}
	for i := range r.Compared {
		all = append(all, r.Compared[i].Analysis())
	}
	if len(r.Judged.Concurrency) > 1 {
		all = append([]*Analysis{{Title: "Simultaneous queries: the configurations beside each other", Charts: []Chart{r.configurationsChart()}}}, all...)
	}
	return all
}

// named tells an analysis from its like by the configuration's label.
func named(a *Analysis, label string, of int) *Analysis {
	if of < 2 {
		return a
	}
	a.Title += ": " + label
	for i := range a.Charts {
		a.Charts[i].Title += ": " + label
		a.Charts[i].Name += "-" + fileName(label)
	}
	return a
}

// fileName keeps what is safe in the name of a file.
func fileName(label string) string {
	out := []rune(label)
	for i, c := range out {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.') {
			out[i] = '-'
		}
	}
	return string(out)
}

// mainChart is the figure for the first page.
func mainChart(analyses []*Analysis) *Chart {
	for _, a := range analyses {
		if len(a.Charts) > 0 {
			return &a.Charts[0]
		}
	}
	return nil
}

// withoutChart leaves out the figure that the first page has.
func withoutChart(a *Analysis, shown *Chart) *Analysis {
	rest := *a
	rest.Charts = nil
	for i := range a.Charts {
		if &a.Charts[i] != shown {
			rest.Charts = append(rest.Charts, a.Charts[i])
		}
	}
	return &rest
}

// configurationsChart is the topology's CPU over queries, a line a configuration.
func (r *RunReport) configurationsChart() Chart {
	chart := Chart{Name: "configurations", Title: "CPU of the whole topology over simultaneous queries, by configuration (hollow: FAIL)",
		xLabel: "simultaneous queries", yLabel: "CPU ms/min of all workers", limit: Unknown}
	for i, c := range r.Judged.Concurrency {
		x := floats(c.Steps, func(s tuning.ConcurrencyStep) Figure { return Figure(s.Queries) })
		y := floats(c.Steps, func(s tuning.ConcurrencyStep) Figure { return s.TotalCPUMsPerMinute })
		chart.marks = append(chart.marks, marks{colour: workerColour(i), x: x, y: y, joined: true},
			marks{name: c.Label, colour: workerColour(i), x: x, y: y, verdicts: notFailed(c.Steps)})
	}
	return chart
}

// residualChart is what each volume has more or less than the least-squares line, in the share of what it has.
func residualChart(d *tuning.Data) Chart {
	chart := Chart{Name: "data-residuals", Title: "What each volume has more (or less) than its least-squares line", xLabel: "CPU cores of the topology",
		yLabel: "% of what was measured", limit: Unknown}
	cores := floats(d.Rows, func(v tuning.Volume) Figure { return v.TotalCPUCores })
	for i, line := range []struct {
		name             string
		residual, figure func(tuning.Volume) Figure
	}{
		{"records/s", func(v tuning.Volume) Figure { return v.ResidualRecords }, func(v tuning.Volume) Figure { return v.RecordsPerS }},
		{"MiB/s", func(v tuning.Volume) Figure { return v.ResidualMiB }, func(v tuning.Volume) Figure { return v.DataMiBPerS }},
		{"GiB", func(v tuning.Volume) Figure { return v.ResidualGiB }, func(v tuning.Volume) Figure { return v.TotalMemoryMiB / 1024 }},
	} {
		y := floats(d.Rows, func(v tuning.Volume) Figure { return 100 * line.residual(v) / line.figure(v) })
		chart.marks = append(chart.marks, marks{name: line.name, colour: workerColour(i), x: cores, y: y})
	}
	return chart
}

// recommendation is the operating point of each configuration, as Bullet YAML.
func (r *RunReport) recommendation() []block {
	if r.Judged.Queries == nil {
		return nil
	}
	text := ""
	var unstable []string
	for _, row := range r.Judged.Queries.Rows {
		if row.Recommended == nil {
			continue
		}
		knee := ""
		if row.Knee != nil {
			knee = fmt.Sprintf(", the knee at %d", row.Knee.Queries)
			if !row.Knee.Stable {
				knee += ",\n# which is not stable: without one of the points it would be more than a step elsewhere; measure more steps about it before relying on this"
				unstable = append(unstable, strconv.Itoa(row.FilterBolts))
			}
		}
		text += fmt.Sprintf("# for up to %d simultaneous queries: %s left free of the last step that held, capacity %s%s\n%s: %d\n",
			*row.Recommended, percent(row.Headroom), capacity(row.Capacity), knee, filterParallelism, row.FilterBolts)
	}
	if text == "" {
		return nil
	}
	blocks := []block{paragraph("Operating points below the knee of each configuration.")}
	if len(unstable) > 0 {
		blocks = append(blocks, paragraph("The recommendation for %s filter bolts rests on a knee that is not stable: take it for a guess.", strings.Join(unstable, ", ")))
	}
	return append(blocks, verbatim(text))
}
