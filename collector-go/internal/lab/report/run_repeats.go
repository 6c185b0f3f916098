package report

import (
	"slices"
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
	if len(r.Judged.Repeats) == 0 {
		return nil
	}
	return []document.Block{
		document.Paragraph(
			"The mean of the launches, in brackets the least and the most of them and how many (n) there are; " +
				"report.json has their standard deviation too. The figures and fits above are of the means.",
		),
		document.Tabled(document.TableOf(r.Judged.Repeats, columns...).WithoutBlank()),
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
