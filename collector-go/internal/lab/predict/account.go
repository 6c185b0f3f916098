package predict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// shown replaces the names of two figures for people. Their names in JSON stay, because the random draws of a figure
// depend on its name, and other draws would change the predictions.
var shown = strings.NewReplacer(string(CoresHeld), "CPU for the load", string(MemoryHeld), "memory for the load")

// Document returns the predictions for people, with a section for each question. Figures are rounded here; the JSON has
// all their digits.
func (a *Answers) Document() *document.Document {
	d := &document.Document{Title: "Prediction for configurations that were not measured"}
	within := tuning.ConfidencePercent(a.Confidence)
	for i, answer := range a.Answers {
		d.Findings = append(d.Findings, fmt.Sprintf("Based on %s from %s, with intervals of %s.",
			tuning.Counted(answer.Steps, "step"), strings.Join(answer.From, ", "), within))
		for _, p := range answer.Predictions {
			title := p.title()
			if len(a.Answers) > 1 {
				title += fmt.Sprintf(" (%s)", strings.Join(answer.From, ", "))
			}
			d.Add(title, document.List(p.beyond()), document.Tabled(p.table(within)), document.List(p.Notes),
				document.Heading("Components"), document.Tabled(busyTable(p.Busy)),
				document.Heading("Cost of one more"), document.Tabled(forecasts(p.Costs, within)))
		}
		if f, drawn := answer.figure(i); drawn {
			d.Figures = append(d.Figures, f)
		}
	}
	d.Note(a.Notes...)
	d.Note(fmt.Sprintf("Outside the measurements, each doubling is assumed to add an uncertainty of %s to a figure.",
		tuning.Percent(perDoubling)))
	return d
}

// title describes a question by its load and configuration.
func (p *Prediction) title() string {
	text := tuning.Digits(tuning.Figure(p.Load.Queries)) + " queries"
	if p.Load.RecordsPerSecond.Known() {
		text += ", " + tuning.Digits(p.Load.RecordsPerSecond) + " records/s"
	}
	if n := p.Setup.filterBolts(); n > 0 {
		text += ", " + tuning.Digits(tuning.Figure(n)) + " filter bolts"
	}
	if n := p.Setup.all(); n > p.Setup.filterBolts() {
		text += ", " + tuning.Digits(tuning.Figure(n)) + " executors"
	}
	if p.Label != "" {
		text = p.Label + ": " + text
	}
	return text
}

// beyond describes how far the question lies outside the measurements, in lines. Quantities that were never measured
// are listed separately, because no figure takes them into account.
func (p *Prediction) beyond() (lines []string) {
	var never []string
	for _, r := range p.Beyond {
		if r.Times.Known() {
			lines = append(lines, r.Text())
		} else {
			never = append(never, tuning.Digits(tuning.Figure(r.Wanted))+" "+r.What)
		}
	}
	if len(never) > 0 {
		lines = append(lines, "never measured and not included in the figures: "+strings.Join(never, ", "))
	}
	switch {
	case len(lines) == 0:
		return []string{"within the measurements"}
	case p.Scatter > 0:
		lines = append(lines, fmt.Sprintf("at this distance, the uncertainty of the figures is %s larger",
			tuning.Percent(tuning.Figure(p.Scatter))))
	}
	return lines
}

// table returns the table of figures, capacities and machines. The resource request is exact; a note in its row says
// so.
func (p *Prediction) table(within string) document.Table {
	all := slices.Concat(p.Figures, p.Capacity)
	if r := p.Request; r != nil {
		exact := func(name, unit string, v float64) Forecast {
			return Forecast{name, unit, tuning.Estimate{Value: tuning.Figure(v), Low: tuning.Figure(v),
				High: tuning.Figure(v), Note: "exact: the resource request"}}
		}
		all = append(all, exact("CPU requested", "cores", r.CPUCores), exact("memory requested", "MiB", r.MemoryMiB))
	}
	if p.Machines != nil {
		all = append(all, Forecast{"machines", "", *p.Machines})
	}
	return forecasts(all, within)
}

// forecasts returns a table of figures with their intervals. The last column has the note of a figure.
func forecasts(all []Forecast, within string) document.Table {
	return document.TableOf(all,
		document.Text("Figure", func(f Forecast) string { return shown.Replace(f.Name) }),
		document.Number("Predicted", "", func(f Forecast) string { return roughly(f.Value) }),
		document.Number("Interval ("+within+")", "", func(f Forecast) string { return span(f.Estimate) }),
		document.Text("Unit", func(f Forecast) string { return f.Unit }),
		document.Text("", func(f Forecast) string { return f.Note }))
}

