package searchfile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// Account returns the document for a result. It shows the best configuration as lines of a settings file, its changes
// against the start (nil for none), and its cost. The trials, the proof, the open configurations, cost against latency,
// and twice the load follow. further are findings that the caller adds. The function only formats: all figures, and the
// sentences about the proof, come from the result. The document omits sections without rows.
func (f *File) Account(r *optimize.Result, start map[string]any, costUnit string,
	further ...string) *document.Document {
	d := &document.Document{Title: fmt.Sprintf("%s: the cheapest configuration that holds %s", f.Name,
		targetText(r.Target)), Verdict: verdict(r)}
	d.Findings = append(findings(r, costUnit), further...)
	if r.Best != nil {
		d.Add("Best, as settings", document.Verbatim(settingsText("", r.Best.Settings, nil)))
		if start != nil {
			d.Add("Against the start",
				document.Diff(settingsText("- ", start, r.Best.Settings)+settingsText("+ ", r.Best.Settings, start)))
		}
	}
	if r.Best != nil {
		d.Add("Resources, and what they cost", document.Tabled(resourceTable(r, costUnit)))
	}
	d.Add("The way", document.Tabled(trialTable(r)), document.Heading("Why each"), document.List(reasons(r)))
	d.Add("Proof: what failed, and rules out all that is cheaper", document.Tabled(proofTable(r)))
	d.Add("Open", document.Tabled(openTable(r)))
	d.Add("Pareto front: nothing that was tried is both cheaper and quicker", document.Tabled(paretoTable(r)))
	if len(r.TwiceTheLoad) > 0 {
		d.Add("For twice the load",
			document.Paragraph("If what the load needs of a setting grows as the load does: what was shown not to be enough, and what is, twice over (half, where less is easier)."),
			document.Tabled(requirementTable(r)))
	}
	d.Figures = []chart.Figure{front(r, costUnit).Figure()}
	return d
}

// BestText returns the best configuration as lines of a settings file. The first line is a comment that says how sure
// the result is. r.Best must not be nil.
func (f *File) BestText(r *optimize.Result) string {
	return fmt.Sprintf("# %s: %s.\n", f.Name, Outcome(r)) + settingsText("", r.Best.Settings, nil)
}

// settingsText returns a line for each setting whose value differs from the other configuration; nil means all
// settings. The names are sorted, so that two results can be compared line by line.
func settingsText(lead string, settings, but map[string]any) (lines string) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if but == nil || but[name] != settings[name] {
			lines += fmt.Sprintf("%s%s: %s\n", lead, name, valueText(settings[name]))
		}
	}
	return lines
}

