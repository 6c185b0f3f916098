package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Spread is a figure over several launches of one configuration: each launch's own mean is one value.
type Spread struct {
	Launches int    `json:"launches"`
	Mean     Figure `json:"mean"`
	Least    Figure `json:"least"`
	Most     Figure `json:"most"`
	// Deviation is the standard deviation of the launches (n - 1); null of one.
	Deviation Figure `json:"standard_deviation"`
}

// SpreadOf leaves out what is not known.
func SpreadOf(values []Figure) Spread {
	s := Spread{Mean: Unknown, Least: Unknown, Most: Unknown, Deviation: Unknown}
	var known []Figure
	for _, v := range values {
		if v.Known() {
			known = append(known, v)
		}
	}
	if s.Launches = len(known); s.Launches == 0 {
		return s
	}
	s.Mean, s.Least, s.Most = average(known), slices.Min(known), slices.Max(known)
	if s.Launches > 1 {
		squares := 0.0
		for _, v := range known {
			squares += float64((v - s.Mean) * (v - s.Mean))
		}
		s.Deviation = Figure(math.Sqrt(squares / float64(s.Launches-1)))
	}
	return s
}

// String is the mean with its spread: "12.4 (11.8 to 13.1, n 3)".
func (s Spread) String() string {
	switch s.Launches {
	case 0:
		return "–"
	case 1:
		return tuning.Digits(s.Mean) + " (n 1)"
	}
	return fmt.Sprintf("%s (%s to %s, n %d)", tuning.Digits(s.Mean), tuning.Digits(s.Least), tuning.Digits(s.Most), s.Launches)
}

// Repeated is one configuration at one place of the axis, over its repeats.
type Repeated struct {
	Configuration string           `json:"configuration"`
	Value         float64          `json:"value"`
	Verdicts      []tuning.Verdict `json:"verdicts"` // of each repeat
	Figures       []RepeatedFigure `json:"figures"`
}

// RepeatedFigure is one of its figures.
type RepeatedFigure struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Spread
}

// repeatedFigures are those whose spread is told.
var repeatedFigures = []struct {
	name, unit string
	of         func(*StepReport) Figure
}{
	{"filter latency, mean", "ms", func(s *StepReport) Figure { return s.FilterLatencyMeanMs }},
	{"CPU of all workers", "ms/min", func(s *StepReport) Figure { return s.TotalCPUMsPerMinute }},
	{"CPU, mean of a worker", "ms/min", func(s *StepReport) Figure { return s.AverageCPUMsPerMinute }},
	{"GC's share of CPU", "%", func(s *StepReport) Figure { return 100 * s.GCShareOfCPU }},
	{"result size", "records", func(s *StepReport) Figure { return s.AverageResultSize }},
	{"time to result, p99", "ms", func(s *StepReport) Figure { return s.Clients.LatencyP99Ms }},
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
func (r *RunReport) repeatBlocks() []block {
	if len(r.Judged.Repeats) == 0 {
		return nil
	}
	t := table{Heads: []string{"Configuration", strings.ToUpper(r.axis()[:1]) + r.axis()[1:], "Verdicts"}, Numeric: []bool{false, true, false}}
	for _, f := range repeatedFigures {
		name := f.name
		if name == hostIdle {
			name = r.host() + " idle"
		}
		t.Heads, t.Numeric = append(t.Heads, strings.ToUpper(name[:1])+name[1:]+" "+f.unit), append(t.Numeric, true)
	}
	for _, repeated := range r.Judged.Repeats {
		row := []string{repeated.Configuration, tuning.Digits(Figure(repeated.Value)), verdictsText(repeated.Verdicts)}
		for _, f := range repeatedFigures {
			cell := "–"
			for _, figure := range repeated.Figures {
				if figure.Name == f.name {
					cell = figure.String()
				}
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return []block{paragraph("The mean of the launches, in brackets the least and the most of them and how many (n) there are; report.json has their standard deviation too. " +
		"The figures and fits above are of the means."), tabled(t.withoutBlank())}
}

// verdictsText is "OK" where all agree, else each: "OK, FAIL, OK".
func verdictsText(all []tuning.Verdict) string {
	if len(slices.Compact(slices.Clone(all))) == 1 {
		return string(all[0])
	}
	var names []string
	for _, v := range all {
		names = append(names, string(v))
	}
	return strings.Join(names, ", ")
}
