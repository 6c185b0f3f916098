package optimize

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// Document returns the document for a result. It shows the best configuration as lines of a settings file, its changes
// against the start (nil for none), and its cost. The trials, the proof, the open configurations, cost against latency,
// and twice the load follow. further are findings that the caller adds. The function only formats: all figures come
// from the result. The document omits sections without rows.
func (r *Result) Document(name string, start map[string]any, costUnit string, further ...string) *document.Document {
	d := &document.Document{Title: fmt.Sprintf("%s: the cheapest configuration for %s", name, r.Target),
		Verdict: verdict(r), Findings: append(findings(r, costUnit), further...)}
	if r.Best != nil {
		d.Add("Best configuration", document.Verbatim(settingsText("", r.Best.Settings, nil)))
		if start != nil {
			d.Add("Changes against the start",
				document.Diff(settingsText("- ", start, r.Best.Settings)+settingsText("+ ", r.Best.Settings, start)))
		}
		d.Add("Cost of the best configuration", document.Tabled(resourceTable(r, costUnit)))
	}
	reasons := tuning.Each(r.Trials, func(t Record) string { return fmt.Sprintf("%d: %s", t.Number, t.Why) })
	d.Add("Trials", document.Tabled(trialTable(r)), document.Heading("Reasons for the trials"), document.List(reasons))
	d.Add("Proof: failed configurations that rule out every cheaper one", document.Tabled(proofTable(r)))
	d.Add("Open configurations", document.Tabled(openTable(r)))
	d.Add("Pareto front: no other trial was both cheaper and faster", document.Tabled(paretoTable(r)))
	if len(r.TwiceTheLoad) > 0 {
		d.Add("Twice the load", document.Paragraph("An estimate that assumes that the required value of each setting is proportional to the load. With `easier: less`, it is inversely proportional."),
			document.Tabled(requirementTable(r)))
	}
	d.Figures = []chart.Figure{front(r, costUnit).Figure()}
	return d
}

// BestText returns the best configuration as lines of a settings file. The first line is a comment that says how sure
// the result is. r.Best must not be nil.
func (r *Result) BestText(name string) string {
	return fmt.Sprintf("# %s: %s.\n", name, r.Outcome()) + settingsText("", r.Best.Settings, nil)
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
// configuration holds the target.
func verdict(r *Result) string {
	if r.Best == nil {
		return map[bool]string{true: "proven: there is none", false: "not found"}[r.Proven]
	}
	return map[bool]string{true: "proven", false: "not proven"}[r.Proven]
}

// Outcome describes a result in a sentence without its full stop. The terminal, the document and the settings file all
// use this sentence.
func (r *Result) Outcome() string {
	than := ""
	if r.Tolerance > 0 {
		than = fmt.Sprintf(" by more than %s%%", percent(r.Tolerance))
	}
	switch open := tuning.Counted(r.OpenConfigurations, "configuration"); {
	case r.Proven && r.Best != nil:
		return "the best configuration is proven: all that are cheaper" + than +
			" failed, or are no easier than one that failed"
	case r.Proven:
		return "no configuration holds the target: all failed, or are no easier than one that failed"
	case r.Best != nil:
		return fmt.Sprintf("the best configuration so far is not proven: %s may be cheaper and hold the target", open)
	default:
		return fmt.Sprintf("no configuration has held the target so far: %s may hold it", open)
	}
}

// findings returns the sentences of the result, the best configuration first. The doubt is omitted if it is 0.
func findings(r *Result, costUnit string) (out []string) {
	if r.Best != nil {
		out = append(out, fmt.Sprintf("Best: %s, at a cost of %s.", r.Best.Text, costText(r.Best.Cost, costUnit)))
	}
	seconds := 0.0
	for _, t := range r.Trials {
		seconds += t.Seconds
	}
	outcome := r.Outcome()
	out = append(out, strings.ToUpper(outcome[:1])+outcome[1:]+".",
		fmt.Sprintf("%s of %s, %s.", tuning.Counted(len(r.Trials), "trial"),
			tuning.Counted(r.Configurations, "configuration"), tuning.Took(seconds)))
	if r.Doubt > 0 {
		out = append(out, fmt.Sprintf("Probability that noise changed a verdict of the proof: %s%%.", percent(r.Doubt)))
	}
	return out
}

// costText formats a cost with its unit; "" means no unit.
func costText(cost float64, unit string) string {
	return strings.TrimSpace(tuning.Digits(tuning.Figure(cost)) + " " + unit)
}

// String describes the target for a title: first the load, then the goals. What the file does not state is omitted.
func (t Target) String() string {
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
	add(&goals, t.CatchUp, "a catch-up ratio of at least %s")
	if len(load) == 0 {
		load = []string{"any load"}
	}
	return strings.Join(load, ", ") + " with " + strings.Join(goals, ", ")
}

// ms formats a latency. It is infinite if no record was returned, which is a measurement and not an unknown figure.
func ms(f tuning.Figure) string {
	if math.IsInf(float64(f), 1) {
		return "infinite"
	}
	return tuning.Digits(f)
}

// trialTable lists the trials in the order in which they ran. Columns without any value are omitted.
func trialTable(r *Result) document.Table {
	type row = Record
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
		document.Number("Complete", "%", func(t row) string { return tuning.Digits(100 * t.Completeness) }),
		document.Number("Catch-up", "", func(t row) string { return tuning.Digits(t.CatchUp) }),
		document.Text("Limited by", func(t row) string { return string(t.Limiter) }),
	).WithoutBlank()
}