// valueText formats a value for YAML. Numbers have all their digits and no exponent.
func valueText(v any) string {
	if n, is := v.(float64); is {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	text, err := yaml.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(string(text))
}

// verdict returns the word for the result in the title of the document. "proven" also covers a proof that no
// configuration holds the target. The verdict is "not proven" while something is open, and "not found" if in addition
// nothing has held.
func verdict(r *optimize.Result) string {
	switch {
	case r.Proven && r.Best != nil:
		return "proven"
	case r.Proven:
		return "proven: there is none"
	case r.Best != nil:
		return "not proven"
	}
	return "not found"
}

// Outcome describes a result in a sentence without its full stop. The terminal, the document and the settings file all
// use this sentence. A result without a best configuration may be proven, too: then no configuration of the space holds
// the target.
func Outcome(r *optimize.Result) string {
	open := fmt.Sprintf("%s could be cheaper and hold", tuning.Counted(r.OpenConfigurations, "configuration"))
	if r.Best == nil {
		open = fmt.Sprintf("%s could hold", tuning.Counted(r.OpenConfigurations, "configuration"))
	}
	switch {
	case r.Proven && r.Best != nil:
		than := ""
		if r.Tolerance > 0 {
			than = fmt.Sprintf(" by more than %s%%", percent(r.Tolerance))
		}
		return fmt.Sprintf("the best is proven: all that is cheaper%s failed, or is no easier than what failed", than)
	case r.Proven:
		return "no configuration of the space holds the target: all failed, or are no easier than what failed"
	case r.Best != nil:
		return "the best so far is not proven: " + open
	}
	return "nothing that was tried held the target: " + open
}

// findings returns the sentences of the result, the best configuration first. The doubt is omitted if it is 0.
func findings(r *optimize.Result, costUnit string) (out []string) {
	if r.Best != nil {
		out = append(out, fmt.Sprintf("Best: %s, at a cost of %s.", r.Best.Text, costText(r.Best.Cost, costUnit)))
	}
	seconds := 0.0
	for _, t := range r.Trials {
		seconds += t.Seconds
	}
	out = append(out, strings.ToUpper(Outcome(r)[:1])+Outcome(r)[1:]+".")
	out = append(out, fmt.Sprintf("%s of %s, %s.", tuning.Counted(len(r.Trials), "trial"),
		tuning.Counted(r.Configurations, "configuration"), Took(seconds)))
	if r.Doubt > 0 {
		out = append(out, fmt.Sprintf("The probability that noise turned a verdict that this rests on: %s%%.",
			tuning.TwoDigits(tuning.Figure(100*r.Doubt))))
	}
	return out
}

// Took formats a time in seconds for people. It drops fractions of a second.
func Took(seconds float64) string {
	return (time.Duration(seconds*float64(time.Second)) / time.Second * time.Second).String()
}

// costText formats a cost with its unit; "" means no unit.
func costText(cost float64, unit string) string {
	return strings.TrimSpace(tuning.Digits(tuning.Figure(cost)) + " " + unit)
}

// targetText describes the target for a title: first the load, then the goals. What the file does not state is omitted.
func targetText(t optimize.Target) string {
	var load, goals []string
	add := func(into *[]string, f tuning.Figure, format string) {
		if f.Known() {
			*into = append(*into, fmt.Sprintf(format, tuning.Digits(f)))
		}
	}
	add(&load, t.Queries, "%s queries")
	add(&load, t.RecordsPerSecond, "%s records/s")
	add(&load, t.MiBPerSecond, "%s MiB/s")
	add(&goals, t.LatencyMs, "at most %s ms")
	add(&goals, 100*t.Completeness, "at least %s%% complete")
	add(&goals, t.CatchUp, "a catch-up of at least %s : 1")
	if len(load) == 0 {
		load = []string{"the load"}
	}
	return strings.Join(load, ", ") + " with " + strings.Join(goals, ", ")
}

// ms formats a latency. It is infinite if no record was returned, which is a measurement and not an unknown figure.
func ms(f tuning.Figure) string {
	if math.IsInf(float64(f), 1) {
		return "endless"
	}
	return figureText(f)
}

// figureText formats a figure, or returns the document's mark for unknown.
func figureText(f tuning.Figure) string {
	if !f.Known() {
		return document.Unknown
	}
	return tuning.Digits(f)
}

// trialTable lists the trials in the order in which they ran. Columns without any value are omitted.
func trialTable(r *optimize.Result) document.Table {
	type row = optimize.Record
	return document.TableOf(r.Trials,
		document.Number("Trial", "", func(t row) string { return fmt.Sprint(t.Number) }),
		document.Text("Configuration", func(t row) string {
			if t.Attempt > 1 {
				return fmt.Sprintf("%s (attempt %d)", t.Text, t.Attempt)
			}
			return t.Text
		}),
		document.Number("Cost", "", func(t row) string { return costText(t.Cost, "") }),
		document.Text("Verdict", func(t row) string { return string(t.Verdict) }),
		document.Number("Latency", "ms", func(t row) string { return ms(t.LatencyMs) }),
		document.Number("Complete", "%", func(t row) string { return figureText(100 * t.Completeness) }),
		document.Number("Catch-up", "", func(t row) string { return figureText(t.CatchUp) }),
		document.Text("Limited by", func(t row) string { return string(t.Limiter) }),
	).WithoutBlank()
}

// reasons lists why each trial was run, with its number in the table of trials.
func reasons(r *optimize.Result) (out []string) {
	for _, t := range r.Trials {
		out = append(out, fmt.Sprintf("%d: %s", t.Number, t.Why))
	}
	return out
}

// percent formats a share as a percentage with two digits, without the sign.
func percent(share float64) string { return tuning.TwoDigits(tuning.Figure(100 * share)) }

// proofTable lists the configurations that the proof relies on. The numbers of configurations that they rule out add
// up, because none is counted twice.
func proofTable(r *optimize.Result) document.Table {
	type row = optimize.Fact
	return document.TableOf(r.Proof,
		document.Text("Failed", func(f row) string { return f.Text }),
		document.Number("Rules out", "", func(f row) string { return fmt.Sprint(f.RulesOut) }),
		document.Number("Trials", "", func(f row) string { return fmt.Sprint(f.Trials) }),
		document.Number("Doubt", "%", func(f row) string { return percent(f.Doubt) }))
}

// openTable lists the configurations that could be cheaper and hold, and why each is still open.
func openTable(r *optimize.Result) document.Table {
	type row = optimize.Open
	return document.TableOf(r.Open,
		document.Text("Configuration", func(o row) string { return o.Text }),
		document.Number("Cost", "", func(o row) string { return costText(o.Cost, "") }),
		document.Number("Likely to hold", "%", func(o row) string { return percent(o.Holds) }),
		document.Text("Why", func(o row) string { return o.Why }))
}

// resourceTable lists the costs of the best configuration. The base cost has a row of its own, so that the rows add up
// to the last one.
func resourceTable(r *optimize.Result, unit string) document.Table {
	rows := slices.Clone(r.Resources)
	if r.BaseCost != 0 {
		rows = append(rows, optimize.Resource{Setting: "any configuration", Cost: tuning.Figure(r.BaseCost)})
	}
	rows = append(rows, optimize.Resource{Setting: "all", Cost: tuning.Figure(r.Best.Cost)})
	return document.TableOf(rows,
		document.Text("Setting", func(r optimize.Resource) string { return r.Setting }),
		document.Text("Value", func(r optimize.Resource) string { return strings.TrimSpace(r.As + " " + r.Value) }),
		document.Number("Cost", unit, func(r optimize.Resource) string { return figureText(r.Cost) }))
}

// requirementTable shows which value of each setting is not enough for twice the load and which is. It also says
// whether the space has such a value.
func requirementTable(r *optimize.Result) document.Table {
	type row = optimize.Requirement
	return document.TableOf(r.TwiceTheLoad,
		document.Text("Setting", func(n row) string { return n.As }),
		document.Number("Best", "", func(n row) string { return n.Value }),
		document.Number("Failed", "", func(n row) string { return n.Failed }),
		document.Number("Not enough", "", func(n row) string { return figureText(n.Beyond) }),
		document.Number("Enough", "", func(n row) string { return figureText(n.Enough) }),
		document.Text("May be tried", func(n row) string {
			if n.Covered {
				return "yes"
			}
			return "no, to " + n.Tried
		}))
}

// paretoTable lists the configurations that held for which none is both cheaper and faster.
func paretoTable(r *optimize.Result) document.Table {
	type row = optimize.Best
	return document.TableOf(r.Pareto,
		document.Text("Configuration", func(b row) string { return b.Text }),
		document.Number("Cost", "", func(b row) string { return costText(b.Cost, "") }),
		document.Number("Latency", "ms", func(b row) string { return ms(b.LatencyMs) }),
		document.Number("Trials", "", func(b row) string { return fmt.Sprint(b.Trials) }))
}

// front draws latency over cost for configurations that held, for those that failed, and for the Pareto front. The
// latency axis is logarithmic. Trials without a latency are not drawn.
func front(r *optimize.Result, costUnit string) chart.Plot {
	held, failed := chart.Points{Name: "held", Colour: chart.Series(0)},
		chart.Points{Name: "failed", Colour: chart.Series(1)}
	for _, t := range r.Trials {
		if !t.LatencyMs.Known() {
			continue
		}
		into := &failed
		if t.Verdict == tuning.OK {
			into = &held
		}
		into.X, into.Y = append(into.X, t.Cost), append(into.Y, float64(t.LatencyMs))
	}
	line := chart.Points{Name: "Pareto front", Colour: chart.Series(0), Joined: true}
	for _, b := range r.Pareto {
		if b.LatencyMs.Known() {
			line.X, line.Y = append(line.X, b.Cost), append(line.Y, float64(b.LatencyMs))
		}
	}
	limit := chart.NoLimit
	if r.Target.LatencyMs.Known() {
		limit = chart.Limit{At: float64(r.Target.LatencyMs), Name: "goal"}
	}
	return chart.Plot{Name: "optimize-front", Title: "Latency over cost of each trial",
		XLabel: strings.TrimSuffix("cost, "+costUnit, ", "), YLabel: "latency, ms",
		LogY: true, Crop: true, Limit: limit, Points: []chart.Points{held, failed, line}}
}
