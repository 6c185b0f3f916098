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

// Document is the predictions as people read them. Each question is a section of its own. Figures are rounded here; the
// JSON has all their digits.
func (a *Answers) Document() *document.Document {
	d := &document.Document{Title: "What a configuration would do that was never run"}
	within := tuning.ConfidencePercent(a.Confidence)
	for i, answer := range a.Answers {
		d.Findings = append(d.Findings, fmt.Sprintf("From %s in %s; intervals of %s.",
			tuning.Counted(answer.Steps, "step"), strings.Join(answer.From, ", "), within))
		for _, p := range answer.Predictions {
			title := p.title()
			if len(a.Answers) > 1 {
				title += fmt.Sprintf(" (%s)", strings.Join(answer.From, ", "))
			}
			d.Add(title, document.List(p.beyond()), document.Tabled(p.table(within)), document.List(p.Notes),
				document.Heading("Components"), document.Tabled(busyTable(p.Busy)),
				document.Heading("What one more costs"), document.Tabled(forecasts(p.Costs, within)))
		}
		if f, drawn := answer.figure(i); drawn {
			d.Figures = append(d.Figures, f)
		}
	}
	for _, n := range a.Notes {
		d.Note(n)
	}
	d.Note(fmt.Sprintf("Beyond what was measured each doubling adds a scatter of %s to a figure: an assumption, since nothing was measured there.",
		tuning.Percent(perDoubling)))
	return d
}

// title is what is asked.
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

// beyond is how far the question reaches, in lines. What was never measured is listed apart, because no figure follows
// it.
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
		lines = append(lines, "never measured, and in no figure: "+strings.Join(never, ", "))
	}
	switch {
	case len(lines) == 0:
		return []string{"within what was measured"}
	case p.Scatter > 0:
		lines = append(lines, fmt.Sprintf("so far beyond, the figures scatter by %s more",
			tuning.Percent(tuning.Figure(p.Scatter))))
	}
	return lines
}

// table is the figures, the capacities and the machines. What the scheduler is asked for is exact and stands beside the
// predictions with a note.
func (p *Prediction) table(within string) document.Table {
	all := slices.Concat(p.Figures, p.Capacity)
	if r := p.Request; r != nil {
		exact := func(name, unit string, v float64) Forecast {
			return Forecast{name, unit, tuning.Estimate{Value: tuning.Figure(v), Low: tuning.Figure(v),
				High: tuning.Figure(v), Note: "exact, of the scheduler"}}
		}
		all = append(all, exact("CPU requested", "cores", r.CPUCores), exact("memory requested", "MiB", r.MemoryMiB))
	}
	if p.Machines != nil {
		all = append(all, Forecast{"machines", "", *p.Machines})
	}
	return forecasts(all, within)
}

// forecasts are a table of figures with their intervals. The last column has the note of a figure that is not known.
func forecasts(all []Forecast, within string) document.Table {
	return document.TableOf(all,
		document.Text("Figure", func(f Forecast) string { return f.Name }),
		document.Number("Predicted", "", func(f Forecast) string { return roughly(f.Value) }),
		document.Number("Interval ("+within+")", "", func(f Forecast) string { return span(f.Estimate) }),
		document.Text("Unit", func(f Forecast) string { return f.Unit }),
		document.Text("", func(f Forecast) string { return f.Note }))
}

// roughly writes three digits: more mean nothing of a prediction. What exceeds unbounded is no bound at all.
func roughly(v tuning.Figure) string {
	if v > unbounded {
		return "no bound"
	}
	if v >= 10_000 {
		return tuning.TwoDigits(v)
	}
	return tuning.Digits(v)
}

// span is an interval as people read it. An upper end that no figure bounds is written as such, because a number of
// fifteen digits would look measured.
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

// busyTable shows how busy the executors of each component would be. It names a component that would hold the topology
// up: certain where even the lower end is full, possible where the upper end is.
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
				return "holds the topology up"
			case b.High >= 1:
				return "may hold the topology up"
			}
			return b.Note
		}))
}

// figure is the latency over the questions' queries, of each configuration that was asked with several.
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

// configuration is what the legend calls it. All predictions of one configuration have one name and one colour.
func (p *Prediction) configuration() string {
	if n := p.Setup.filterBolts(); n > 0 {
		return tuning.Digits(tuning.Figure(n)) + " filter bolts"
	}
	return cmp.Or(p.Label, "predicted")
}