// roughly formats a number with at most three digits, because a prediction is never more exact than that. A value above
// unbounded means that there is no bound.
func roughly(v tuning.Figure) string {
	if v > unbounded {
		return "no bound"
	}
	if v >= 10_000 {
		return tuning.TwoDigits(v)
	}
	return tuning.Digits(v)
}

// span formats an interval. An upper end above unbounded is written as "no bound", because a number with fifteen digits
// would look like a measurement.
func span(e tuning.Estimate) string {
	if e.Low == e.High || !e.Value.Known() {
		return document.Unknown
	}
	high := roughly(e.High)
	if e.High > unbounded || !e.High.Known() && e.Low.Known() {
		high = "no bound"
	}
	return roughly(e.Low) + " to " + high
}

// busyTable shows how busy the executors of each component would be, and which component would be a bottleneck. It
// certainly is one if the lower end of the interval is at least 1, and possibly if the upper end is.
func busyTable(all []Busy) document.Table {
	return document.TableOf(all,
		document.Text("Component", func(b Busy) string { return b.Component }),
		document.Number("Executors", "", func(b Busy) string { return tuning.Digits(tuning.Figure(b.Executors)) }),
		document.Number("Busy", "", func(b Busy) string { return tuning.Percent(b.Value) }),
		document.Number("Interval", "", func(b Busy) string {
			if !b.Value.Known() {
				return document.Unknown
			}
			return tuning.Percent(b.Low) + " to " + tuning.Percent(b.High)
		}),
		document.Text("", func(b Busy) string {
			switch {
			case b.Low >= 1:
				return "a bottleneck"
			case b.High >= 1:
				return "possibly a bottleneck"
			}
			return b.Note
		}))
}

// figure draws the predicted latency over queries, for each configuration. It is drawn only if a configuration has
// several questions.
func (a Answer) figure(number int) (f chart.Figure, drawn bool) {
	plot := chart.Plot{Name: fmt.Sprintf("predicted-latency-%d", number+1),
		Title: "Predicted filter latency, with its interval", XLabel: "queries", YLabel: "ms", LogY: true, Crop: true,
		Limit: chart.NoLimit}
	byConfiguration := map[string][2]int{}
	for _, p := range a.Predictions {
		for _, e := range p.Figures {
			if e.Name != string(Latency) || !e.High.Known() {
				continue
			}
			name := key(p.Setup)
			at, known := byConfiguration[name]
			if !known {
				colour := chart.Series(len(byConfiguration))
				at = [2]int{len(plot.Points), len(plot.Points) + 1}
				byConfiguration[name] = at
				plot.Points = append(plot.Points, chart.Points{Colour: colour, Low: []float64{}},
					chart.Points{Name: p.configuration(), Colour: colour})
			}
			bars, points := &plot.Points[at[0]], &plot.Points[at[1]]
			points.X, points.Y = append(points.X, p.Load.Queries), append(points.Y, float64(e.Value))
			bars.X, bars.Low, bars.High = append(bars.X, p.Load.Queries), append(bars.Low, float64(e.Low)),
				append(bars.High, float64(e.High))
			drawn = drawn || len(points.X) > 1
			if p.LimitMs > 0 {
				plot.Limit = chart.Limit{At: p.LimitMs, Name: "limit"}
			}
		}
	}
	return plot.Figure(), drawn
}

// configuration returns the name of the configuration in the legend.
func (p *Prediction) configuration() string {
	if n := p.Setup.filterBolts(); n > 0 {
		return tuning.Digits(tuning.Figure(n)) + " filter bolts"
	}
	return cmp.Or(p.Label, "predicted")
}