// percent formats a share as a percentage with two digits, without the sign.
func percent(share float64) string { return tuning.TwoDigits(tuning.Figure(100 * share)) }

// proofTable lists the configurations that the proof relies on. The numbers of configurations that they rule out add
// up, because none is counted twice.
func proofTable(r *Result) document.Table {
	return document.TableOf(r.Proof,
		document.Text("Failed", func(f Fact) string { return f.Text }),
		document.Number("Rules out", "", func(f Fact) string { return fmt.Sprint(f.RulesOut) }),
		document.Number("Trials", "", func(f Fact) string { return fmt.Sprint(f.Trials) }),
		document.Number("Doubt", "%", func(f Fact) string { return percent(f.Doubt) }))
}

// openTable lists the configurations that could be cheaper and hold, and why each is still open.
func openTable(r *Result) document.Table {
	return document.TableOf(r.Open,
		document.Text("Configuration", func(o Open) string { return o.Text }),
		document.Number("Cost", "", func(o Open) string { return costText(o.Cost, "") }),
		document.Number("Holds", "%", func(o Open) string { return percent(o.Holds) }),
		document.Text("Why", func(o Open) string { return o.Why }))
}

// resourceTable lists the costs of the best configuration. The base cost has a row of its own, so that the rows add up
// to the last one.
func resourceTable(r *Result, unit string) document.Table {
	rows := slices.Clone(r.Resources)
	if r.BaseCost != 0 {
		rows = append(rows, Resource{Setting: "base cost", Cost: tuning.Figure(r.BaseCost)})
	}
	rows = append(rows, Resource{Setting: "total", Cost: tuning.Figure(r.Best.Cost)})
	return document.TableOf(rows,
		document.Text("Setting", func(r Resource) string { return r.Setting }),
		document.Text("Value", func(r Resource) string { return strings.TrimSpace(r.As + " " + r.Value) }),
		document.Number("Cost", unit, func(r Resource) string { return tuning.Digits(r.Cost) }))
}

// requirementTable shows which value of each setting is not enough for twice the load and which is. It also says
// whether the space has such a value.
func requirementTable(r *Result) document.Table {
	type row = Requirement
	return document.TableOf(r.TwiceTheLoad,
		document.Text("Setting", func(n row) string { return n.As }),
		document.Number("Best", "", func(n row) string { return n.Value }),
		document.Number("Ruled out", "", func(n row) string { return n.Failed }),
		document.Number("Not enough", "", func(n row) string { return tuning.Digits(n.Beyond) }),
		document.Number("Enough", "", func(n row) string { return tuning.Digits(n.Enough) }),
		document.Text("In the space", func(n row) string {
			if n.Covered {
				return "yes"
			}
			return "no, only up to " + n.Tried
		}))
}

// paretoTable lists the configurations that held for which none is both cheaper and faster.
func paretoTable(r *Result) document.Table {
	return document.TableOf(r.Pareto,
		document.Text("Configuration", func(b Best) string { return b.Text }),
		document.Number("Cost", "", func(b Best) string { return costText(b.Cost, "") }),
		document.Number("Latency", "ms", func(b Best) string { return ms(b.LatencyMs) }),
		document.Number("Trials", "", func(b Best) string { return fmt.Sprint(b.Trials) }))
}

// front draws latency over cost for configurations that held, for those that failed, and for the Pareto front. The
// latency axis is logarithmic. Trials without a latency are not drawn.
func front(r *Result, costUnit string) chart.Plot {
	held, failed := chart.Points{Name: "OK", Colour: chart.Series(0)},
		chart.Points{Name: "FAIL", Colour: chart.Series(1)}
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