// Document is the check as people read it.
func (c *Check) Document() *document.Document {
	all := c.Summaries[len(c.Summaries)-1]
	d := &document.Document{Title: "Predictions of steps that were measured, each left out", Verdict: c.verdict()}
	d.Findings = []string{
		fmt.Sprintf("%s of the steps of %s, each predicted from all steps but it and its repeats: %s inside the interval of %s (goal: %s), the median error is %s, half the median interval %s.",
			tuning.Counted(all.Held, "figure"),
			tuning.Counted(c.Launches, "launch"), tuning.Percent(all.Inside),
			tuning.ConfidencePercent(c.Confidence), tuning.Percent(CoverageGoal), tuning.Percent(all.MedianError),
			tuning.Percent(all.HalfWidth)),
		fmt.Sprintf("Half the median interval is %s median errors (goal: %s). Of normal errors it is 2.9 at 95%%, and 2.4 at 90%%: narrower ones would hold fewer.",
			tuning.TwoDigits(all.WidthOverError), tuning.Digits(WidthGoal)),
	}
	if c.Capacity.Held > 0 {
		d.Findings = append(d.Findings,
			fmt.Sprintf("%s, each predicted from the other configurations: %s inside, the median error is %s (goal: below %s).",
				tuning.Counted(c.Capacity.Held, "capacity"),
				tuning.Percent(c.Capacity.Inside), tuning.Percent(c.Capacity.MedianError),
				tuning.Percent(CapacityErrorGoal)))
	}
	d.Add("By figure", document.Tabled(document.TableOf(c.Summaries,
		document.Text("Figure", func(s Summary) string { return s.Name }),
		document.Number("Held out", "", func(s Summary) string { return fmt.Sprint(s.Held) }),
		document.Number("Inside", "", func(s Summary) string { return tuning.Percent(s.Inside) }),
		document.Number("Median error", "", func(s Summary) string { return tuning.Percent(s.MedianError) }),
		document.Number("Half the median interval", "", func(s Summary) string { return tuning.Percent(s.HalfWidth) }),
		document.Number("over the error", "", func(s Summary) string { return tuning.TwoDigits(s.WidthOverError) }))))
	d.Add("Capacities", document.Tabled(document.TableOf(c.Capacities,
		document.Text("Configuration", func(h HeldCapacity) string { return h.Configuration }),
		document.Number("Measured", "", func(h HeldCapacity) string { return h.measured() }),
		document.Number("Predicted", "", func(h HeldCapacity) string { return roughly(h.Predicted.Value) }),
		document.Number("Interval", "", func(h HeldCapacity) string { return span(h.Predicted) }),
		document.Text("Unit", func(h HeldCapacity) string { return h.Unit }),
		document.Text("Inside", func(h HeldCapacity) string { return yes(h.Inside) }))))
	d.Add("Steps", document.Tabled(document.TableOf(c.Steps,
		document.Text("Step", func(s HeldStep) string { return s.Step }),
		document.Text("Figure", func(s HeldStep) string { return string(s.Figure) }),
		document.Number("Measured", "", func(s HeldStep) string { return tuning.Digits(tuning.Figure(s.Measured)) }),
		document.Number("Predicted", "", func(s HeldStep) string { return roughly(s.Predicted.Value) }),
		document.Number("Interval", "", func(s HeldStep) string { return span(s.Predicted) }),
		document.Text("Unit", func(s HeldStep) string { return s.Unit }),
		document.Text("Inside", func(s HeldStep) string { return yes(s.Inside) }))))
	for _, why := range slices.Sorted(maps.Keys(c.LeftOut)) {
		d.Note(fmt.Sprintf("%s not looked at, %s", tuning.Counted(c.LeftOut[why], "step"), why))
	}
	for _, n := range c.Notes {
		d.Note(n)
	}
	return d
}

// measured is the bracket in which the capacity was found.
func (h HeldCapacity) measured() string {
	if h.FirstFail.Known() {
		return fmt.Sprintf("[%s, %s)", tuning.Digits(tuning.Figure(h.LastOK)), tuning.Digits(h.FirstFail))
	}
	return "at least " + tuning.Digits(tuning.Figure(h.LastOK))
}

// yes is a truth as tables have it.
func yes(inside bool) string {
	if inside {
		return "yes"
	}
	return "no"
}

// Missed are the goals that a check missed, as sentences. That of the width is none of them: with coverage it cannot be
// met by normal errors.
func (c *Check) Missed() (all []string) {
	if s := c.Summaries[len(c.Summaries)-1]; float64(s.Inside) < CoverageGoal {
		all = append(all, fmt.Sprintf("%s of the figures are inside their interval, less than %s",
			tuning.Percent(s.Inside), tuning.Percent(CoverageGoal)))
	}
	if float64(c.Capacity.MedianError) >= CapacityErrorGoal {
		all = append(all, fmt.Sprintf("the median error of the capacity is %s, not below %s",
			tuning.Percent(c.Capacity.MedianError), tuning.Percent(CapacityErrorGoal)))
	}
	return all
}

// verdict is the check's head line, by the same goals as Missed.
func (c *Check) verdict() string {
	if len(c.Missed()) > 0 {
		return "goals missed"
	}
	return "goals held"
}