// Document returns the result of a validation for people.
func (c *Check) Document() *document.Document {
	all := c.Summaries[len(c.Summaries)-1]
	d := &document.Document{Title: "Check of the predictions against measured steps", Verdict: map[bool]string{true: "goals missed", false: "goals held"}[len(c.Missed()) > 0]}
	d.Findings = []string{
		fmt.Sprintf("%s of the steps of %s, each predicted without its own step and repeats: %s are inside the interval of %s (goal: %s). The median error is %s, and half the median interval is %s.",
			tuning.Counted(all.Held, "figure"),
			tuning.Counted(c.Launches, "launch"), tuning.Percent(all.Inside), tuning.ConfidencePercent(c.Confidence),
			tuning.Percent(CoverageGoal), tuning.Percent(all.MedianError), tuning.Percent(all.HalfWidth)),
		fmt.Sprintf("Half the median interval is %s times the median error (goal: %s). For normally distributed errors it is 2.9 at 95%% and 2.4 at 90%%; a narrower interval would contain fewer values.",
			tuning.TwoDigits(all.WidthOverError), tuning.Digits(WidthGoal)),
	}
	if c.Capacity.Held > 0 {
		d.Findings = append(d.Findings, fmt.Sprintf("%s, each predicted from the other configurations: %s are inside the interval. The median error is %s (goal: below %s).",
			tuning.Counted(c.Capacity.Held, "capacity"), tuning.Percent(c.Capacity.Inside),
			tuning.Percent(c.Capacity.MedianError), tuning.Percent(CapacityErrorGoal)))
	}
	d.Add("By figure", document.Tabled(document.TableOf(c.Summaries,
		document.Text("Figure", func(s Summary) string { return shown.Replace(s.Name) }),
		document.Number("Count", "", func(s Summary) string { return fmt.Sprint(s.Held) }),
		document.Number("Inside", "", func(s Summary) string { return tuning.Percent(s.Inside) }),
		document.Number("Median error", "", func(s Summary) string { return tuning.Percent(s.MedianError) }),
		document.Number("Half the median interval", "", func(s Summary) string { return tuning.Percent(s.HalfWidth) }),
		document.Number("Half interval / error", "", func(s Summary) string { return tuning.TwoDigits(s.WidthOverError) }))))
	d.Add("Capacities", document.Tabled(document.TableOf(c.Capacities,
		document.Text("Configuration", func(h HeldCapacity) string { return h.Configuration }),
		document.Number("Measured", "", func(h HeldCapacity) string { return h.measured() }),
		document.Number("Predicted", "", func(h HeldCapacity) string { return roughly(h.Predicted.Value) }),
		document.Number("Interval", "", func(h HeldCapacity) string { return span(h.Predicted) }),
		document.Text("Unit", func(h HeldCapacity) string { return h.Unit }),
		document.Text("Inside", func(h HeldCapacity) string { return tuning.YesNo(h.Inside) }))))
	d.Add("Steps", document.Tabled(document.TableOf(c.Steps,
		document.Text("Step", func(s HeldStep) string { return s.Step }),
		document.Text("Figure", func(s HeldStep) string { return shown.Replace(string(s.Figure)) }),
		document.Number("Measured", "", func(s HeldStep) string { return tuning.Digits(tuning.Figure(s.Measured)) }),
		document.Number("Predicted", "", func(s HeldStep) string { return roughly(s.Predicted.Value) }),
		document.Number("Interval", "", func(s HeldStep) string { return span(s.Predicted) }),
		document.Text("Unit", func(s HeldStep) string { return s.Unit }),
		document.Text("Inside", func(s HeldStep) string { return tuning.YesNo(s.Inside) }))))
	for _, why := range slices.Sorted(maps.Keys(c.LeftOut)) {
		d.Note(fmt.Sprintf("%s not used: %s", tuning.Counted(c.LeftOut[why], "step"), why))
	}
	d.Note(c.Notes...)
	return d
}

// measured formats the bracket that contains the measured capacity.
func (h HeldCapacity) measured() string {
	bracket := tuning.Interval{LastOK: &h.LastOK}
	if failed := float64(h.FirstFail); h.FirstFail.Known() {
		bracket.FirstFail = &failed
	}
	return bracket.Text()
}

// Missed returns a sentence for each goal that the validation missed. WidthGoal is not among them, because with normal
// errors it contradicts the goal for coverage.
func (c *Check) Missed() (all []string) {
	if s := c.Summaries[len(c.Summaries)-1]; float64(s.Inside) < CoverageGoal {
		all = append(all, fmt.Sprintf("%s of the figures are inside their interval; the goal is %s",
			tuning.Percent(s.Inside), tuning.Percent(CoverageGoal)))
	}
	if float64(c.Capacity.MedianError) >= CapacityErrorGoal {
		all = append(all, fmt.Sprintf("the median error of the capacity is %s; the goal is below %s",
			tuning.Percent(c.Capacity.MedianError), tuning.Percent(CapacityErrorGoal)))
	}
	return all
}
